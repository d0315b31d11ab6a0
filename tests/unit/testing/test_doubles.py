"""The shipped doubles do what a test relies on."""

from __future__ import annotations

import itertools
import threading
import time
import uuid
from pathlib import Path

import pytest

from gascity.core.model import SessionConfig, StartupHints
from gascity.core.observed import Exited
from gascity.errors import ProviderUnavailable, SessionExists, StartFailed, StopTimedOut
from gascity.testing.clock import FakeClock
from gascity.testing.eventually import eventually
from gascity.testing.fake import FakeWorld
from gascity.testing.witness import ProcessWitness, _processes, _processes_from_ps

CONFIG = SessionConfig("agent --flag", "/tmp")


def test_time_passes_only_when_told() -> None:
    clock = FakeClock(now=100.0, monotonic=5.0)

    clock.advance(2.5)

    assert (clock.now(), clock.monotonic()) == (102.5, 7.5)


def test_a_jump_of_the_wall_clock_is_no_time() -> None:
    clock = FakeClock(now=100.0, monotonic=5.0)

    clock.jump(-50)

    assert (clock.now(), clock.monotonic()) == (50.0, 5.0)


def test_time_does_not_run_back() -> None:
    with pytest.raises(ValueError, match="run back"):
        FakeClock().advance(-1)


def test_eventually_returns_the_first_true_answer() -> None:
    numbers = itertools.count()

    assert eventually(lambda: next(numbers), every=0) == 1


def test_eventually_gives_up_and_names_the_last_answer() -> None:
    with pytest.raises(AssertionError, match=r"within 0.02 s.*''"):
        eventually(lambda: "", within=0.02)


def test_eventually_does_not_mind_a_machine_that_stands_still(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    hours = itertools.count(0.0, 3600.0)
    monkeypatch.setattr(time, "monotonic", lambda: next(hours))  # each look comes an hour later
    answers = iter([False] * 9 + [True])

    assert eventually(lambda: next(answers), within=1.0, every=0)


def test_eventually_takes_an_assertion_for_not_yet_and_nothing_else() -> None:
    answers = iter([AssertionError("not yet"), ValueError("broken")])

    def check() -> bool:
        raise next(answers)

    with pytest.raises(ValueError, match="broken"):
        eventually(check)


def test_an_unreachable_world_answers_nobody() -> None:
    world = FakeWorld()
    provider = world.provider()
    world.unreachable = "the cable is cut"

    with pytest.raises(ProviderUnavailable, match="cable"):
        provider.observe(timeout=1)


def test_a_failing_start_leaves_nothing() -> None:
    world = FakeWorld()
    world.failing["w"] = "has no account"

    with pytest.raises(StartFailed, match="no account"):
        world.provider().start("w", CONFIG, timeout=1)

    assert world.sessions == {}


def test_a_slow_start_returns_when_released_and_its_name_is_taken_meanwhile() -> None:
    world = FakeWorld()
    world.slow["w"] = threading.Event()
    provider = world.provider()
    starting = threading.Thread(target=lambda: provider.start("w", CONFIG, timeout=20))

    starting.start()
    eventually(lambda: "w" in world.sessions)
    with pytest.raises(SessionExists):
        provider.start("w", CONFIG, timeout=1)
    was_waiting = starting.is_alive()
    world.slow["w"].set()
    starting.join(20)

    assert was_waiting
    assert provider.is_running("w", timeout=1)


def test_a_slow_start_keeps_its_limit() -> None:
    world = FakeWorld()
    world.slow["w"] = threading.Event()

    with pytest.raises(StartFailed, match="not ready"):
        world.provider().start("w", CONFIG, timeout=0.01)

    assert world.sessions == {}


def test_a_stuck_session_survives_its_stop() -> None:
    world = FakeWorld()
    provider = world.provider()
    provider.start("w", CONFIG, timeout=1)
    world.stuck.add("w")

    with pytest.raises(StopTimedOut):
        provider.stop("w", grace=1, timeout=1)

    assert provider.is_running("w", timeout=1)


def test_of_several_that_are_stopped_at_once_the_stuck_one_is_named() -> None:
    world = FakeWorld()
    provider = world.provider()
    for name in ("v", "w", "x"):
        provider.start(name, CONFIG, timeout=1)
    world.stuck.add("w")

    failures = provider.stop_all(["v", "w", "x"], grace=1, timeout=1)

    assert [(name, type(why)) for name, why in failures.items()] == [("w", StopTimedOut)]
    assert list(provider.observe(timeout=1)) == ["w"]


def test_a_crash_is_told_with_its_status() -> None:
    world = FakeWorld()
    provider = world.provider()
    provider.start("w", CONFIG, timeout=1)

    world.crash("w", code=3)

    assert provider.observe(timeout=1)["w"].life == Exited(code=3)


def test_the_agent_is_found_by_the_name_of_its_program() -> None:
    world = FakeWorld()
    provider = world.provider()
    hints = StartupHints(process_names=("claude",))
    provider.start("w", SessionConfig("agent --flag", "/tmp", hints=hints), timeout=1)

    assert provider.process_alive("w", ["agent"], timeout=1)
    assert not provider.observe(timeout=1)["w"].agent_alive


def test_the_witness_sees_arguments_of_their_own_and_not_parts_of_others(tmp_path: Path) -> None:
    import subprocess

    token = uuid.uuid4().hex
    script = "read never"
    command = ["sh", "-c", script, "shell"]
    with (
        subprocess.Popen([*command, token], stdin=subprocess.PIPE) as carrier,
        subprocess.Popen([*command, f"TOKEN={token}"], stdin=subprocess.PIPE) as other,
    ):
        # A process shows no arguments in the moment in which it becomes `sh`.
        seen = eventually(lambda: ProcessWitness().living(token))
        by_ps = [pid for pid, words in _processes_from_ps() if token in words]
        ProcessWitness().kill(token, 9)
        carrier.wait(10)
        after = ProcessWitness().living(token)
        other_lives = other.poll() is None

    assert seen == [carrier.pid]
    assert by_ps == seen
    assert after == []
    assert other_lives
    assert any(words for _, words in _processes())
