"""How agents end, with everything they began."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable

import psutil
import pytest
from tests.integration.runs.desk import PYTHON, Desk
from tests.living import lives

from gascity.runs import guarded
from gascity.runs.guarded import Guarded
from gascity.testing.eventually import eventually

STAY = "while :; do sleep 0.05; done"
DEAF = f"trap '' TERM HUP; echo $$ >up; {STAY}"
ENDING = 30.0  # seconds to wait for an end; whoever is asked in vain has more
# Every process of these ends by itself, should nobody manage to end it, but not within ENDING.
LIMIT = "import os, signal, sys, time\nuntil = time.monotonic() + 60\n"
FORKS_AT_TERM = (
    LIMIT
    + """
depth = 0
def again(*_):
    global depth
    depth += 1
    if depth < 6 and os.fork() == 0 and os.fork() == 0:
        os.setsid()
signal.signal(signal.SIGTERM, again)
open("up", "w").write(str(os.getpid()))
while time.monotonic() < until:
    time.sleep(0.01)  # in another process: the pace of a look
"""
)
HOPS = (
    LIMIT
    + """
open("up", "w").write(str(os.getpid()))
if os.fork():
    time.sleep(60)
for one in (signal.SIGTERM, signal.SIGHUP):
    signal.signal(one, signal.SIG_IGN)
while time.monotonic() < until:
    if os.fork():
        os._exit(0)
    os.setsid()
"""
)
MULTIPLIES = (
    LIMIT
    + """
signal.signal(signal.SIGTERM, signal.SIG_IGN)
signal.signal(signal.SIGHUP, signal.SIG_IGN)
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
open("up", "w").write(str(os.getpid()))
most = len(os.listdir("/proc")) + 150
while time.monotonic() < until:
    if len(os.listdir("/proc")) < most and os.fork() == 0:
        os.setsid()
    time.sleep(0.005)
"""
)


class Started:
    """An agent that writes down who it is in `up`, and can be stopped and timed."""

    def __init__(self, desk: Desk, *argv: str) -> None:
        self._desk = desk
        self.agent: Guarded = desk.guarded(*argv)
        self.agent.start()
        desk.number_in("up")

    def stop(self, grace: float) -> tuple[int | None, float]:
        """Return its code, None if it did not end, and how long it took."""
        begun = time.monotonic()
        self.agent.stop(grace)
        code = self.agent.wait(ENDING)
        took = time.monotonic() - begun
        assert self._desk.living() == []
        self.agent.close()
        return code, took


def test_who_heeds_term_ends_at_once(desk: Desk) -> None:
    code, _ = Started(desk, "sh", "-c", f"trap 'exit 5' TERM; echo $$ >up; {STAY}").stop(60)

    assert code == 5


def test_who_ignores_term_is_hung_up_on(desk: Desk) -> None:
    code, _ = Started(desk, "sh", "-c", f"trap '' TERM; echo $$ >up; {STAY}").stop(60)

    assert code == 128 + signal.SIGHUP


def test_who_stands_still_with_the_whole_machine_keeps_its_grace(desk: Desk) -> None:
    saves = "sleep 6; kill -CONT $PPID; sleep 0.3; echo saved >saved; exit 0"
    one = Started(desk, "sh", "-c", f"trap 'kill -STOP $PPID; {saves}' TERM; echo $$ >up; {STAY}")

    code, _ = one.stop(4.0)

    assert code == 0
    assert (desk.folder / "saved").exists()


def test_who_ignores_everything_is_killed_after_its_grace_and_not_sooner(desk: Desk) -> None:
    code, took = Started(desk, "sh", "-c", DEAF).stop(1.5)

    assert code == 137
    assert took >= 1.5


def test_without_patience_it_is_killed_at_once_and_not_asked(desk: Desk) -> None:
    script = f"trap 'echo asked >asked' TERM; echo $$ >up; {STAY}"
    code, _ = Started(desk, "sh", "-c", script).stop(0)

    assert code == 137
    assert not (desk.folder / "asked").exists()


def test_the_least_patient_decides(desk: Desk) -> None:
    started = Started(desk, "sh", "-c", DEAF)
    started.agent.stop(60)

    code, _ = started.stop(0.2)

    assert code == 137


def test_who_is_more_patient_does_not_postpone_it(desk: Desk) -> None:
    started = Started(desk, "sh", "-c", DEAF)
    started.agent.stop(0.2)

    code, _ = started.stop(60)

    assert code == 137


def test_each_process_is_asked_once(desk: Desk) -> None:
    """Even when another one ends, at which the guard looks again."""
    other = "setsid sh -c 'trap \"\" TERM HUP; until [ -e asked ]; do sleep 0.1; done'"
    script = f"trap 'echo asked >>asked' TERM; ({other} &); echo $$ >up; {STAY}"
    Started(desk, "sh", "-c", script).stop(1.5)

    assert (desk.folder / "asked").read_text() == "asked\n"


@pytest.mark.parametrize(
    "script",
    [
        f"setsid sh -c 'echo $$ >up; {STAY}' & wait",
        f"(setsid sh -c 'echo $$ >up; {STAY}' &) ; sleep 60",
        f"sh -c 'echo $$ >up; kill -STOP $$; {STAY}' & wait",
        f"(setsid sh -c 'trap \"\" TERM HUP; echo $$ >up; kill -STOP $$; {STAY}' &); sleep 60",
        f"env -i setsid sh -c 'echo $$ >up; {STAY}' & wait",
    ],
    ids=["setsid", "double fork", "stopped", "stopped and deaf", "without its variables"],
)
def test_nothing_below_it_gets_away(desk: Desk, script: str) -> None:
    started = Started(desk, "sh", "-c", script)
    pid = desk.number_in("up")

    started.stop(0.5)

    assert not lives(pid)


def test_who_is_stopped_is_woken_to_hear_it(desk: Desk) -> None:
    script = f"trap 'exit 5' TERM; echo $$ >up; kill -STOP $$; {STAY}"
    code, _ = Started(desk, "sh", "-c", script).stop(60)

    assert code == 5


@pytest.mark.parametrize("script", [FORKS_AT_TERM, HOPS, MULTIPLIES])
def test_those_that_fork_while_they_end_are_chased_to_the_last(desk: Desk, script: str) -> None:
    started = Started(desk, *PYTHON, script)

    code, _ = started.stop(0.5)

    assert code is not None


def test_a_cancelled_run_ends(desk: Desk) -> None:
    def cancel() -> None:
        desk.number_in("up")
        desk.cancel.set("timed out")

    code = _meanwhile(cancel, lambda: desk.run("sh", "-c", f"echo $$ >up; {STAY}"))

    assert code == 143
    assert desk.living() == []


def test_a_cancelled_run_that_hears_nothing_gets_its_grace(desk: Desk) -> None:
    at: list[float] = []

    def cancel() -> None:
        desk.number_in("up")
        at.append(time.monotonic())
        desk.cancel.set("timed out")

    code = _meanwhile(cancel, lambda: desk.run("sh", "-c", DEAF, grace=1.0))

    assert code == 137
    assert time.monotonic() - at[0] >= 1.0


def test_a_run_that_was_cancelled_before_is_not_begun(desk: Desk) -> None:
    desk.cancel.set("interrupted")

    assert desk.run("sh", "-c", "echo $$ >up") == 143
    assert not desk.out.exists()


def _meanwhile(other: Callable[[], None], run: Callable[[], int]) -> int:
    thread = threading.Thread(target=other)
    thread.start()
    code = run()
    thread.join()
    return code


def test_what_an_agent_leaves_behind_is_ended_soon(desk: Desk) -> None:
    left = f"setsid sh -c 'trap \"\" TERM HUP; echo $$ >up; {STAY}'"
    script = f"({left} &); until [ -s up ]; do :; done; exit 4"
    begun = time.monotonic()

    assert desk.run("sh", "-c", script, grace=60) == 4

    assert time.monotonic() - begun < 60
    assert desk.living() == []


def test_what_belongs_to_another_run_outlives_the_agent(desk: Desk) -> None:
    other = "GC_RUN_MARK=other:1 setsid sh -c 'echo $$ >up; env -u GC_RUN_MARK sleep 60; :'"
    script = f"({other} &); sh -c '{STAY}' & until [ -s up ]; do :; done; exit 4"

    assert desk.run("sh", "-c", script) == 4

    pid = desk.number_in("up")
    family = [psutil.Process(pid), *eventually(psutil.Process(pid).children)]
    assert sorted(desk.living()) == sorted(one.pid for one in family)
    for one in family:
        one.kill()
    eventually(lambda: desk.living() == [])


def test_a_stop_ends_also_what_belongs_to_another_run(desk: Desk) -> None:
    """What an agent runs below it ends with it: of a run within a run nothing may be left."""
    script = f"GC_RUN_MARK=other:1 sh -c 'echo $$ >up; {STAY}'"
    Started(desk, "sh", "-c", script).stop(5)


def test_orphans_are_reaped_while_the_agent_works(desk: Desk) -> None:
    agent = desk.guarded(
        "sh", "-c", f"for i in 1 2 3 4 5; do (setsid true &); done; echo $$ >up; {STAY}"
    )
    pid = agent.start().pid
    desk.number_in("up")
    guard = psutil.Process(pid).parent()

    assert guard is not None
    eventually(lambda: [child.pid for child in guard.children()] == [pid])
    agent.close()


def test_letting_go_of_an_agent_kills_it(desk: Desk) -> None:
    started = Started(desk, "sh", "-c", DEAF)

    started.agent.close()

    assert desk.living() == []


def test_waiting_tells_that_it_has_not_ended_yet(desk: Desk) -> None:
    started = Started(desk, "sh", "-c", f"echo $$ >up; {STAY}")

    assert started.agent.wait(0) is None
    assert started.agent.wait(0.1) is None
    assert started.stop(5)[0] == 143
    assert started.agent.wait(0) == 143


def test_a_guard_that_is_asked_to_end_ends_the_agent_with_it(desk: Desk) -> None:
    started = Started(desk, "sh", "-c", f"trap 'exit 6' TERM; echo $$ >up; {STAY}")
    os.kill(_guard_of(desk), signal.SIGTERM)

    assert started.agent.wait(20) == 6
    started.agent.close()


class TestElsewhere:
    """Where no kernel calls are known that Linux has, the process group is what is ended."""

    @pytest.fixture(autouse=True)
    def elsewhere(self, monkeypatch: pytest.MonkeyPatch) -> None:
        there = f"import sys; sys.platform = 'darwin'; {guarded._GUARD}"
        monkeypatch.setattr(guarded, "_GUARD", there)

    def test_a_run_is_as_elsewhere(self, desk: Desk) -> None:
        assert desk.run("sh", "-c", "echo x; exit 3") == 3
        assert desk.out.read_text() == "x\n"

    def test_its_group_is_asked_and_then_killed(self, desk: Desk) -> None:
        started = Started(desk, "sh", "-c", f"sh -c '{STAY}' & {DEAF}")

        code, took = started.stop(1.0)

        assert code == 137
        assert took >= 1.0

    def test_what_it_leaves_in_its_group_is_ended(self, desk: Desk) -> None:
        assert desk.run("sh", "-c", f"sh -c '{STAY}' & exit 4") == 4

        assert desk.living() == []


def _guard_of(desk: Desk) -> int:
    guard = psutil.Process(desk.number_in("up")).parent()
    assert guard is not None
    return guard.pid
