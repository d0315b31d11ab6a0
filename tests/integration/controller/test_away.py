"""A controller whose sessions live on machines that come and go."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace

import pytest
from tests.integration.controller.stage import CITY, Bench, Running, agent, up
from tests.integration.controller.test_alarms import Hasty

from gascity.controller.deeds import RETRY
from gascity.core.actions import EventType
from gascity.core.model import SessionConfig
from gascity.core.observed import AGENT, CITY_ID, CONFIG_HASH, RUN, Standing
from gascity.errors import GascityError
from gascity.runs.folder import Runs
from gascity.runs.ids import new_run_id
from gascity.runs.info import RunInfo, Status
from gascity.testing.eventually import eventually

FULL = "0/3 nodes are available: 3 Insufficient memory"


@pytest.fixture
def clock(bench: Bench) -> Hasty:
    bench.clock = clock = Hasty()
    return clock


def stands(running: Running, name: str, state: str) -> Callable[[], bool]:
    return lambda: running.states().get(name) == state


def told(running: Running, name: str, key: str) -> str:
    agents = running.ask("status")["agents"]
    return next(str(one[key]) for one in agents if one["name"] == name)


def reason(running: Running, name: str) -> str:
    return told(running, name, "reason")


def record(bench: Bench, run: str) -> RunInfo:
    info = Runs(str(bench.folder / "runs")).of(run).read_info()
    assert isinstance(info, RunInfo)
    return info


def tried_again(bench: Bench, clock: Hasty) -> None:
    """Let the time pass after which a start is tried again, and see that it was."""
    before = len(bench.world.tried)
    clock.ahead += RETRY
    eventually(lambda: len(bench.world.tried) > before)


def test_a_start_that_has_to_wait_is_told_once_and_goes_on(bench: Bench, clock: Hasty) -> None:
    bench.world.pending["gc-c-a"] = FULL
    running = bench.run(agent("a"))
    eventually(lambda: running.told(EventType.SESSION_PENDING))
    eventually(stands(running, "a", "pending"))
    run = bench.world.sessions["gc-c-a"].meta[RUN]
    tried_again(bench, clock)
    tried_again(bench, clock)

    assert reason(running, "a") == FULL
    assert [event.message for event in running.told(EventType.SESSION_PENDING)] == [FULL]
    del bench.world.pending["gc-c-a"]
    tried_again(bench, clock)
    eventually(up(running, "a"))
    assert bench.world.starts == ["gc-c-a"]
    assert running.told(EventType.START_FAILED) == []
    assert running.told(EventType.SESSION_CRASHED) == []
    assert [event.run for event in running.told(EventType.SESSION_STARTED)] == [run]


def test_another_reason_to_wait_is_told(bench: Bench, clock: Hasty) -> None:
    bench.world.pending["gc-c-a"] = FULL
    running = bench.run(agent("a"))
    eventually(lambda: running.told(EventType.SESSION_PENDING))
    bench.world.pending["gc-c-a"] = "ImagePullBackOff"
    tried_again(bench, clock)

    eventually(lambda: len(running.told(EventType.SESSION_PENDING)) == 2)
    eventually(lambda: reason(running, "a") == "ImagePullBackOff")


def test_a_run_that_had_to_wait_has_one_record(bench: Bench, clock: Hasty) -> None:
    bench.world.pending["gc-c-a"] = FULL
    running = bench.run(agent("a"))
    eventually(lambda: running.told(EventType.SESSION_PENDING))
    run = bench.world.sessions["gc-c-a"].meta[RUN]
    tried_again(bench, clock)
    del bench.world.pending["gc-c-a"]
    tried_again(bench, clock)
    eventually(up(running, "a"))
    running.ask("stop_agents", agents=["a"])
    bench.end()

    eventually(lambda: record(bench, run).is_over)  # the exit waits for it only so long
    assert Runs(str(bench.folder / "runs")).ids() == [run]
    info = record(bench, run)
    assert info.why == "wanted by the city"
    assert info.previous_run_id == ""
    assert info.status is Status.COMPLETED
    assert info.end.startswith("stopped")


def test_the_next_controller_goes_on_with_what_is_pending(bench: Bench) -> None:
    run = new_run_id()
    meta = {CITY_ID: CITY, AGENT: "a", CONFIG_HASH: "f", RUN: run}
    bench.world.create("gc-c-a", SessionConfig("true", "/", meta=meta))
    bench.world.stand("gc-c-a", Standing.PENDING, FULL)
    running = bench.run(agent("a"))

    eventually(up(running, "a"))
    assert bench.world.sessions["gc-c-a"].meta[RUN] == run
    assert running.told(EventType.SESSION_ADOPTED) == []
    assert [event.run for event in running.told(EventType.SESSION_STARTED)] == [run]


def test_a_start_under_way_is_shown_as_what_it_waits_for(bench: Bench) -> None:
    bench.world.pending["gc-c-a"] = FULL
    bench.world.slow["gc-c-a"] = release = threading.Event()
    running = bench.run(agent("a"))

    eventually(stands(running, "a", "pending"))
    assert reason(running, "a") == FULL
    why = running.ask("why", agent="a")
    assert FULL in why["cause"]
    release.set()


def test_a_start_that_waits_does_not_delay_a_stop(bench: Bench) -> None:
    bench.world.pending["gc-c-a"] = FULL
    bench.world.slow["gc-c-a"] = release = threading.Event()
    running = bench.run(agent("a"))
    eventually(stands(running, "a", "pending"))

    running.ask("stop_agents", agents=["a"])

    assert not release.is_set()
    assert bench.world.sessions == {}
    eventually(stands(running, "a", "stopped"))
    release.set()
    running.ask("status")
    assert running.told(EventType.START_FAILED) == []


def test_restart_of_what_waits_says_what_it_waits_for(bench: Bench, clock: Hasty) -> None:
    bench.world.pending["gc-c-a"] = FULL
    running = bench.run(agent("a"))
    eventually(stands(running, "a", "pending"))
    problems: list[GascityError] = []

    def restart() -> None:
        with pytest.raises(GascityError) as caught:
            running.ask("restart", agents=["a"])
        problems.append(caught.value)

    thread = threading.Thread(target=restart)
    thread.start()
    eventually(lambda: bench.world.starts.count("gc-c-a") == 2)
    run = bench.world.sessions["gc-c-a"].meta[RUN]
    eventually(lambda: told(running, "a", "run") == run)
    assert stands(running, "a", "pending")()
    clock.ahead += 1000.0
    thread.join(20)

    assert "a is pending" in problems[0].message
    assert FULL in problems[0].message


def test_what_is_lost_is_left_alone_and_comes_back(bench: Bench) -> None:
    running = bench.run(agent("a"))
    eventually(up(running, "a"))
    bench.world.stand("gc-c-a", Standing.LOST, "node-3 does not answer")
    eventually(stands(running, "a", "lost"))

    assert reason(running, "a") == "node-3 does not answer"
    bench.world.stand("gc-c-a", Standing.UP)
    eventually(up(running, "a"))
    assert bench.world.starts == ["gc-c-a"]


def test_a_message_for_what_is_lost_waits_until_it_is_back(bench: Bench) -> None:
    running = bench.run(agent("a"))
    eventually(up(running, "a"))
    bench.world.stand("gc-c-a", Standing.LOST, "node-3 does not answer")
    eventually(stands(running, "a", "lost"))
    running.ask("queue_nudge", agents=["a"], text="hello")
    running.ask("status")

    assert bench.world.sessions["gc-c-a"].received == []
    bench.world.stand("gc-c-a", Standing.UP)
    eventually(lambda: bench.world.sessions["gc-c-a"].received == ["hello"])


def test_what_others_end_is_restarted_when_it_is_gone(bench: Bench) -> None:
    running = bench.run(agent("a"))
    eventually(up(running, "a"))
    bench.world.stand("gc-c-a", Standing.ENDING, "its node is emptied")
    eventually(stands(running, "a", "ending"))
    assert bench.world.starts == ["gc-c-a"]
    bench.world.vanish("gc-c-a")

    eventually(lambda: bench.world.starts == ["gc-c-a", "gc-c-a"])
    (crashed,) = running.told(EventType.SESSION_CRASHED)
    assert crashed.message == "the session is gone: its node is emptied"


def test_why_it_was_ended_is_in_the_event_and_in_the_record(bench: Bench) -> None:
    running = bench.run(agent("a"))
    eventually(up(running, "a"))
    run = bench.world.sessions["gc-c-a"].meta[RUN]
    bench.world.crash("gc-c-a", code=137, reason="it ran out of memory")

    eventually(lambda: running.told(EventType.SESSION_CRASHED))
    (crashed,) = running.told(EventType.SESSION_CRASHED)
    assert crashed.message == "exited with status 137: it ran out of memory"
    end = "crashed: exited with status 137: it ran out of memory"
    eventually(lambda: record(bench, run).end == end)
    eventually(up(running, "a"))
    facts = dict(running.ask("why", agent="a")["inputs"])
    assert facts["last crash"].startswith("exited with status 137: it ran out of memory")


def test_the_end_of_a_city_ends_what_is_away(bench: Bench) -> None:
    bench.world.pending["gc-c-a"] = FULL
    running = bench.run(agent("a"), agent("b"), agent("c"))
    eventually(up(running, "b", "c"))
    bench.world.stand("gc-c-b", Standing.LOST, "node-3 does not answer")
    bench.world.stand("gc-c-c", Standing.ENDING, "its node is emptied")

    running.ask("stop")

    assert bench.world.sessions == {}


def test_a_changed_agent_that_is_pending_is_replaced_at_once(bench: Bench) -> None:
    bench.world.pending["gc-c-a"] = FULL
    first = bench.run(agent("a"))
    eventually(stands(first, "a", "pending"))
    run = bench.world.sessions["gc-c-a"].meta[RUN]
    bench.end()
    del bench.world.pending["gc-c-a"]

    running = bench.run(replace(agent("a"), fingerprint="g"))

    eventually(up(running, "a"))
    assert bench.world.sessions["gc-c-a"].meta[RUN] != run
