"""A city knows the files it was made from, also when it could not be made."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from gascity.config.load import load_city, refusal
from gascity.config.problems import ConfigProblems
from gascity.core.model import City

Load = Callable[[str | bytes], City]
Write = Callable[[str, str | bytes], Path]
AGENT = '[[agents]]\nname = "a"\nstart_command = "true"\n'


def inside(folder: Path, sources: tuple[str, ...]) -> set[str]:
    return {source.removeprefix(f"{folder}/") for source in sources}


def test_every_file_that_was_read_or_looked_for_is_a_source(load: Load, write: Write) -> None:
    prompt = write("prompts/a.md", "hello")
    root = prompt.parents[1]
    write("setup.sh", "")
    write("files/x", "")
    write("screens/demo.toml", 'turn = "^x"\n')
    city = load(
        AGENT + 'prompt_template = "prompts/a.md"\nsession_setup_script = "setup.sh"\n'
        'overlay_dir = "files"\ncopy_files = [{ src = "files/x" }]\n'
    )

    assert inside(root, city.sources) == {
        "city.toml",
        "screens/",
        "screens/demo.toml",
        "prompts/a.md",
        "setup.sh",
        "files",
        "files/x",
    }


def test_the_folder_of_rules_is_a_source_before_it_is_there(load: Load) -> None:
    city = load(AGENT)

    assert inside(Path(city.root), city.sources) == {"city.toml", "screens/"}


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[[agents]\n", {"city.toml"}),
        ("", {"city.toml"}),
        (AGENT + 'prompt_template = "p.md"\n', {"city.toml", "screens/", "p.md"}),
        (AGENT + "bogus = 1\n", {"city.toml", "screens/"}),
        ('agents = "none"\nbogus = 1\n', {"city.toml"}),
    ],
)
def test_a_city_that_cannot_be_read_tells_its_sources_too(
    load: Load, write: Write, text: str, told: set[str]
) -> None:
    root = write("other", "").parent
    with pytest.raises(ConfigProblems) as refused:
        load(text)

    assert inside(root, refused.value.sources) == told


def test_a_city_file_that_is_gone_is_still_its_source(tmp_path: Path) -> None:
    with pytest.raises(ConfigProblems) as refused:
        load_city(tmp_path / "city.toml", known_providers=(), auto_provider="tmux")

    assert refused.value.sources == (str(tmp_path / "city.toml"),)


def test_a_refusal_names_the_place_of_the_key(write: Write) -> None:
    path = write("city.toml", '[workspace]\nname = "town"\n')

    found = refusal(path, ("workspace", "name"), "no", "because").problems[0]

    assert (found.file, found.line, found.column, found.message) == ("city.toml", 2, 1, "no")


def test_a_refusal_of_a_file_that_is_gone_meanwhile_names_the_file(tmp_path: Path) -> None:
    found = refusal(tmp_path / "city.toml", ("workspace", "name"), "no", "because").problems[0]

    assert (found.file, found.line, found.message) == ("city.toml", 0, "no")


def test_the_rules_of_two_readings_are_equal_unless_a_file_differs(
    load: Load, write: Write
) -> None:
    write("screens/demo.toml", 'turn = "^x"\n')
    first, second = load(AGENT), load(AGENT)
    write("screens/demo.toml", 'turn = "^y"\n')

    assert first.screens == second.screens
    assert first.screens != load(AGENT).screens
