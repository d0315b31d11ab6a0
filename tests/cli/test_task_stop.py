"""A stop outranks every restart, and the truth is told of a supervisor that was killed."""

from __future__ import annotations

import os
import signal

import pytest
import yaml
from tests.cli.conftest import MakeCity
from tests.cli.task_desk import HEAD, Desk

from gascity.testing.eventually import eventually

COUNTS = 'echo x >>"$TEST_CITY/log"; '
SLEEPS = COUNTS + "sleep 1000 & setsid sleep 1000 & wait"


@pytest.fixture
def desk(make_city: MakeCity) -> Desk:
    return Desk(make_city(HEAD))


def test_a_stop_during_a_run_ends_all_of_it_and_nothing_starts_again(desk: Desk) -> None:
    desk.detach("work", SLEEPS, "--delay", "0s")
    desk.wait_for_lines(1)

    done = desk.city.gc("task", "stop", "work")

    assert (done.returncode, done.stdout) == (0, "task work is stopped: somebody stopped it\n")
    assert not desk.city.living()
    info = desk.info("work")
    assert (info["wanted"], info["state"], info["supervisor"]) == ("stopped", "stopped", None)
    (run,) = desk.runs("work")
    assert (run["status"], run["asked"]) == ("failed", True)


def test_a_stop_while_it_waits_for_its_next_run(desk: Desk) -> None:
    desk.detach("work", COUNTS + "exit 1", "--delay", "1h")
    eventually(lambda: "comes in 1h" in desk.info("work")["why"], within=desk.city.limit)

    done = desk.city.gc("task", "stop", "work")

    assert done.returncode == 0, done.stderr
    assert desk.lines() == ["x"]
    assert desk.wait_for("work", "stopped")["attempts"] == 1


def test_a_stop_at_the_instant_before_the_next_run(desk: Desk) -> None:
    """Whoever stops it writes that down first, and may be killed before it tells anybody."""
    desk.detach("work", COUNTS + "exit 1", "--delay", "10s")
    eventually(lambda: "comes in 10s" in desk.info("work")["why"], within=desk.city.limit)
    path = desk.folder("work") / "task-info.yaml"
    beside = path.with_suffix(".new")
    beside.write_text(yaml.safe_dump({**desk.info("work"), "wanted": "stopped"}), "utf-8")
    beside.rename(path)

    info = desk.wait_for("work", "stopped")

    assert info["attempts"] == 1
    assert desk.lines() == ["x"]


def test_a_stop_beats_restarts_that_come_without_a_pause(desk: Desk) -> None:
    desk.detach("work", COUNTS + "exit 1", "--delay", "0s", "--max-restarts", "1000000")
    desk.wait_for_lines(3)

    done = desk.city.gc("task", "stop", "work")

    assert done.returncode == 0, done.stderr
    count = len(desk.lines())
    assert not desk.city.living()
    assert desk.city.gc("task", "status", "work").returncode == 0
    assert len(desk.lines()) == count
    assert desk.info("work")["state"] == "stopped"


def test_a_task_that_is_stopped_has_not_failed_and_can_be_stopped(desk: Desk) -> None:
    desk.detach("work", SLEEPS, "--max-restarts", "0")
    desk.wait_for_lines(1)
    desk.city.gc("task", "stop", "work")

    assert desk.info("work")["state"] == "stopped"
    assert desk.city.gc("task", "stop", "work").returncode == 0


def test_a_task_that_is_done_does_not_run(desk: Desk) -> None:
    desk.start("work", "exit 0")

    done = desk.city.gc("task", "stop", "work")

    assert done.returncode == 5
    assert "does not run: it is done" in done.stderr


def test_a_supervisor_that_sleeps_by_ctrl_z_is_stopped(desk: Desk) -> None:
    process = desk.city.popen(*desk.words("work", SLEEPS))
    desk.wait_for_lines(1)
    process.send_signal(signal.SIGSTOP)

    done = desk.city.gc("task", "stop", "work")

    assert (done.returncode, done.stdout) == (0, "task work is stopped: somebody stopped it\n")
    assert process.wait(timeout=desk.city.limit) == 143


def test_a_stop_during_a_pause_of_a_month(desk: Desk) -> None:
    desk.detach("work", COUNTS + "exit 1", "--delay", "720h")
    eventually(lambda: "comes in 720h" in desk.info("work")["why"], within=desk.city.limit)

    assert desk.city.gc("task", "stop", "work").returncode == 0
    assert desk.lines() == ["x"]


def test_what_cannot_be_resumed_stays_as_it_is(desk: Desk) -> None:
    folder = desk.city.folder / "gone"
    folder.mkdir()
    desk.start("work", "exit 3", "--max-restarts", "0", "--cwd", str(folder))
    before = desk.info("work")
    folder.rmdir()

    done = desk.city.gc("task", "resume", "work")

    assert done.returncode == 2
    assert "there is no folder" in done.stderr
    assert "no restart is left" in desk.city.ok("task", "status", "work")
    assert desk.info("work") == before


def test_resume_goes_on_with_a_fresh_count_and_the_same_prompt(desk: Desk) -> None:
    script = COUNTS + 'test $(wc -l <"$TEST_CITY/log") = 3'
    failed = desk.start("work", script, "--max-restarts", "0", "--prompt", "mend the roof")
    assert failed.returncode == 1
    assert desk.city.gc("task", "resume", "work").returncode == 1

    done = desk.city.gc("task", "resume", "work")

    assert done.returncode == 0, done.stderr
    runs = desk.runs("work")
    assert [one["previous_run_id"] for one in runs[1:]] == [one["run_id"] for one in runs[:-1]]
    assert desk.info("work")["attempts"] == 1
    assert (desk.folder("work") / "TASK.md").read_text("utf-8") == "mend the roof"
    last = desk.folder("work") / "runs" / runs[-1]["run_id"] / "prompt.md"
    assert "Continue working on the following:\n\nmend the roof" in last.read_text("utf-8")
    again = desk.city.gc("task", "resume", "work")
    assert (again.returncode, "is done" in again.stderr) == (2, True)


def test_a_supervisor_that_is_killed_leaves_nothing_and_the_truth_is_told(desk: Desk) -> None:
    desk.detach("work", SLEEPS)
    desk.wait_for_lines(1)
    os.kill(desk.wait_for("work", "running")["supervisor"], signal.SIGKILL)
    eventually(lambda: not desk.city.living(), within=desk.city.limit)

    said = desk.city.ok("task", "status", "work")

    assert "failed: its supervisor was killed" in said
    assert desk.info("work")["state"] == "failed"
    (run,) = desk.runs("work")
    assert run["status"] == "failed"
    assert desk.city.gc("task", "resume", "work", "--detach").returncode == 0
    desk.wait_for_lines(2)
    assert desk.city.gc("task", "stop", "work").returncode == 0


def test_two_supervisors_of_one_task_are_impossible(desk: Desk) -> None:
    desk.detach("work", SLEEPS)
    desk.wait_for_lines(1)
    pid = desk.wait_for("work", "running")["supervisor"]

    second = desk.start("work", "exit 0")
    third = desk.city.gc("task", "resume", "work")

    assert (second.returncode, third.returncode) == (7, 7)
    assert f"task town/work is supervised by process {pid}" in second.stderr
    assert desk.lines() == ["x"]
    assert desk.city.gc("task", "stop", "work").returncode == 0


def test_of_many_who_start_a_task_at_once_one_does(desk: Desk) -> None:
    started = [desk.city.popen(*desk.words("work", SLEEPS)) for _ in range(4)]

    def one_is_left() -> bool:
        return sorted(map(str, (each.poll() for each in started))) == ["7", "7", "7", "None"]

    eventually(one_is_left, within=desk.city.limit)
    assert desk.wait_for_lines(1) == ["x"]
    assert desk.city.gc("task", "stop", "work").returncode == 0


def test_ctrl_c_ends_a_task_in_the_foreground(desk: Desk) -> None:
    process = desk.city.popen(*desk.words("work", SLEEPS, "--delay", "0s"))
    desk.wait_for_lines(1)
    process.send_signal(signal.SIGINT)

    assert process.wait(timeout=desk.city.limit) == 130
    info = desk.info("work")
    assert (info["state"], info["wanted"], info["why"]) == ("stopped", "stopped", "interrupted")
    assert len(desk.lines()) == 1
