"""What the reference says of runs and tasks is what a real one has."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml
from tests.cli.place import Place
from tests.docs.conftest import ROOT

from gascity.config.oneshots import built_in
from gascity.journal.message import KNOWN

REFERENCE = ROOT / "docs" / "reference"


def rows(page: str, heading: str) -> list[list[str]]:
    """Return the cells of the first table below a heading, without its head."""
    text = (REFERENCE / page).read_text("utf-8").partition(f"\n## {heading}\n")[2]
    table = re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE)[0]
    return [line.strip("| ").split(" | ") for line in table.splitlines()[2:]]


def words(cells: list[str]) -> set[str]:
    """Return what stands in code in these cells."""
    return set(re.findall(r"`([^`]+)`", " ".join(cells)))


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def test_a_run_has_the_variables_on_the_page_and_no_other(place: Place) -> None:
    forged = {"JRUN_SECRET": "x", "JRUN_ID": "x", "CLAUDECODE": "1", "EDITOR": "vi"}
    shown = place.gc("run", "--", "env", "-0", env=forged).stdout.decode().split("\0")
    names = {line.partition("=")[0] for line in shown if line}

    told = words([row[0] for row in rows("environment.md", "Who it is")])
    assert names - set(place.env()) == told - {"JRUN_CONDUCTOR_URL"} | {"EDITOR"}


def test_the_logins_on_the_page_are_those_of_the_backends() -> None:
    told = {
        row[0].strip("`"): words(row[1:]) for row in rows("environment.md", "What it has of yours")
    }

    known = built_in().values()
    assert told == {one.name: {*one.token_env, *one.account_env} for one in known if one.token_env}


def test_the_record_of_a_run_has_the_keys_on_the_page(place: Place) -> None:
    place.gc("run", "--", "true")
    (folder,) = place.folders()
    record = yaml.safe_load((folder / "run-info.yaml").read_text("utf-8"))

    assert set(record) == words([row[0] for row in rows("files.md", "The record of a run")])


def test_the_record_of_a_task_has_the_keys_on_the_page(place: Place) -> None:
    place.gc("task", "start", "--task", "t", "--", "true")
    path = place.home / "projects" / "default" / "t" / "task-info.yaml"
    record = yaml.safe_load(path.read_text("utf-8"))

    assert set(record) == words([row[0] for row in rows("files.md", "The record of a task")])


def test_the_types_of_messages_on_the_page_are_those_that_are_known() -> None:
    assert words([row[0] for row in rows("events.md", "Messages")]) == set(KNOWN)


@pytest.mark.parametrize(
    ("row", "asked", "code"),
    [
        ("0", ("--", "true"), 0),
        ("1", ("--backend", "xai", "--prompt", "x"), 1),
        ("2", ("--backend", "nobody", "--prompt", "x"), 2),
        ("124", ("--timeout", "200ms", "--", "sleep", "1000"), 124),
        ("124", ("--idle-timeout", "200ms", "--", "sleep", "1000"), 124),
        ("126", ("--", "/"), 126),
        ("127", ("--", "nobody-has-this"), 127),
        ("130", ("--", "sh", "-c", "kill -INT $GC_PID; sleep 1000"), 130),
        ("143", ("--", "sh", "-c", "kill -TERM $GC_PID; sleep 1000"), 143),
        ("143", ("--", "sh", "-c", "gc runs stop $JRUN_ID & sleep 1000"), 143),
        ("128 + N", ("--", "sh", "-c", "kill -KILL $$"), 137),
        ("any other", ("--", "sh", "-c", "exit 42"), 42),
    ],
)
def test_gc_run_ends_as_the_page_says(
    place: Place, row: str, asked: tuple[str, ...], code: int
) -> None:
    told = [each[0] for each in rows("exit-codes.md", "What `gc run` ends with")]
    runner = (
        "$(grep -o '\"runner\": *[0-9]*' $JRUN_TASK_FOLDER/../../.open/$JRUN_ID | grep -o '[0-9]*')"
    )
    done = place.gc("run", *(word.replace("$GC_PID", runner) for word in asked))

    assert row in told
    assert done.returncode == code, done.stderr.decode()
