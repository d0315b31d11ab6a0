"""Runs whose runner was killed: nothing lives on, and the truth is told once."""

from __future__ import annotations

import os
import signal
import threading
from dataclasses import replace
from pathlib import Path

import psutil
import pytest
from tests.integration.runs.office import FIVE, Office

from gascity.core.oneshot import Format, OneShot, RunCommand
from gascity.runs.folder import RunFolder
from gascity.runs.info import RunInfo, Status
from gascity.runs.job import mark_of
from gascity.runs.marked import marked
from gascity.runs.reconcile import UNSEEN, settle
from gascity.testing.eventually import eventually


@pytest.fixture
def office(tmp_path: Path) -> Office:
    return Office(tmp_path)


IS_TOLD = 'until grep -q "^pid: [0-9]" "$RUN_FOLDER/run-info.yaml"; do sleep 0.01; done'
STAYS = f"echo said; sleep 1000 & {IS_TOLD}; touch ready; wait"


def _left(office: Office, script: str = STAYS) -> RunFolder:
    """Return a run whose runner was killed."""
    with office.killable(script) as runner:
        eventually((office.folder / "ready").exists, within=60.0)
        runner.send_signal(signal.SIGKILL)
    (folder,) = office.home.runs()
    return folder


def test_a_killed_runner_is_told_of(office: Office) -> None:
    folder = _left(office)
    assert settle(office.home) == [folder.run_id]
    (info,) = office.infos()

    assert (info.status, info.end, info.crash) == (Status.FAILED, UNSEEN, True)
    assert (info.exit_code, bool(info.end_time), info.pid is not None) == (None, True, True)
    assert sorted(os.listdir(folder.path)) == FIVE
    assert folder.read("output.md") == "said\n"
    assert office.types() == ["RUN_START", "RUN_CRASH"]
    assert office.marks() == []
    assert marked(mark_of(office.home, folder.run_id)) == []
    assert settle(office.home) == []
    assert len(office.messages()) == 2


def test_what_a_killed_run_complained_is_not_quoted_for_its_secrets_are_not_known(
    office: Office,
) -> None:
    folder = _left(office, "echo bad key sk-secret-1234 >&2; touch ready; sleep 1000")
    settle(office.home)

    assert "sk-secret" in folder.read("agent-stderr.txt")
    assert not [entry for entry in office.messages() if "sk-secret" in entry.message]
    assert folder.file("agent-stderr.txt") in office.messages()[-1].message


def test_the_answer_of_a_killed_run_is_found_in_what_it_printed(office: Office) -> None:
    said = """{"type":"result","subtype":"success","is_error":false,"result":"so it is"}"""
    command = RunCommand(("sh", "-c", f"echo '{said}'"), format=Format.CLAUDE)
    done = office.run("true", backend=OneShot("mine", command), known={})
    folder, info = done.folder, done.info
    Path(folder.file("output.md")).unlink()
    folder.write_info(replace(info, status=Status.RUNNING))
    office.forge(folder.run_id, folder=folder.path)

    assert settle(office.home) == [folder.run_id]
    assert folder.read("output.md").strip() == "so it is"


def test_both_killed_leaves_nothing_that_runs(office: Office) -> None:
    script = "echo $PPID >guard; setsid sh -c 'echo $$ >pid; touch ready; sleep 1000' & wait"
    with office.killable(script) as runner:
        eventually((office.folder / "ready").exists, within=60.0)
        runner.send_signal(signal.SIGSTOP)  # it must not see to it itself
        os.kill(int((office.folder / "guard").read_text()), signal.SIGKILL)
        runner.send_signal(signal.SIGKILL)
    assert psutil.pid_exists(int((office.folder / "pid").read_text()))
    settle(office.home)
    (info,) = office.infos()

    assert marked(mark_of(office.home, info.run_id)) == []
    assert info.status is Status.FAILED


def test_one_of_many_settles_it(office: Office) -> None:
    _left(office)
    settled: list[str] = []
    threads = [
        threading.Thread(target=lambda: settled.extend(settle(office.home))) for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(settled) == 1
    assert office.types() == ["RUN_START", "RUN_CRASH"]


def test_one_that_runs_is_left_alone(office: Office) -> None:
    seen: list[list[str]] = []
    outcome = office.run("true", lambda _: seen.append(settle(office.home)))

    assert seen == [[]]
    assert outcome.is_done


def test_only_the_last_message_was_missing(office: Office) -> None:
    outcome = office.run("true")
    before = outcome.folder.read_info()
    os.unlink(office.home.journal)
    office.forge(outcome.info.run_id, folder=outcome.folder.path)

    assert settle(office.home) == [outcome.info.run_id]
    assert outcome.folder.read_info() == before
    assert office.types() == ["RUN_START", "RUN_STOP"]


def test_a_run_that_was_killed_before_its_record(office: Office) -> None:
    held = office.home.allocate(office.home.task("p", "t"))
    Path(held.folder.file(".run-info.yaml.new")).write_text("vers")
    Path(held.folder.file(".prompt.md.new")).write_text("You")
    held.leave()
    settle(office.home)
    (info,) = office.infos()

    assert (info.project_id, info.task_id, info.end) == ("p", "t", UNSEEN)
    assert sorted(os.listdir(held.folder.path)) == FIVE
    assert office.types() == ["RUN_START", "RUN_CRASH"]


def test_a_mark_without_a_run_goes(office: Office) -> None:
    held = office.home.allocate(office.home.task("p", "t"))
    os.rmdir(held.folder.path)
    held.leave()

    assert settle(office.home) == [held.folder.run_id]
    assert office.marks() == []
    assert office.types() == []


def test_a_number_that_another_process_has_now_is_not_trusted(office: Office) -> None:
    outcome = office.run("true")
    info = outcome.folder.read_info()
    assert isinstance(info, RunInfo)
    text = outcome.folder.read("run-info.yaml").replace("status: completed", "status: running")
    text = text.replace(f"pid: {info.pid}", f"pid: {os.getpid()}")
    outcome.folder.write("run-info.yaml", text)
    office.forge(outcome.info.run_id, folder=outcome.folder.path, runner=os.getpid())
    settle(office.home)
    (told,) = office.infos()

    assert (told.status, told.end) == (Status.FAILED, UNSEEN)


def test_what_cannot_be_settled_now_waits(office: Office) -> None:
    folder = _left(office)
    os.rename(office.home.journal, f"{office.home.journal}.away")
    os.mkdir(office.home.journal)

    assert settle(office.home) == []
    assert office.marks() == [folder.run_id]
    os.rmdir(office.home.journal)
    os.rename(f"{office.home.journal}.away", office.home.journal)
    assert settle(office.home) == [folder.run_id]
    assert office.types() == ["RUN_START", "RUN_CRASH"]


def test_what_a_killed_run_complained_of_is_not_told_to_all(office: Office) -> None:
    folder = _left(office, "echo a secret >&2; touch ready; sleep 1000")
    settle(office.home)
    _, crash = office.messages()

    assert folder.read("agent-stderr.txt") == "a secret\n"
    assert "a secret" not in crash.message
    assert folder.file("agent-stderr.txt") in crash.message


def test_a_record_that_its_agent_changed_is_settled_where_it_lies(office: Office) -> None:
    forged = (
        'sed -i "s/^project_id: .*/project_id: \'$(seq -s . 200)\'/" "$RUN_FOLDER/run-info.yaml"'
    )
    folder = _left(office, f"{IS_TOLD}; {forged}; touch ready; sleep 1000")

    assert settle(office.home) == [folder.run_id]
    assert office.infos()[0].project_id == "p"
    assert [(entry.project, entry.task) for entry in office.messages()] == [("p", "t")] * 2
