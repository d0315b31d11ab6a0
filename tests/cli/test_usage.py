"""What a wrong word ends with: one clear line, a hint, and the right code."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import typer.main
from tests.cli.conftest import City, Inside

from gascity.cli.commands import _typer

ANY_TEXT = {"TEXT", "JSON"}  # what may be empty, or is refused in words of its own
FOR_HOOKS = {"report", "prime"}  # a hook never fails


def words_of(command: object, path: tuple[str, ...] = ()) -> Iterator[tuple[str, list[str]]]:
    """Yield each word that a command takes, by its name, with a call in which it is empty."""
    for name, below in getattr(command, "commands", {}).items():
        if path != ("hook",) or name not in FOR_HOOKS:
            yield from words_of(below, (*path, name))
    parameters = [
        each
        for each in command.params  # type: ignore[attr-defined]  # a command has them
        if not getattr(each, "is_flag", False)
    ]
    for meant in parameters:
        name = meant.opts[-1] if meant.opts[0].startswith("-") else meant.metavar or ""
        if not path or name in ANY_TEXT or meant.metavar in ANY_TEXT:
            continue
        call = list(path)
        for each in parameters:
            if each is meant or each.required:
                option = [each.opts[0]] if each.opts[0].startswith("-") else []
                call += [*option, "" if each is meant else "x"]
        yield name, call


WORDS = list(words_of(typer.main.get_command(_typer)))


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["frob"], "error: no such command 'frob'\n"),
        (["status", "--frob"], "error: no such option: --frob\n"),
        (["peek"], "error: missing argument 'AGENT'\n"),
        (["nudge", "a"], "error: missing argument 'TEXT'\n"),
        (["peek", "a", "-n", "many"], "error: invalid value for '-n' / '--lines': it should be "),
        (["peek", "a", "-n", "-1"], "error: invalid value for '-n' / '--lines': it should be "),
        (["status", "extra"], "error: too many words: extra\n"),
        (["config", "frob"], "error: no such command 'frob'\n"),
    ],
)
def test_a_wrong_word_is_one_line_with_a_hint(inside: Inside, words: list[str], says: str) -> None:
    done = inside(*words)

    assert done.returncode == 2
    assert done.stderr.startswith(says)
    assert done.stderr.count("\n") == 2
    assert "hint: `gc" in done.stderr
    assert not done.stdout


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["statu"], "error: no such command 'statu'\nhint: did you mean \"status\"?\n"),
        (
            ["runs", "prun"],
            (
                'error: there is no agent "prun" in this city, and no task that ran\n'
                'hint: did you mean "prune"?\n'
            ),
        ),
        (["status", "--jso"], 'error: no such option: --jso\nhint: did you mean "--json"?\n'),
        (["peek", "aa"], 'error: there is no agent "aa" in this city\nhint: did you mean "a"?\n'),
        (
            ["run", "--backend", "claud", "--prompt", "x"],
            'error: unknown agent type: claud\nhint: did you mean "claude"?\n',
        ),
        (
            ["wrap", "--backend", "claud", "--", "true"],
            'error: unknown agent type: claud\nhint: did you mean "claude"?\n',
        ),
        (
            ["screens", "list", "claud"],
            'error: there is no backend "claud"\nhint: did you mean "claude"?\n',
        ),
        (
            ["init", "new", "--backend", "claud"],
            'error: there is no backend "claud"\nhint: did you mean "claude"?\n',
        ),
    ],
)
def test_a_near_miss_is_told_what_was_meant(
    quiet: City, inside: Inside, words: list[str], says: str
) -> None:
    done = inside("-C", str(quiet.folder), *words)

    assert (done.returncode in (2, 4), done.stdout) == (True, "")
    assert done.stderr == says


def test_a_near_miss_of_a_task_is_told_what_was_meant(quiet: City) -> None:
    assert quiet.gc("task", "start", "--task", "build", "--", "true").returncode == 0

    done = quiet.gc("task", "status", "biuld")

    assert done.returncode == 4
    assert done.stderr == 'error: there is no task "biuld"\nhint: did you mean "build"?\n'


def test_a_wrong_word_ends_the_process_with_2(quiet: City) -> None:
    done = quiet.gc("frob")

    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("error: no such command 'frob'\n")


def test_a_broken_city_file_is_one_line_of_a_hint(inside: Inside, tmp_path: Path) -> None:
    (tmp_path / "city.toml").write_text("[[agents]]\nnam = 1\n")

    done = inside("-C", str(tmp_path), "runs", "nobody")

    assert done.returncode == 4
    assert done.stderr == (
        'error: there is no run of an agent "nobody"\n'
        "hint: the city file cannot be read; `gc check` tells why\n"
    )


def test_the_help_names_the_word_that_an_option_takes(inside: Inside) -> None:
    paths = {tuple(word for word in call[:2] if word[:1].isalpha()) for _, call in WORDS}
    said = {path: inside(*path, "--help").stdout for path in paths}

    assert not [path for path, text in said.items() if re.search(r"^  -.* <\w", text, re.MULTILINE)]


def test_the_help_tells_objects_by_line_from_one_document(inside: Inside) -> None:
    for words in (["solve", "start"], ["solve", "logs"], ["events"], ["bus", "read"]):
        assert "--json  " in inside(*words, "--help").stdout
        assert "Print one JSON object a line." in inside(*words, "--help").stdout


def test_the_help_of_clean_does_not_promise_that_only_the_last_attempt_goes(inside: Inside) -> None:
    assert "--attempt N    Only this attempt." in inside("solve", "clean", "--help").stdout


@pytest.mark.parametrize("words", [[], ["config"]])
def test_no_word_shows_what_there_is(inside: Inside, words: list[str]) -> None:
    done = inside(*words)

    assert done.returncode == 2
    assert "Commands:" in done.stderr


@pytest.mark.parametrize(
    "words", [["status"], ["stop"], ["start"], ["start", "--detach"], ["check"], ["plan"]]
)
def test_a_folder_that_is_not_there_is_named(inside: Inside, words: list[str]) -> None:
    done = inside("-C", "/no/such/folder", *words)

    assert done.returncode == 4
    assert done.stderr == "error: there is no folder '/no/such/folder'\n"


@pytest.mark.parametrize("words", [["status"], ["stop"], ["plan"], ["runs"], ["bus", "read"]])
def test_a_folder_that_is_not_there_never_means_the_city_around_it(
    quiet: City, inside: Inside, words: list[str]
) -> None:
    missing = quiet.folder / "rgis"

    done = inside("-C", str(missing), *words)

    assert (done.returncode, done.stdout) == (4, "")
    assert done.stderr == f"error: there is no folder '{missing}'\n"


@pytest.mark.parametrize("words", [["status"], ["stop"], ["plan"], ["init"], ["run", "true"]])
def test_an_empty_folder_is_not_taken_for_the_one_you_are_in(quiet: City, words: list[str]) -> None:
    done = quiet.gc("-C", "", *words)

    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "error: -C is empty\nhint: leave it out, or say which\n"


def test_a_folder_without_a_city_gets_the_advice_to_make_one(
    inside: Inside, tmp_path: Path
) -> None:
    for command in ("status", "stop", "start", "check"):
        done = inside("-C", str(tmp_path), command)
        assert done.returncode == 4
        assert done.stderr.endswith("hint: `gc init` makes a city here\n")


@pytest.mark.parametrize(("name", "call"), WORDS, ids=[" ".join(call) for _, call in WORDS])
def test_an_empty_word_is_not_taken_for_none(
    quiet: City, inside: Inside, name: str, call: list[str]
) -> None:
    done = inside("-C", str(quiet.folder), *call)

    assert (done.returncode, done.stdout) == (2, "")
    a_number = "error: invalid value for '"
    assert done.stderr.startswith((f"error: {name} is empty\nhint: ", a_number))


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["solve", "status", "--all", "--attempt", "1"], "--attempt and --all: give one"),
        (["bus", "read", "--all", "--project", "x"], "--project and --all: give one"),
        (["bus", "follow", "--all", "--project", "x"], "--project and --all: give one"),
        (
            ["solve", "compare", "bug", "--timeout", "5s"],
            "--timeout is how long a check may take: it needs --check",
        ),
        (
            ["guest", "cp", "guest:/a", "guest:/b"],
            "one side must be in the guest, and the other here",
        ),
        (
            ["guest", "call", "ping", "--socket", "s", "--token-file", "/nope"],
            "the token in /nope cannot be read: No such file or directory",
        ),
    ],
)
def test_options_that_make_no_sense_together_are_refused(
    quiet: City, inside: Inside, words: list[str], says: str
) -> None:
    done = inside("-C", str(quiet.folder), *words)

    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.splitlines()[0] == f"error: {says}"


def test_a_word_that_is_needed_is_not_to_be_left_out(inside: Inside) -> None:
    assert inside("runs", "").stderr.endswith("hint: leave it out, or say which\n")
    assert inside("peek", "").stderr.endswith("hint: say which\n")


def test_the_city_is_the_nearest_one_upwards(quiet: City) -> None:
    deep = quiet.folder / "rigs" / "deep"
    deep.mkdir(parents=True, exist_ok=True)

    assert quiet.ok("-C", str(deep), "status", "--json").startswith('{\n  "city": "town"')


def test_a_broken_city_file_ends_every_command_that_needs_it_with_2(
    inside: Inside, tmp_path: Path
) -> None:
    (tmp_path / "city.toml").write_text("[[agents]]\nnam = 1\n")

    for words in (["status"], ["plan"], ["peek", "a"], ["nudge", "a", "x"], ["start"]):
        done = inside("-C", str(tmp_path), *words)
        assert done.returncode == 2, words
        assert "city.toml:2:1" in done.stderr
