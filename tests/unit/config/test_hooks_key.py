"""The key `hooks`: which backends have it, and what follows from it."""

from __future__ import annotations

from pathlib import Path

import pytest

from gascity.config.backends import presets
from gascity.config.load import load_city
from gascity.config.problems import ConfigProblems
from gascity.core.model import AgentSpec
from gascity.hooks.backends import NAMES, hooked


def only(folder: Path, text: str) -> AgentSpec:
    (folder / "city.toml").write_text('[workspace]\nname = "town"\n' + text)
    path = folder / "city.toml"
    city = load_city(path, known_providers=("subprocess",), auto_provider="subprocess")
    return city.desired.agents[0]


def entry(backend: str, more: str = "") -> str:
    return f'[[agents]]\nname = "a"\nprovider = "{backend}"\n{more}\n'


def test_the_presets_say_which_backends_have_hooks() -> None:
    assert tuple(sorted(name for name, each in presets().items() if each.has_hooks)) == NAMES
    for name in NAMES:
        hooks = hooked(name)
        assert hooks is not None
        assert presets()[name].primes_by_hook == hooks.primes


@pytest.mark.parametrize(
    ("backend", "more", "primes"),
    [
        ("claude", "", False),
        ("claude", "hooks = true", True),
        ("gemini", "hooks = true", True),
        ("codex", "hooks = true", False),
        ("claude", "hooks = true\nprimes_itself = false", False),
        ("codex", "hooks = true\nprimes_itself = true", True),
    ],
)
def test_an_agent_with_hooks_primes_itself_unless_said_otherwise(
    backend: str, more: str, primes: bool, tmp_path: Path
) -> None:
    spec = only(tmp_path, entry(backend, more))

    assert (spec.hooks, spec.primes_itself) == ("hooks" in more, primes)


def test_hooks_are_no_part_of_the_fingerprint(tmp_path: Path) -> None:
    without = only(tmp_path, entry("claude"))
    with_them = only(tmp_path, "[providers.claude]\nhooks = true\n" + entry("claude"))

    assert with_them.hooks
    assert with_them.fingerprint == without.fingerprint


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (entry("demo", "hooks = true"), 6),
        ("[providers.demo]\nhooks = true\n" + entry("demo"), 4),
        ('[[agents]]\nname = "a"\nstart_command = "cat"\nhooks = true\n', 6),
    ],
)
def test_a_backend_without_hooks_is_refused(text: str, line: int, tmp_path: Path) -> None:
    with pytest.raises(ConfigProblems) as refused:
        only(tmp_path, text)

    (problem,) = refused.value.problems
    assert problem.line == line
    assert "has no hooks that gc could set up" in problem.message


@pytest.mark.parametrize(
    ("text", "place"),
    [
        (entry("claude", 'session = "far"\nhooks = true'), "city.toml:8:1"),
        (
            "[providers.claude]\nhooks = true\n" + entry("claude", 'session = "far"'),
            "city.toml:6:1",
        ),
    ],
)
def test_an_agent_on_another_machine_has_no_hooks(text: str, place: str, tmp_path: Path) -> None:
    path = tmp_path / "city.toml"
    path.write_text('[workspace]\nname = "town"\n\n' + text)

    with pytest.raises(ConfigProblems) as caught:
        load_city(
            path,
            known_providers=("near", "far"),
            auto_provider="near",
            is_local=lambda name: name == "near",
        )

    (problem,) = caught.value.problems
    assert problem.message == 'hooks are files of this machine, and "far" runs agents elsewhere'
    assert problem.hint.startswith("write hooks = false")
    assert place in str(caught.value)


def test_an_agent_on_another_machine_may_say_that_it_has_no_hooks(tmp_path: Path) -> None:
    path = tmp_path / "city.toml"
    said = "[providers.claude]\nhooks = true\n"
    path.write_text(said + entry("claude", 'session = "far"\nhooks = false'))
    city = load_city(path, known_providers=("far",), auto_provider="far", is_local=lambda _: False)

    assert not city.desired.agents[0].hooks
