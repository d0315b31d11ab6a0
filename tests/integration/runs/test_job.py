"""One run from its beginning to its end, in this process, by every way of failing."""

from __future__ import annotations

import os
import resource
import threading
from pathlib import Path
from typing import Any

import pytest
from tests.integration.runs.office import FIVE, Office

from gascity.config import classes
from gascity.core.oneshot import OneShot
from gascity.errors import GascityError
from gascity.journal.bus import Bus
from gascity.runs import backends, job
from gascity.runs.context import Cancel, RunContext
from gascity.runs.folder import RunFolder
from gascity.runs.info import RunInfo, Status
from gascity.runs.places import Held
from gascity.runs.watchdog import Limits

TREE = "sleep 1000 & (setsid sleep 1000 &); wait"
SECRET = "opensesame-12345"


@pytest.fixture
def office(tmp_path: Path) -> Office:
    return Office(tmp_path)


def test_a_run_goes_all_the_way(office: Office) -> None:
    begun: list[RunFolder] = []
    outcome = office.run("cat; echo x >&2", begun.append)
    folder, info = outcome.folder, outcome.info

    assert begun == [folder]
    assert outcome.is_done
    assert folder.read_info() == info
    assert (info.status, info.exit_code, info.crash) == (Status.COMPLETED, 0, False)
    assert (info.pid is not None, bool(info.pid_started)) == (True, True)
    assert info.duration is not None
    assert info.start_time <= info.end_time
    assert folder.read("output.md") == folder.read("prompt.md")
    assert folder.read("prompt.md").endswith("\n---\ndo it")
    assert office.types() == ["RUN_START", "RUN_STOP"]
    assert office.marks() == []


def test_the_messages_say_where_and_why(office: Office) -> None:
    many = "for i in $(seq 200); do echo line $i >&2; done; exit 3"
    outcome = office.run(many, agent="")
    start, crash = office.messages(outcome.info.run_id)

    assert (start.project, start.task, start.agent) == ("p", "t", "stub")
    for name in ("prompt.md", "agent-stdout.txt", "agent-stderr.txt", "output.md"):
        assert outcome.folder.file(name) in start.message
    assert "ended with code 3: agent exited with code 3: line 200" in crash.message
    assert crash.message.splitlines()[-50:] == [f"line {number}" for number in range(151, 201)]


@pytest.mark.parametrize(
    ("script", "fields", "code"),
    [
        ("exit 3", {}, 3),
        ("kill -9 $$", {}, 137),
        ("x", {"backend": OneShot("nobody")}, 2),
        ("x", {"work_dir": "/nowhere"}, None),
        (TREE, {"limits": Limits(wall=0.2, grace=1.0)}, 124),
        (TREE, {"limits": Limits(idle=0.2, grace=1.0)}, 124),
        ("x", {"own": {"A=B": "x"}}, 2),
        ("x", {"own": {"A": "a\0b"}}, 2),
    ],
)
def test_every_way_of_failing_leaves_the_same(
    office: Office, script: str, fields: dict[str, Any], code: int | None
) -> None:
    outcome = office.run(script, **fields)

    assert outcome.folder.read_info() == outcome.info
    assert outcome.info.status is Status.FAILED
    assert outcome.exit_code == outcome.info.exit_code
    assert outcome.exit_code == (code or outcome.exit_code) != 0
    assert outcome.info.end
    assert sorted(os.listdir(outcome.folder.path)) == FIVE
    assert office.types() == ["RUN_START", "RUN_CRASH"]
    assert office.marks() == []


@pytest.mark.parametrize(("reason", "code"), [(job.INTERRUPTED, 130), ("stopped", 143)])
def test_a_cancelled_run_was_asked_for(office: Office, reason: str, code: int) -> None:
    began = threading.Event()

    def cancel() -> None:
        assert began.wait(30.0)
        office.cancel.set(reason)

    thread = threading.Thread(target=cancel)
    thread.start()
    outcome = office.run(TREE, lambda _: began.set(), limits=Limits(grace=1.0))
    thread.join()

    assert (outcome.exit_code, outcome.info.end) == (code, reason)
    assert (outcome.info.asked, outcome.info.crash) == (True, False)
    assert office.types() == ["RUN_START", "RUN_CRASH"]


class _Odd:
    type = "odd"

    def execute(self, _context: RunContext, _cancel: Cancel) -> None:
        raise RuntimeError(f"surprise {SECRET}")


def test_a_backend_that_breaks_fails_its_run_only(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(backends, "find", lambda *_, **__: _Odd())  # a stranger's, in this process
    made = office.job("x", env={"MY_TOKEN": SECRET})
    outcome = job.run(made, office.cancel)
    monkeypatch.undo()

    assert outcome.info.end.startswith("agent panic: RuntimeError: surprise ")
    assert "Traceback" in outcome.folder.read("agent-stderr.txt")
    assert SECRET not in outcome.folder.read("agent-stderr.txt") + outcome.info.end
    assert office.types() == ["RUN_START", "RUN_CRASH"]
    assert office.run("true").is_done


def test_a_class_that_breaks_fails_its_run_only(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(classes, "where", lambda _: "tests.integration.runs.test_job:_Odd")
    outcome = office.run("x", backend=OneShot("odd"))

    assert outcome.exit_code not in {0, None}
    assert office.types() == ["RUN_START", "RUN_CRASH"]


def test_what_cannot_be_recorded_is_not_run(office: Office) -> None:
    Path(office.home.path).mkdir()
    Path(office.home.projects).write_text("a file")

    with pytest.raises(GascityError, match="no run can be recorded"):
        office.run(f"touch {office.folder}/ran")
    assert not (office.folder / "ran").exists()


def test_a_record_that_cannot_be_written_ends_the_run_in_a_sentence(office: Office) -> None:
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10_000_000, before[1]))
    try:
        outcome = office.run(f"touch {office.folder}/ran", prompt="x" * 10_000_000)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)

    assert outcome.info.end == "File too large"
    assert not (office.folder / "ran").exists()
    assert office.types() == ["RUN_START", "RUN_CRASH"]


def test_a_lost_journal_leaves_the_run_for_who_comes_next(office: Office) -> None:
    Path(office.home.path).mkdir()
    Path(office.home.journal).write_text("no journal, but long enough to be taken for one" * 99)

    with pytest.raises(GascityError):
        office.run("true")
    (info,) = office.infos()
    assert info.is_over
    assert office.marks() == [info.run_id]


def test_a_parent_and_a_predecessor_are_recorded(office: Office) -> None:
    outcome = office.run("env", parent="mother", previous="elder", restarts=2)
    info = outcome.folder.read_info()

    assert isinstance(info, RunInfo)
    assert (info.parent_run_id, info.previous_run_id, info.restarts) == ("mother", "elder", 2)
    assert "JRUN_PARENT_ID=mother\n" in outcome.folder.read("output.md")
    assert "Continue working on the following:\n\ndo it" in outcome.folder.read("prompt.md")


def test_no_token_is_written_down(office: Office) -> None:
    tokens = {
        name: f"{name.lower()}-{SECRET}"
        for name in (
            "ANTHROPIC_API_KEY",
            "OPENAI_API_KEY",
            "GEMINI_API_KEY",
            "PERPLEXITY_API_KEY",
            "XAI_API_KEY",
        )
    }
    made = office.job(
        f'env | grep -c "{SECRET}"; echo "$ANTHROPIC_API_KEY" >&2; exit 1',
        name="claude",
        env=tokens,
    )
    outcome = job.run(made, office.cancel)
    said = "".join(entry.message for entry in office.messages())

    assert outcome.folder.read("agent-stdout.txt") == "1\n"
    for text in (said, outcome.info.end, outcome.folder.read("run-info.yaml")):
        assert not any(token in text for token in tokens.values())


def test_a_mark_is_held_until_the_last_message(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[list[str]] = []
    settled = Held.settled

    def look(held: Held) -> None:
        seen.append(office.types())
        settled(held)

    monkeypatch.setattr(Held, "settled", look)  # the moment between two steps
    office.run("true")

    assert seen == [["RUN_START", "RUN_STOP"]]


def test_the_bus_is_named_to_the_run(office: Office) -> None:
    outcome = office.run('printf %s "$JRUN_MESSAGE_BUS"')

    assert outcome.folder.read("output.md") == office.home.journal
    with Bus(office.home.journal) as bus:
        assert bus.lifecycle(outcome.info.run_id) == {"RUN_START", "RUN_STOP"}


def test_a_secret_in_its_command_is_in_no_record_from_the_beginning(office: Office) -> None:
    made = office.job(f"echo {SECRET}", env={"MY_TOKEN": SECRET})
    told: list[str] = []
    outcome = job.run(made, office.cancel, lambda folder: told.append(folder.read("run-info.yaml")))

    assert "command: sh -c" in told[0]
    assert SECRET not in told[0] + outcome.folder.read("run-info.yaml")


def test_an_answer_there_is_no_room_for_is_there_once(office: Office) -> None:
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4_000_000, before[1]))
    try:
        outcome = office.run('ulimit -S -f "$(ulimit -H -f)"; head -c 5000000 /dev/zero')
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)

    assert outcome.is_done
    assert outcome.folder.read_info() == outcome.info
    assert sorted(os.listdir(outcome.folder.path)) == FIVE
    assert os.path.getsize(outcome.folder.file("output.md")) == 5_000_000
    assert office.marks() == []
