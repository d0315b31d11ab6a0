"""Sessions that exist and are not up: pending, lost, and ending."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gascity.core.actions import EventType, Start, Stop
from gascity.core.alerts import Severity
from gascity.core.away import LOST_AFTER, PENDING_AFTER
from gascity.core.memory import (
    AgentMemory,
    Memory,
    after_failed_start,
    after_pending,
    after_start,
    after_stop,
    drain,
    hold,
    recycle,
)
from gascity.core.model import AgentSpec, Desired, OnDrift, PoolSpec, RestartPolicy
from gascity.core.nudges import QueuedNudge
from gascity.core.observed import (
    AGENT,
    CITY_ID,
    CONFIG_HASH,
    RESTART_REQUESTED,
    RUN,
    STARTING,
    Alive,
    Exited,
    Observed,
    Seen,
    SessionState,
    Shown,
    Standing,
)
from gascity.core.plan import Plan, plan
from gascity.core.views import State
from gascity.screens.reading import Kind, Reading

CITY = "c0ffee"
NOW = 1000.0
POLICY = RestartPolicy(max_restarts=3, window=60.0, first_delay=1.0)
MAYOR = AgentSpec("mayor", "s-mayor", "there", "", "true", ".", "f1", restarts=POLICY)
FULL = "unschedulable: 0/3 nodes are available: 3 Insufficient memory"
AWAY = (Standing.PENDING, Standing.LOST, Standing.ENDING)


def session(
    standing: Standing = Standing.PENDING,
    spec: AgentSpec = MAYOR,
    run: str = "r1",
    why: str = FULL,
    **changes: object,
) -> SessionState:
    meta = {CITY_ID: CITY, AGENT: spec.name, CONFIG_HASH: spec.fingerprint, RUN: run}
    state = SessionState(spec.session, Alive(), meta=meta, standing=standing, condition=why)
    return replace(state, **changes)  # type: ignore[arg-type]  # real fields


def decided(
    *states: SessionState,
    specs: tuple[AgentSpec, ...] = (MAYOR,),
    pools: tuple[PoolSpec, ...] = (),
    memory: Memory | None = None,
    now: float = NOW,
    ending: bool = False,
    **observed: object,
) -> Plan:
    seen = Observed({"there": Seen({state.name: state for state in states})})
    return plan(
        Desired("c", CITY, specs, pools, ending=ending),
        replace(seen, **observed),  # type: ignore[arg-type]  # real fields
        memory or Memory(),
        now,
    )


def doing(result: Plan) -> list[str]:
    return [type(action).__name__ for action in result.actions]


def lives(**changes: object) -> Memory:
    fresh = AgentMemory(run="r1", provider="there", fingerprint="f1")
    return Memory({"s-mayor": replace(fresh, **changes)})  # type: ignore[arg-type]  # real fields


# --- pending


def test_a_pending_session_that_nobody_is_busy_with_is_started_where_it_stopped() -> None:
    result = decided(session())

    (start,) = result.actions
    assert isinstance(start, Start)
    assert start.run == "r1"
    assert result.views[0].state is State.PENDING
    assert result.views[0].reason == FULL
    assert result.events == ()


def test_going_on_with_a_pending_session_counts_nothing() -> None:
    result = decided(session(), memory=lives())

    known = result.memory.of("s-mayor")
    assert known.restarts == ()
    assert known.failures == ()
    assert known.total_restarts == 0
    assert known.ended_at is None


def test_a_start_that_waits_for_a_machine_is_shown_as_pending() -> None:
    result = decided(session(), busy={"s-mayor": "starting: wanted by the city"})

    assert result.actions == ()
    assert result.views[0].state is State.PENDING
    assert result.views[0].reason == FULL


def test_a_start_that_pends_without_a_session_is_pending_too() -> None:
    memory = after_pending(
        Memory(), "s-mayor", run="r1", provider="there", why="exceeded quota", now=NOW
    )

    tried = decided(memory=memory, busy={"s-mayor": "the last try failed"})
    then = decided(memory=tried.memory)

    assert tried.views[0].state is State.PENDING
    assert tried.views[0].reason == "exceeded quota"
    (start,) = then.actions
    assert isinstance(start, Start)
    assert start.run == "r1"
    assert then.views[0].state is State.PENDING
    assert then.events == ()


def test_a_pending_session_that_vanishes_did_not_crash() -> None:
    before = decided(session())
    result = decided(memory=before.memory, now=NOW + 1)

    assert doing(result) == ["Start"]
    assert result.events == ()
    assert result.memory.of("s-mayor").total_restarts == 0


def test_a_pending_session_that_ends_has_crashed_for_its_reason() -> None:
    before = decided(session())
    evicted = session(Standing.UP, life=Exited(reason="evicted: the node was low on memory"))
    result = decided(evicted, memory=before.memory, now=NOW + 1)

    (crashed,) = result.events
    assert crashed.type is EventType.SESSION_CRASHED
    assert crashed.message == "evicted: the node was low on memory"


def test_a_session_that_comes_up_after_it_pended_is_not_said_to_have_run_before() -> None:
    pending = decided(session())
    result = decided(session(Standing.UP, why=""), memory=pending.memory, now=NOW + 1)

    assert result.events == ()
    assert result.views[0].state is State.READY
    assert result.memory.of("s-mayor").away == ""


@pytest.mark.parametrize("on_drift", OnDrift)
def test_a_pending_session_that_drifted_is_replaced_at_once(on_drift: OnDrift) -> None:
    spec = replace(MAYOR, fingerprint="f2", on_drift=on_drift, drift_patience=120.0)
    result = decided(session(), specs=(spec,), memory=lives())

    assert doing(result) == ["Stop", "Start"]
    start = result.actions[1]
    assert isinstance(start, Start)
    assert start.run == ""


@pytest.mark.parametrize(
    ("spec", "memory"),
    [
        (replace(MAYOR, suspended=True), lives()),
        (MAYOR, hold(lives(), "s-mayor", "stopped with `gc stop`")),
        (MAYOR, drain(lives(), "s-mayor")),
    ],
)
def test_a_pending_session_that_is_not_wanted_is_stopped_at_once(
    spec: AgentSpec, memory: Memory
) -> None:
    assert doing(decided(session(), specs=(spec,), memory=memory)) == ["Stop"]


@pytest.mark.parametrize("is_wanted", [True, False])
def test_a_start_that_pends_does_not_delay_its_stop(is_wanted: bool) -> None:
    spec = replace(MAYOR, fingerprint="f2") if is_wanted else replace(MAYOR, suspended=True)
    busy = {"s-mayor": "starting: wanted by the city"}
    yielding = frozenset({"s-mayor"})

    waits = decided(session(), specs=(spec,), busy=busy)
    gives_way = decided(session(), specs=(spec,), busy=busy, yielding=yielding)

    assert waits.actions == ()
    assert doing(gives_way) == (["Stop", "Start"] if is_wanted else ["Stop"])


def test_a_start_that_pends_and_is_wanted_goes_on() -> None:
    busy, yielding = {"s-mayor": "starting: wanted by the city"}, frozenset({"s-mayor"})

    assert decided(session(), busy=busy, yielding=yielding).actions == ()


def test_a_pending_session_of_nobody_is_stopped() -> None:
    first = decided(session(), specs=())
    result = decided(session(), specs=(), memory=first.memory, now=NOW + 2)

    assert doing(result) == ["Stop"]


def test_an_agent_that_moves_away_from_a_pending_session_does_not_wait() -> None:
    spec = replace(MAYOR, provider="here", on_drift=OnDrift.NOTIFY)
    seen = {"there": Seen({"s-mayor": session()}), "here": Seen()}
    first = decided(session(), specs=(spec,), providers=seen)
    result = decided(session(), specs=(spec,), memory=first.memory, now=NOW + 2, providers=seen)

    assert doing(result) == ["Stop"]


def test_who_depends_on_a_pending_agent_waits() -> None:
    clerk = replace(MAYOR, name="clerk", session="s-clerk", depends_on=("mayor",))
    result = decided(session(), specs=(MAYOR, clerk))

    assert [action.session for action in result.actions if isinstance(action, Start)] == ["s-mayor"]


def test_a_pending_agent_waits_for_what_it_depends_on() -> None:
    clerk = replace(MAYOR, name="clerk", session="s-clerk", depends_on=("mayor",))
    result = decided(session(spec=clerk), specs=(MAYOR, clerk))

    assert [action.session for action in result.actions if isinstance(action, Start)] == ["s-mayor"]
    assert result.views[1].state is State.PENDING
    assert result.views[1].reason == "waits for mayor"


def test_a_pool_is_not_rolled_on_while_its_new_member_is_pending() -> None:
    one, two = (
        replace(MAYOR, name=f"w-{n}", session=f"s-w-{n}", pool="w", fingerprint="f2")
        for n in (1, 2)
    )
    old = replace(two, fingerprint="f1")
    memory = Memory({"s-w-1": AgentMemory(run="r1", provider="there", rolling="r0")}, {"w": 2})
    result = decided(
        session(spec=one),
        session(Standing.UP, spec=old, run="r2"),
        specs=(),
        pools=(PoolSpec("w", 2, 2, (one, two)),),
        memory=memory,
    )

    assert [type(action).__name__ for action in result.actions] == ["Start"]


def test_a_pool_that_becomes_smaller_lets_a_pending_member_go_first() -> None:
    one, two = (replace(MAYOR, name=f"w-{n}", session=f"s-w-{n}", pool="w") for n in (1, 2))
    result = decided(
        session(spec=one),
        session(Standing.UP, spec=two, run="r2"),
        specs=(),
        pools=(PoolSpec("w", 1, 2, (one, two)),),
    )

    (stop,) = result.actions
    assert isinstance(stop, Stop)
    assert stop.session == "s-w-1"


def test_a_session_that_pends_for_long_is_a_trouble() -> None:
    first = decided(session())
    early = decided(session(), memory=first.memory, now=NOW + PENDING_AFTER - 1)
    late = decided(session(), memory=early.memory, now=NOW + PENDING_AFTER)
    busy = decided(
        session(), memory=early.memory, now=NOW + PENDING_AFTER, busy={"s-mayor": "starting"}
    )

    assert first.troubles == early.troubles == ()
    assert "s-mayor" in early.blind
    assert first.wake_at == NOW + PENDING_AFTER
    for result in (late, busy):
        (alert,) = result.troubles
        assert alert.key == "pending:s-mayor"
        assert alert.severity is Severity.WARNING
        assert FULL in alert.text


def test_a_pending_session_that_came_up_is_no_trouble_any_more() -> None:
    before = decided(session())
    result = decided(session(Standing.UP), memory=before.memory, now=NOW + 100)

    assert result.troubles == ()
    assert result.blind == frozenset()


# --- lost


def test_a_lost_session_is_left_alone_and_told_of_after_a_moment() -> None:
    why = "node-3 does not answer"
    first = decided(session(Standing.LOST, why=why), memory=lives())
    later = decided(session(Standing.LOST, why=why), memory=first.memory, now=NOW + LOST_AFTER)

    assert first.actions == later.actions == ()
    assert first.events == later.events == ()
    assert later.views[0].state is State.LOST
    assert later.views[0].reason == why
    assert first.troubles == ()
    assert first.wake_at == NOW + LOST_AFTER
    (alert,) = later.troubles
    assert alert.key == "lost:s-mayor"
    assert why in alert.text


@pytest.mark.parametrize(
    "spec",
    [replace(MAYOR, fingerprint="f2"), replace(MAYOR, idle_timeout=1.0)],
)
def test_nothing_but_a_person_ends_a_lost_session(spec: AgentSpec) -> None:
    state = session(Standing.LOST, last_activity=0.0, created=0.0)
    asks = replace(state, meta={**state.meta, RESTART_REQUESTED: "r1", STARTING: "r1"})

    assert decided(asks, specs=(spec,), memory=lives()).actions == ()


def test_a_lost_member_that_its_pool_does_not_need_is_left_alone() -> None:
    one = replace(MAYOR, pool="w")
    result = decided(
        session(Standing.LOST), specs=(), pools=(PoolSpec("w", 0, 1, (one,)),), memory=lives()
    )

    assert result.actions == ()
    assert result.views[0].state is State.LOST


def test_a_lost_session_is_not_left_by_an_agent_that_moves() -> None:
    spec = replace(MAYOR, provider="here")
    seen = {"there": Seen({"s-mayor": session(Standing.LOST)}), "here": Seen()}
    first = decided(specs=(spec,), memory=lives(), providers=seen)
    result = decided(specs=(spec,), memory=first.memory, now=NOW + 500, providers=seen)

    assert result.actions == ()


@pytest.mark.parametrize(
    ("memory", "wanted"),
    [
        (hold(lives(), "s-mayor", "stopped with `gc stop`"), ["Stop"]),
        (recycle(lives(), "s-mayor", "r1"), ["Stop", "Start"]),
    ],
)
def test_a_person_may_give_a_lost_session_up(memory: Memory, wanted: list[str]) -> None:
    assert doing(decided(session(Standing.LOST), memory=memory)) == wanted


def test_a_lost_session_that_answers_again_is_as_it_was() -> None:
    lost = decided(session(Standing.LOST), memory=lives())
    result = decided(session(Standing.UP), memory=lost.memory, now=NOW + 1)

    assert result.actions == ()
    assert result.events == ()
    assert result.views[0].state is State.READY


# --- ending


def test_an_ending_session_is_left_alone_until_it_is_gone() -> None:
    result = decided(session(Standing.ENDING, why="deleted by the cluster"), memory=lives())

    assert result.actions == ()
    assert result.events == ()
    assert result.views[0].state is State.ENDING
    assert result.views[0].reason == "deleted by the cluster"


def test_one_that_ended_is_restarted_like_one_that_vanished() -> None:
    ending = decided(session(Standing.ENDING, why="deleted by the cluster"), memory=lives())
    result = decided(memory=ending.memory, now=NOW + 5)

    (crashed,) = result.events
    assert crashed.type is EventType.SESSION_CRASHED
    assert crashed.message == "the session is gone: deleted by the cluster"
    assert doing(result) == ["Start"]
    assert result.memory.of("s-mayor").total_restarts == 1


def test_the_end_of_a_city_stops_what_is_away() -> None:
    for standing in AWAY:
        assert doing(decided(session(standing), memory=lives(), ending=True)) == ["Stop"]


# --- all three


@pytest.mark.parametrize("standing", AWAY)
def test_nobody_types_at_what_is_away(standing: Standing) -> None:
    reading = Reading(Kind.DIALOG, rule="trust", has_box=True)
    shown = {"s-mayor": Shown("r1", reading, since=0.0, still=0.0)}
    nudge = QueuedNudge(1, "mayor", "s-mayor", "hello", at=0.0, expires_at=9e9)
    result = decided(session(standing), memory=lives(), shown=shown, queued={"s-mayor": nudge})

    assert all(isinstance(action, Start) for action in result.actions)
    assert not any("dialog" in alert.key for alert in result.troubles)


@pytest.mark.parametrize("standing", AWAY)
def test_what_is_away_does_not_count_as_dead(standing: Standing) -> None:
    result = decided(session(standing), memory=lives())

    assert result.memory.of("s-mayor").run == "r1"
    assert result.memory.of("s-mayor").crashed_at is None


@pytest.mark.parametrize("standing", AWAY)
def test_another_city_s_session_stays_another_s(standing: Standing) -> None:
    state = session(standing)
    result = decided(replace(state, meta={**state.meta, CITY_ID: "other"}))

    assert result.actions == ()
    assert result.views[0].state is State.BLOCKED


# --- what starts leave in the memory


def test_what_a_start_waits_for_is_remembered_until_it_is_over() -> None:
    def pends(memory: Memory, now: float) -> Memory:
        return after_pending(memory, "s", run="r1", provider="there", why=FULL, now=now)

    waits = pends(pends(Memory(), 10.0), 20.0)

    assert waits.of("s").waits == FULL
    assert waits.of("s").away_since == 10.0
    assert waits.of("s").failures == ()
    for after in (
        after_start(waits, "s", run="r1", provider="there"),
        after_failed_start(waits, "s", now=30.0, why="it is broken"),
        after_stop(waits, "s"),
    ):
        assert (after.of("s").waits, after.of("s").away) == ("", "")
