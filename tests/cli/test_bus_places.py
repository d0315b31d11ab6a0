"""On which bus `gc bus` speaks, and as whom."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from tests.cli.conftest import City, Inside
from tests.cli.test_bus import documents

from gascity.journal.schema import SCHEMA
from gascity.journal.store import Journal

pytestmark = pytest.mark.usefixtures("nobody")


def test_a_run_says_nothing_but_its_words(
    outside: Inside, city: City, monkeypatch: pytest.MonkeyPatch
) -> None:
    city.state.mkdir()
    journal = city.state / "city.db"
    Journal(str(journal)).close()
    run = {"ID": "r1", "PROJECT_ID": "p", "TASK_ID": "t", "MESSAGE_BUS": str(journal)}
    for name, value in run.items():
        monkeypatch.setenv(f"JRUN_{name}", value)
    monkeypatch.setenv("GC_AGENT", "somebody-outside")

    assert outside("bus", "post", "done").stdout == "1\n"
    others = ("--project", "q", "--task", "u", "--run", "r2")
    assert outside("bus", "post", *others, "theirs").stdout == "2\n"

    (own,) = documents(outside("bus", "read", "--json"))
    assert (own["project"], own["task"], own["run"], own["author"]) == ("p", "t", "r1", "")
    both = documents(outside("bus", "read", "--json", "--all"))
    assert [(m["project"], m["task"], m["run"]) for m in both] == [
        ("p", "t", "r1"),
        ("q", "u", "r2"),
    ]
    assert documents(outside("bus", "read", "--json", "--project", "q")) == both[1:]
    assert not list(Path("state").glob("*"))


def test_an_agent_of_a_city_speaks_on_its_bus_wherever_it_works(
    outside: Inside, city: City, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GC_CITY_PATH", str(city.folder))
    monkeypatch.setenv("GC_AGENT", "rigs/smith")
    monkeypatch.setenv("GC_RUN", "r7")

    outside("bus", "post", "hello")

    (found,) = documents(outside("-C", str(city.folder), "bus", "read", "--json"))
    assert (found["author"], found["run"], found["project"]) == ("rigs/smith", "r7", "town")
    shown = outside("-C", str(city.folder), "events").stdout
    assert shown.endswith("  rigs/smith  INFO: hello\n")


def test_an_agent_speaks_to_its_city_also_while_the_file_of_that_is_gone(
    outside: Inside, city: City, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GC_CITY_PATH", str(city.folder))
    outside("bus", "post", "hello")
    (city.folder / "city.toml").unlink()
    (city.folder.parent / "city.toml").write_text("")  # another one above it

    assert outside("bus", "post", "still here").stdout == "2\n"
    assert not list(Path("state").glob("*"))


def test_an_agent_whose_city_is_not_here_is_told_so(
    outside: Inside, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GC_CITY_PATH", str(tmp_path / "nowhere"))
    done = outside("bus", "post", "hello")

    assert done.returncode == 4
    assert "GC_CITY_PATH names" in done.stderr
    assert not list(Path("state").glob("*"))


def test_without_a_city_there_is_a_bus_of_the_user(outside: Inside, tmp_path: Path) -> None:
    assert outside("bus", "read").stdout == "no messages yet\n"
    assert not (tmp_path / "state").exists()

    outside("bus", "post", "hello")

    (found,) = documents(outside("bus", "read", "--json"))
    assert found["project"] == "default"
    folder = tmp_path / "state" / "gascity"
    assert oct(folder.stat().st_mode)[-3:] == "700"
    assert oct((folder / "city.db").stat().st_mode)[-3:] == "600"


@pytest.mark.parametrize("given", ["", "relative/path"])
def test_a_state_home_that_is_none_is_the_usual_one(
    outside: Inside, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, given: str
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", given)
    monkeypatch.setenv("HOME", str(tmp_path / "me"))

    outside("bus", "post", "hello")

    assert (tmp_path / "me" / ".local" / "state" / "gascity" / "city.db").exists()


def test_a_folder_that_is_given_stands_above_the_environment(
    inside: Inside, city: City, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JRUN_MESSAGE_BUS", str(tmp_path / "nothing"))

    assert inside("-C", str(city.folder), "bus", "post", "x").stdout == "1\n"
    assert inside("-C", str(tmp_path), "bus", "post", "x").returncode == 4


def test_a_city_whose_file_is_broken_has_the_name_of_its_folder(inside: Inside, city: City) -> None:
    city.write("not [ toml")

    inside("-C", str(city.folder), "bus", "post", "x")

    (found,) = documents(inside("-C", str(city.folder), "bus", "read", "--json"))
    assert found["project"] == "town"


def stranger(path: Path) -> None:
    with sqlite3.connect(path) as database:
        database.execute("CREATE TABLE photos (x)")
    database.close()


def newer(path: Path) -> None:
    with sqlite3.connect(path) as database:
        database.execute(f"PRAGMA user_version = {SCHEMA + 1}")
    database.close()


NO_JOURNALS = {
    "missing": (lambda path: None, 4, "and there is no such file"),
    "a folder": (lambda path: path.mkdir(), 1, "which is a folder"),
    "a pipe": (os.mkfifo, 1, "which is no regular file"),
    "a text": (lambda path: path.write_text("words " * 99), 1, "names no journal: "),
    "another program": (stranger, 1, "a database of another program"),
    "newer": (newer, 1, "written by a newer gc"),
    "a link to nothing": (lambda path: path.symlink_to("nothing"), 4, "there is no such file"),
}


@pytest.mark.parametrize(("make", "code", "says"), NO_JOURNALS.values(), ids=NO_JOURNALS)
@pytest.mark.parametrize("words", [("post", "x"), ("read",)], ids=["post", "read"])
def test_what_is_no_journal_is_one_sentence(
    outside: Inside,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    make: Any,  # noqa: ANN401  it makes whatever is there
    code: int,
    says: str,
    words: tuple[str, ...],
) -> None:
    path = tmp_path / "bus"
    make(path)
    before = path.read_bytes() if path.is_file() else b""
    monkeypatch.setenv("JRUN_MESSAGE_BUS", str(path))

    done = outside("bus", *words)

    assert (done.returncode, done.stdout) == (code, "")
    error, hint = done.stderr.splitlines()
    assert error.startswith("error: ")
    assert says in error
    assert hint.startswith("hint: ")
    assert "move it away" not in hint or "newer" in error
    assert before == (path.read_bytes() if path.is_file() else b"")
    assert not list(tmp_path.glob("bus-*"))


def test_a_link_to_a_journal_is_one(
    outside: Inside, city: City, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    city.state.mkdir()
    Journal(str(city.state / "city.db")).close()
    (tmp_path / "bus").symlink_to(city.state / "city.db")
    monkeypatch.setenv("JRUN_MESSAGE_BUS", str(tmp_path / "bus"))

    assert outside("bus", "post", "x").stdout == "1\n"

    (found,) = documents(outside("bus", "read", "--json"))
    assert found["project"] == "town"


@pytest.mark.parametrize("words", [("bus", "read"), ("bus", "follow"), ("events",)])
def test_a_journal_that_cannot_be_seen_is_not_taken_for_empty(
    city: City, words: tuple[str, ...]
) -> None:
    city.state.symlink_to(city.state)  # nobody can follow it, not even root
    done = city.gc(*words)

    assert (done.returncode, done.stdout) == (1, "")
    assert "Too many levels of symbolic links" in done.stderr
