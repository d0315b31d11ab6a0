"""What the reference says of runs, tasks and attempts at issues is what a real one has."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
import yaml
from tests.cli.place import Place
from tests.cli.solve.workshop import READY, Workshop
from tests.docs.conftest import ROOT

from gascity.config.oneshots import built_in
from gascity.journal.message import KNOWN
from gascity.worktrees.git import LOCATED

REFERENCE = ROOT / "docs" / "reference"
# The process that runs a run, as a script of the shell inside that finds it.
RUNNER = (
    "$(grep -o '\"runner\": *[0-9]*' $JRUN_TASK_FOLDER/../../.open/$JRUN_ID | grep -o '[0-9]*')"
)


def rows(page: str, heading: str) -> list[list[str]]:
    """Return the cells of the first table below a heading, without its head."""
    text = (REFERENCE / page).read_text("utf-8").partition(f"\n## {heading}\n")[2]
    table = re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE)[0]
    return [line.strip("| ").split(" | ") for line in table.splitlines()[2:]]


def words(cells: list[str]) -> set[str]:
    """Return what stands in code in these cells."""
    return set(re.findall(r"`([^`]+)`", " ".join(cells)))


def keys(document: Mapping[object, object], before: str = "") -> Iterator[str]:
    """Yield the keys of a document; those of documents in it have its name and a dot before."""
    for key, value in document.items():
        match value:
            case {**inner} | [{**inner}, *_]:
                yield from keys(inner, f"{before}{key}.")
            case _:
                yield f"{before}{key}"


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


@pytest.fixture
def shop(tmp_path: Path) -> Workshop:
    return Workshop(tmp_path)


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
    done = place.gc("run", *(word.replace("$GC_PID", RUNNER) for word in asked))

    assert row in told
    assert done.returncode == code, done.stderr.decode()


@pytest.mark.git
def test_the_record_of_an_attempt_has_the_keys_on_the_page(shop: Workshop) -> None:
    shop.solve("true")
    (path,) = (shop.home / "solves").glob("*/bug/1/solve.json")
    record = json.loads(path.read_text("utf-8"))

    assert set(keys(record)) == words(
        [row[0] for row in rows("files.md", "The record of an attempt")]
    )


@pytest.mark.git
def test_an_agent_at_an_issue_has_the_variables_on_the_page_and_no_other(shop: Workshop) -> None:
    shop.solve("env -0", env={**dict.fromkeys(LOCATED, "x"), "GIT_AUTHOR_NAME": "Ada"})
    (folder,) = shop.folders()
    shown = (folder / "agent-stdout.txt").read_text("utf-8").split("\0")
    names = {line.partition("=")[0] for line in shown if line}

    told = rows("environment.md", "Who it is") + rows("environment.md", "At an issue")
    assert names - set(shop.env()) == words([row[0] for row in told]) - {"JRUN_CONDUCTOR_URL"} | {
        "GIT_AUTHOR_NAME"
    }


def test_the_variables_of_git_on_the_page_are_those_that_are_taken_away() -> None:
    text = (REFERENCE / "environment.md").read_text("utf-8")

    assert set(re.findall(r"`(GIT_\w+)`", text)) == {*LOCATED, "GIT_AUTHOR_NAME"}


@pytest.mark.git
@pytest.mark.parametrize(
    ("row", "scripts", "options", "code"),
    [
        ("0", (READY, "exit 3"), (), 0),
        ("1", ("exit 2", "exit 3"), (), 1),
        ("1", ("true",), (), 1),
        ("2", (READY,), ("--base", "nowhere"), 2),
        ("124", ("exec sleep 1000",), ("--timeout", "200ms"), 124),
        ("124", ("exec sleep 1000",), ("--idle-timeout", "200ms"), 124),
        ("127", ("exit 127",), (), 127),
        ("130", ("kill -INT $GC_PID; exec sleep 1000",), (), 130),
        ("130", ("exit 1", "sleep 0.3; kill -INT $GC_PID; exec sleep 1000"), (), 130),
        ("143", ("kill -TERM $GC_PID; exec sleep 1000",), (), 143),
        ("143", ("gc runs stop $JRUN_ID & exec sleep 1000",), (), 143),
        ("143", ("gc solve stop bug & exec sleep 1000",), (), 143),
        ("any other", ("exit 42", "exit 42"), (), 42),
    ],
)
def test_gc_solve_ends_as_the_page_says(
    shop: Workshop, row: str, scripts: tuple[str, ...], options: tuple[str, ...], code: int
) -> None:
    agents = [
        shop.agent(f"a{number}", script.replace("$GC_PID", RUNNER))
        for number, script in enumerate(scripts)
    ]
    done = shop.gc(*shop.words(*agents, options=options))

    assert row in [each[0] for each in rows("exit-codes.md", "What `gc solve` ends with")]
    assert done.returncode == code, done.stderr.decode()


@pytest.mark.git
@pytest.mark.parametrize("issue", ["12", "../bug.md"])
def test_gc_solve_ends_as_the_page_says_where_programs_are_missing(
    shop: Workshop, issue: str
) -> None:
    git = shop.folder / "bin" / "git"
    git.parent.mkdir()
    git.symlink_to(shutil.which("git") or "")
    done = shop.gc("solve", issue, "--agent", "claude", env={"PATH": str(git.parent)})

    assert "3" in [each[0] for each in rows("exit-codes.md", "What `gc solve` ends with")]
    assert done.returncode == 3, done.stderr.decode()
    assert shop.litter() == []
