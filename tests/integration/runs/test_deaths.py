"""What is left when a runner or its guard is killed: nothing."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import subprocess
import time
from pathlib import Path

import psutil
import pytest
from tests.integration.runs.desk import PYTHON, Desk
from tests.living import lives

from gascity.errors import GuardLost, SpawnFailed
from gascity.runs import guarded
from gascity.runs.guarded import end_marked
from gascity.testing.eventually import eventually

STAY = "while :; do sleep 0.05; done"
# One that stays, one that left, and one that is far below; then the file that says so.
FAMILY = f"(setsid sh -c '{STAY}' &); sh -c 'sh -c \"{STAY}\" & wait' & echo $$ >up; {STAY}"
# Forks for ever, a few at a time, into sessions of their own.
RESTLESS = """
import os, signal, time
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
until = time.monotonic() + 20
open("up", "w").write(str(os.getpid()))
while time.monotonic() < until:
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            os.execvp("sleep", ["sleep", "0.3"])
        os._exit(0)
    time.sleep(0.002)  # in another process: the pace of a look
"""


def test_when_the_runner_is_killed_the_guard_ends_everything_at_once(desk: Desk) -> None:
    with desk.runner("sh", "-c", FAMILY, grace=60) as runner:
        desk.number_in("up")
        runner.kill()

    eventually(lambda: desk.living() == [])


def test_when_the_runner_is_killed_who_hears_nothing_gets_its_grace(desk: Desk) -> None:
    with desk.runner("sh", "-c", f"trap '' TERM HUP; {FAMILY}", grace=1.0) as runner:
        agent = desk.number_in("up")
        killed = time.monotonic()
        runner.kill()
        eventually(lambda: not lives(agent))

    assert time.monotonic() - killed >= 1.0
    eventually(lambda: desk.living() == [])


def test_when_the_guard_is_killed_the_runner_says_so_and_nothing_is_left(desk: Desk) -> None:
    agent = desk.guarded("sh", "-c", FAMILY)
    agent.start()
    os.kill(_guard(desk), signal.SIGKILL)

    with pytest.raises(GuardLost) as problem:
        agent.wait(20)

    assert problem.value.code == 137
    assert "the guard of the agent was killed" in problem.value.message
    assert desk.living() == []
    agent.close()


def test_when_the_guard_is_killed_the_agent_dies_without_anyones_help(desk: Desk) -> None:
    with desk.runner("sh", "-c", FAMILY) as runner:
        agent = desk.number_in("up")
        guard = _guard(desk)
        runner.send_signal(signal.SIGSTOP)
        os.kill(guard, signal.SIGKILL)
        eventually(lambda: not lives(agent))
        runner.kill()

    assert end_marked(desk.mark) == []


def test_a_guard_that_does_nothing_any_more_is_given_up(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(guarded, "PATIENCE", 0.5)
    agent = desk.guarded("sh", "-c", FAMILY)
    agent.start()
    os.kill(_guard(desk), signal.SIGSTOP)

    agent.stop(0.1)
    assert agent.wait(0.5) is None
    agent.close()

    assert desk.living() == []


def test_the_words_of_a_guard_that_breaks_are_passed_on(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(guarded, "_GUARD", "raise SystemExit('it broke')")

    with pytest.raises(SpawnFailed) as problem:
        desk.run("true")

    assert "(it broke)" in problem.value.message


def test_what_a_guard_could_not_end_is_ended_by_its_mark(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    weak = guarded._GUARD.replace("main()", "guard.GIVE_UP = guard.SHORT = 0; guard.main()")
    weak = weak.replace("from gascity.runs.guard import main", "from gascity.runs import guard")
    monkeypatch.setattr(guarded, "_GUARD", weak)
    left = f"setsid sh -c 'trap \"\" TERM HUP; echo $$ >up; {STAY}'"

    assert desk.run("sh", "-c", f"({left} &); until [ -s up ]; do :; done; exit 4") == 4

    assert desk.living() == []


@pytest.mark.parametrize("seed", range(4))
def test_both_killed_at_any_instant_leave_nothing_that_its_mark_does_not_find(
    desk: Desk, seed: int
) -> None:
    """Twenty-five instants each, from before the guard runs to well after the agent does."""
    chance = random.Random(seed)
    for _ in range(25):
        up = desk.folder / "up"
        up.unlink(missing_ok=True)
        argv = chance.choice([("sh", "-c", FAMILY), (*PYTHON, RESTLESS)])
        with _prepared(desk, *argv) as runner:
            after = chance.uniform(0, 0.06)
            if chance.random() < 0.3:
                eventually(up.exists)
            time.sleep(after)  # the instant is what is tried
            pids = [runner.pid, *(one.pid for one in psutil.Process(runner.pid).children())]
            chance.shuffle(pids)
            for pid in pids:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
        eventually(lambda: not any(map(lives, pids)))  # noqa: B023

        assert end_marked(desk.mark, grace=chance.choice([0, 0.2])) == []
        assert desk.living() == []


def _prepared(desk: Desk, *argv: str) -> subprocess.Popen[bytes]:
    """Return a runner that has imported everything and starts its guard this moment."""
    go = desk.folder / "go"
    with contextlib.suppress(FileExistsError):
        os.mkfifo(go)
    runner = desk.runner(*argv, before=f"open({str(go)!r}).read()")
    with go.open("w"):
        return runner


class TestMarks:
    """What `end_marked` takes for a run's own."""

    def test_the_mark_of_another_run_is_not_its_own(self, desk: Desk) -> None:
        others = [_sleeping(desk, mark) for mark in (f"{desk.mark}0", "other:1", "")]

        assert end_marked(desk.mark) == []

        assert [one.poll() for one in others] == [None] * 3
        for one in others:
            one.kill()
            one.wait()

    def test_who_wiped_the_mark_below_one_that_has_it_is_of_the_run(self, desk: Desk) -> None:
        script = f"env -u GC_RUN_MARK sh -c 'echo $$ >up; {STAY}' & wait"
        with _sleeping(desk, desk.mark, script):
            wiped = desk.number_in("up")

            assert end_marked(desk.mark) == []

        assert not lives(wiped)

    def test_what_another_run_has_below_it_is_not(self, desk: Desk) -> None:
        script = "GC_RUN_MARK=other:1 setsid sh -c 'echo $$ >up; exec sleep 60' & wait"
        with _sleeping(desk, desk.mark, script):
            other = desk.number_in("up")

            assert end_marked(desk.mark) == []

        assert lives(other)
        os.kill(other, signal.SIGKILL)
        eventually(lambda: not lives(other))

    def test_who_ignores_it_is_killed_after_its_grace(self, desk: Desk) -> None:
        with _sleeping(desk, desk.mark, f"trap '' TERM HUP; echo $$ >up; {STAY}"):
            desk.number_in("up")
            begun = time.monotonic()

            assert end_marked(desk.mark, grace=0.7) == []

        assert time.monotonic() - begun >= 0.7

    def test_no_mark_is_the_mark_of_nobody(self, desk: Desk) -> None:
        with _sleeping(desk, "") as one:
            assert end_marked("") == []
            assert one.poll() is None
            one.kill()


def _sleeping(desk: Desk, mark: str, script: str = "exec sleep 60") -> subprocess.Popen[bytes]:
    env = desk.env({"GC_RUN_MARK": mark})
    return subprocess.Popen(["sh", "-c", script], env=env, cwd=desk.folder)


def _guard(desk: Desk) -> int:
    pid = desk.number_in("up")
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
