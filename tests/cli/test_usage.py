"""What a wrong word ends with: one clear line, a hint, and the right code."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.cli.conftest import City, Inside


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["frob"], "error: no such command 'frob'\n"),
        (["status", "--frob"], "error: no such option: --frob\n"),
        (["peek"], "error: missing argument 'AGENT'\n"),
        (["nudge", "a"], "error: missing argument 'TEXT'\n"),
        (["peek", "a", "-n", "many"], "error: invalid value for '-n' / '--lines'"),
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


def test_a_wrong_word_ends_the_process_with_2(quiet: City) -> None:
    done = quiet.gc("frob")

    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("error: no such command 'frob'\n")


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


def test_a_folder_without_a_city_gets_the_advice_to_make_one(
    inside: Inside, tmp_path: Path
) -> None:
    for command in ("status", "stop", "start", "check"):
        done = inside("-C", str(tmp_path), command)
        assert done.returncode == 4
        assert done.stderr.endswith("hint: `gc init` makes a city here\n")


@pytest.mark.parametrize(
    ("words", "what"),
    [
        (["runs"], "AGENT"),
        (["runs", "--run"], "--run"),
        (["events", "--since"], "--since"),
        (["metrics", "-o"], "--output"),
        (["hook", "uninstall"], "AGENT"),
        (["drain-check"], "AGENT"),
        (["service", "show", "--name"], "--name"),
        (["init", "--name"], "--name"),
    ],
)
def test_an_empty_word_is_not_taken_for_none(
    quiet: City, inside: Inside, words: list[str], what: str
) -> None:
    done = inside("-C", str(quiet.folder), *words, "")

    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"error: {what} is empty\nhint: leave it out, or say which\n"


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
