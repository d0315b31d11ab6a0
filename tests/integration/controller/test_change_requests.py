"""What people and agents ask a running controller to change."""

from __future__ import annotations

import threading
from dataclasses import replace

import pytest
from tests.integration.controller.stage import Bench, Running, agent, up

from gascity.core.actions import EventType
from gascity.core.model import PoolSpec
from gascity.core.observed import DRAIN, DRAINED, RESTART_REQUESTED
from gascity.errors import GascityError, NotFound, NotRunning, UsageError
from gascity.testing.eventually import eventually

SESSION = "gc-c-mayor"


def lived(bench: Bench, *names: str) -> Running:
    running = bench.run(*(agent(name) for name in names))
    eventually(up(running, *names))
    return running


def run_of(running: Running, name: str = "mayor") -> str:
    found = {one["name"]: one["run"] for one in running.ask("status")["agents"]}
    return str(found[name])


def flag(bench: Bench, key: str, value: str) -> None:
    """Set a flag as another process would."""
    bench.world.provider().set_meta(SESSION, key, value, timeout=1)
    bench.world.wake()


def quarantine(bench: Bench) -> Running:
    bench.world.failing = {SESSION: "has no bread"}
    running = bench.run(agent("mayor"))
    eventually(lambda: running.states() == {"mayor": "quarantined"})
    return running


# --- reset


def test_a_reset_agent_starts_at_once_and_its_release_is_told(bench: Bench) -> None:
    running = quarantine(bench)
    bench.world.failing = {}

    answer = running.ask("reset", agents=["mayor"])

    (one,) = answer["agents"]
    assert (one["name"], one["forgotten"]) == ("mayor", "quarantine")
    assert one["state"] in ("starting", "ready")
    eventually(up(running, "mayor"))
    (event,) = running.told(EventType.AGENT_RELEASED)
    assert (event.agent, event.message) == ("mayor", "a person reset it")


def test_a_reset_of_one_that_is_well_changes_nothing_and_tells_nothing(bench: Bench) -> None:
    running = lived(bench, "mayor")
    run = run_of(running)

    answer = running.ask("reset", agents=["mayor"])

    assert answer == {
        "agents": [{"name": "mayor", "state": "ready", "reason": "", "forgotten": ""}]
    }
    assert run_of(running) == run
    assert not running.told(EventType.AGENT_RELEASED)


def test_a_reset_agent_that_fails_again_has_all_its_tries(bench: Bench) -> None:
    running = quarantine(bench)
    tried = len(running.told(EventType.START_FAILED))
    running.ask("reset", agents=["mayor"])

    eventually(lambda: len(running.told(EventType.AGENT_QUARANTINED)) == 2)
    assert len(running.told(EventType.START_FAILED)) == 2 * tried


def test_a_reset_does_not_start_what_a_person_stopped(bench: Bench) -> None:
    running = lived(bench, "mayor")
    running.ask("stop_agents", agents=["mayor"])

    (one,) = running.ask("reset", agents=["mayor"])["agents"]

    assert one["state"] == "stopped"
    assert "gc stop" in one["reason"]


def test_an_empty_place_of_a_pool_can_be_reset(bench: Bench) -> None:
    members = tuple(replace(agent(f"crew-{n}"), pool="crew") for n in (1, 2))
    bench.pools = (PoolSpec("crew", 1, 2, members),)
    running = bench.run()
    eventually(up(running, "crew-1"))

    found = running.ask("reset", agents=["crew-1", "crew-2"])["agents"]

    assert [one["state"] for one in found] == ["ready", "stopped"]
    assert found[1]["reason"] == "the pool does not need it"


# --- what is wanted of an agent is kept


def test_a_drain_outlives_the_controller_and_is_told_once(bench: Bench) -> None:
    running = lived(bench, "mayor")
    running.ask("stop_agents", agents=["mayor"])
    held = len(running.told(EventType.AGENT_HELD))
    running.ask("drain", agents=["mayor"])
    running.ask("drain", agents=["mayor"])
    bench.end()

    second = bench.run(agent("mayor"))

    assert second.controller.memory.of(SESSION).drained
    assert len(running.told(EventType.AGENT_HELD)) == held + 1
    second.ask("undrain", agents=["mayor"])
    assert not second.controller.memory.of(SESSION).drained
    (event,) = second.told(EventType.AGENT_RELEASED)
    assert event.message == "a person took the drain back"


def test_requests_name_agents_that_there_are(bench: Bench) -> None:
    running = bench.run(agent("mayor"))

    for method in ("reset", "drain", "undrain"):
        with pytest.raises(NotFound, match="knows no agent"):
            running.ask(method, agents=["mayor", "nobody"])
        with pytest.raises(UsageError):
            running.ask(method)
    assert running.controller.memory.of(SESSION).drained is False
    for method in ("drain_check", "drain_ack", "request_restart"):
        with pytest.raises(NotFound, match="nobody"):
            running.ask(method, agent="nobody")
        with pytest.raises(UsageError):
            running.ask(method, agent=7)


@pytest.mark.parametrize("timeout", [0, -1, "long", True, None])
def test_a_wait_has_a_sensible_limit(bench: Bench, timeout: object) -> None:
    running = bench.run(agent("mayor"))

    with pytest.raises(UsageError, match="timeout"):
        running.ask("drain", agents=["mayor"], wait=True, timeout=timeout)
    assert not running.controller.memory.of(SESSION).drained


# --- what an agent says of itself


def test_an_agent_is_told_to_drain_when_its_own_run_is_asked(bench: Bench) -> None:
    running = lived(bench, "mayor")
    run = run_of(running)
    assert running.ask("drain_check", session=SESSION, agent="mayor", run=run) == {
        "agent": "mayor",
        "run": run,
        "drain": False,
    }

    running.ask("drain", agents=["mayor"])

    assert running.ask("drain_check", session=SESSION, agent="mayor", run=run)["drain"]


def test_what_is_left_of_an_earlier_incarnation_is_told_to_finish(bench: Bench) -> None:
    running = lived(bench, "mayor")

    assert running.ask("drain_check", session=SESSION, agent="mayor", run="earlier")["drain"]


def test_nobody_acknowledges_what_was_not_asked(bench: Bench) -> None:
    running = lived(bench, "mayor")

    with pytest.raises(GascityError, match="mayor was not asked to drain"):
        running.ask("drain_ack", agent="mayor")
    assert DRAINED not in bench.world.sessions[SESSION].meta


@pytest.mark.parametrize("method", ["drain_ack", "request_restart"])
def test_an_earlier_incarnation_changes_nothing(bench: Bench, method: str) -> None:
    running = lived(bench, "mayor")
    old = run_of(running)
    running.ask("restart", agents=["mayor"])
    new = run_of(running)
    flag(bench, DRAIN, old)

    with pytest.raises(GascityError, match="nothing was changed"):
        running.ask(method, session=SESSION, agent="mayor", run=old)

    assert {DRAINED, RESTART_REQUESTED}.isdisjoint(bench.world.sessions[SESSION].meta)
    assert run_of(running) == new
    assert running.states() == {"mayor": "ready"}


@pytest.mark.parametrize("method", ["drain_check", "drain_ack", "request_restart"])
def test_one_that_does_not_run_is_said_not_to(bench: Bench, method: str) -> None:
    running = lived(bench, "mayor")
    running.ask("stop_agents", agents=["mayor"])

    with pytest.raises(NotRunning, match="mayor is not running"):
        running.ask(method, agent="mayor")


def test_a_requested_restart_is_answered_by_the_next_incarnation(bench: Bench) -> None:
    running = lived(bench, "mayor")
    run = run_of(running)

    answer = running.ask("request_restart", session=SESSION, agent="mayor", run=run)

    assert answer["run"] not in ("", run)
    assert run_of(running) == answer["run"]
    assert bench.world.starts == [SESSION, SESSION]


def test_a_request_without_waiting_is_answered_before_the_replacement_is_up(bench: Bench) -> None:
    running = lived(bench, "mayor")
    run = run_of(running)
    release = threading.Event()
    bench.world.slow = {SESSION: release}

    assert running.ask("request_restart", agent="mayor", wait=False) == {
        "agent": "mayor",
        "run": run,
    }

    eventually(lambda: running.states() == {"mayor": "starting"})
    release.set()
    eventually(up(running, "mayor"))
    assert run_of(running) != run


def test_a_replacement_that_does_not_come_up_is_told(bench: Bench) -> None:
    running = lived(bench, "mayor")
    bench.world.failing = {SESSION: "has no bread"}

    with pytest.raises(GascityError, match=r"mayor did not come up again.*has no bread"):
        running.ask("request_restart", agent="mayor")


def test_one_that_has_to_drain_is_not_replaced(bench: Bench) -> None:
    running = lived(bench, "mayor")
    running.ask("drain", agents=["mayor"])

    with pytest.raises(GascityError, match="is asked to drain, so it is not replaced"):
        running.ask("request_restart", agent="mayor")
    assert RESTART_REQUESTED not in bench.world.sessions[SESSION].meta


def test_a_silent_provider_is_no_answer(bench: Bench) -> None:
    running = lived(bench, "mayor")
    bench.world.unreachable = "the backend is asleep"

    with pytest.raises(GascityError, match="asleep"):
        running.ask("drain_ack", agent="mayor")
    with pytest.raises(GascityError, match="asleep"):
        running.ask("request_restart", agent="mayor")
