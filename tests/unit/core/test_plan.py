"""The plan, case by case; `tests/properties` lets whole cities live."""

from __future__ import annotations

from dataclasses import replace

from gascity.core.actions import Drain, EventType, Start, Stop, Undrain
from gascity.core.memory import AgentMemory, Memory, hold, recycle
from gascity.core.model import AgentSpec, Desired, PoolSpec, RestartPolicy
from gascity.core.observed import (
    AGENT,
    CITY_ID,
    CONFIG_HASH,
    DRAIN,
    DRAINED,
    RESTART_REQUESTED,
    RUN,
    STARTING,
    Alive,
    Exited,
    Observed,
    Seen,
    SessionState,
    Unseen,
)
from gascity.core.plan import Plan, plan
from gascity.core.views import State

CITY = "c0ffee"
MAYOR = AgentSpec("mayor", "s-mayor", "here", "", "true", ".", "f1", drift_patience=120.0)


def session(spec: AgentSpec = MAYOR, run: str = "r1", **changes: object) -> SessionState:
    meta = {CITY_ID: CITY, AGENT: spec.name, CONFIG_HASH: spec.fingerprint, RUN: run}
    state = SessionState(spec.session, Alive(), meta=meta)
    return replace(state, **changes)  # type: ignore[arg-type]  # real fields


def with_meta(state: SessionState, **values: str) -> SessionState:
    return replace(state, meta={**state.meta, **values})


def seen_twice(*states: SessionState, **city: object) -> Plan:
    first = decided(*states, **city)  # type: ignore[arg-type]  # as `decided` takes it
    assert not any(action for action in first.actions if not isinstance(action, Start))
    return decided(*states, **city | {"memory": first.memory, "now": 1002.0})  # type: ignore[arg-type]


def decided(
    *states: SessionState,
    specs: tuple[AgentSpec, ...] = (MAYOR,),
    pools: tuple[PoolSpec, ...] = (),
    memory: Memory | None = None,
    unresolved: dict[str, str] | None = None,
    demand: dict[str, int] | None = None,
    now: float = 1000.0,
) -> Plan:
    return plan(
        Desired("c", CITY, specs, pools, unresolved or {}),
        Observed({"here": Seen({state.name: state for state in states})}, demand or {}),
        memory or Memory(),
        now,
    )


def doing(result: Plan) -> list[tuple[str, str]]:
    return [(type(action).__name__, action.session) for action in result.actions]


def only_state(result: Plan) -> State:
    (view,) = result.views
    return view.state


def test_what_is_missing_is_started() -> None:
    result = decided()

    assert doing(result) == [("Start", "s-mayor")]
    assert only_state(result) is State.STARTING


def test_what_runs_as_it_should_is_left_alone() -> None:
    result = decided(session())

    assert result.actions == ()
    assert only_state(result) is State.READY


def test_not_knowing_is_not_absence() -> None:
    result = plan(
        Desired("c", CITY, (MAYOR,)), Observed({"here": Unseen("it sleeps")}), Memory(), 1.0
    )

    assert result.actions == ()
    assert only_state(result) is State.UNKNOWN
    assert "it sleeps" in result.views[0].reason


def test_a_provider_that_was_not_asked_is_not_known_either() -> None:
    result = plan(Desired("c", CITY, (MAYOR,)), Observed(), Memory(), 1.0)

    assert result.actions == ()


def test_what_is_no_longer_declared_is_stopped() -> None:
    result = seen_twice(session(), specs=())

    assert doing(result) == [("Stop", "s-mayor")]


def test_what_cannot_be_resolved_is_left_alone() -> None:
    result = decided(session(), specs=(), unresolved={"s-mayor": "no such prompt file"})

    assert result.actions == ()
    assert only_state(result) is State.UNKNOWN


def test_a_session_without_our_mark_is_never_touched() -> None:
    stranger = replace(session(), meta={CITY_ID: "other"})

    assert decided(stranger).actions == ()
    assert only_state(decided(stranger)) is State.BLOCKED
    assert decided(stranger, specs=()).actions == ()


def test_a_first_crash_is_restarted_at_once() -> None:
    result = decided(session(life=Exited(code=1)))

    assert doing(result) == [("Start", "s-mayor")]
    assert [event.type for event in result.events] == [EventType.SESSION_CRASHED]
    assert result.memory.of("s-mayor").total_restarts == 1


def test_a_session_that_vanished_crashed() -> None:
    memory = Memory({"s-mayor": AgentMemory(run="r1", provider="here")})

    result = decided(memory=memory)

    assert doing(result) == [("Start", "s-mayor")]
    assert [event.type for event in result.events] == [EventType.SESSION_CRASHED]


def test_one_end_is_counted_once() -> None:
    first = decided(session(life=Exited(code=1)))
    again = decided(session(life=Exited(code=1)), memory=first.memory)

    assert again.events == ()


def test_a_second_crash_waits() -> None:
    memory = Memory({"s-mayor": AgentMemory(restarts=(990.0,), counted="r0")})

    result = decided(session(life=Exited(code=1)), memory=memory)

    assert result.actions == ()
    assert only_state(result) is State.BACKOFF
    assert result.wake_at is not None
    assert result.wake_at > 1000.0


def test_too_many_crashes_are_quarantined_and_a_person_is_told() -> None:
    spec = replace(MAYOR, restarts=RestartPolicy(max_restarts=2, window=100))
    memory = Memory({"s-mayor": AgentMemory(restarts=(980.0, 990.0))})

    first = decided(session(life=Exited(code=1)), specs=(spec,), memory=memory)
    second = decided(session(life=Exited(code=1)), specs=(spec,), memory=first.memory, now=1001.0)

    assert first.actions == ()
    assert [alert.key for alert in first.troubles] == ["quarantine:s-mayor"]
    assert only_state(first) is State.QUARANTINED
    assert second.actions == ()
    assert second.events == ()
    assert second.troubles == first.troubles
    assert second.wake_at == 1080.0


def test_a_new_configuration_lifts_the_quarantine() -> None:
    spec = replace(MAYOR, fingerprint="f2", restarts=RestartPolicy(max_restarts=2, window=100))
    memory = Memory(
        {"s-mayor": AgentMemory(fingerprint="f1", restarts=(980.0, 990.0), quarantined=True)}
    )

    assert doing(decided(specs=(spec,), memory=memory)) == [("Start", "s-mayor")]


def test_a_changed_configuration_restarts_without_counting() -> None:
    result = decided(session(), specs=(replace(MAYOR, fingerprint="f2"),))

    assert doing(result) == [("Stop", "s-mayor"), ("Start", "s-mayor")]
    assert result.memory.of("s-mayor").total_restarts == 0
    assert result.events[0].type is EventType.SESSION_ADOPTED


def test_drift_waits_while_somebody_is_attached_but_not_for_ever() -> None:
    spec = replace(MAYOR, fingerprint="f2")
    watched = session(attached=1)

    first = decided(watched, specs=(spec,))
    later = decided(watched, specs=(spec,), memory=first.memory, now=1121.0)

    assert first.actions == ()
    assert first.wake_at == 1120.0
    assert first.views[0].drift
    assert doing(later) == [("Stop", "s-mayor"), ("Start", "s-mayor")]


def test_what_is_suspended_is_stopped_and_stays_down() -> None:
    spec = replace(MAYOR, suspended=True)

    assert doing(decided(session(), specs=(spec,))) == [("Stop", "s-mayor")]
    assert decided(specs=(spec,)).actions == ()
    assert only_state(decided(specs=(spec,))) is State.SUSPENDED


def test_what_a_person_stopped_stays_down() -> None:
    held = hold(Memory(), "s-mayor", "by hand")

    assert doing(decided(session(), memory=held)) == [("Stop", "s-mayor")]
    assert decided(memory=held).actions == ()
    assert only_state(decided(memory=held)) is State.STOPPED


def test_a_restart_a_person_asked_for_replaces_that_incarnation_only() -> None:
    asked = recycle(Memory(), "s-mayor", "r1")

    assert doing(decided(session(), memory=asked)) == [("Stop", "s-mayor"), ("Start", "s-mayor")]
    assert decided(session(run="r2"), memory=asked).actions == ()


def test_an_agent_may_ask_for_its_own_restart_but_a_stale_flag_does_nothing() -> None:
    fresh = with_meta(session(), **{RESTART_REQUESTED: "r1"})
    stale = with_meta(session(), **{RESTART_REQUESTED: "r0"})

    assert doing(decided(fresh)) == [("Stop", "s-mayor"), ("Start", "s-mayor")]
    assert decided(stale).actions == ()


def test_a_session_whose_agent_died_inside_is_restarted() -> None:
    result = decided(session(agent_alive=False))

    assert doing(result) == [("Stop", "s-mayor"), ("Start", "s-mayor")]


MEMBERS = tuple(
    AgentSpec(f"crew-{n}", f"s-crew-{n}", "here", "", "true", ".", "f1", pool="crew")
    for n in (1, 2, 3)
)
CREW = PoolSpec("crew", 1, 3, MEMBERS, drain_timeout=60.0)


def test_a_pool_starts_as_many_as_are_wanted() -> None:
    result = decided(specs=(), pools=(CREW,), demand={"crew": 2})

    assert doing(result) == [("Start", "s-crew-1"), ("Start", "s-crew-2")]
    assert [view.name for view in result.views] == ["crew-1", "crew-2"]


def test_a_pool_that_shrinks_drains_before_it_stops() -> None:
    running = [session(spec, run=f"r{n}") for n, spec in enumerate(MEMBERS)]

    first = decided(*running, specs=(), pools=(CREW,), demand={"crew": 2})
    assert [type(action) for action in first.actions] == [Drain]

    draining = with_meta(running[2], **{DRAIN: "r2"})
    waiting = decided(
        *running[:2], draining, specs=(), pools=(CREW,), demand={"crew": 2}, memory=first.memory
    )
    assert waiting.actions == ()
    assert waiting.wake_at == 1060.0

    drained = with_meta(draining, **{DRAINED: "r2"})
    done = decided(
        *running[:2], drained, specs=(), pools=(CREW,), demand={"crew": 2}, memory=first.memory
    )
    assert doing(done) == [("Stop", "s-crew-3")]

    late = decided(
        *running[:2],
        draining,
        specs=(),
        pools=(CREW,),
        demand={"crew": 2},
        memory=first.memory,
        now=1060.0,
    )
    assert doing(late) == [("Stop", "s-crew-3")]


def test_an_acknowledgement_of_an_earlier_incarnation_stops_nobody() -> None:
    stale = with_meta(session(MEMBERS[2], run="r9"), **{DRAIN: "r9", DRAINED: "r1"})
    running = [session(spec, run=f"r{n}") for n, spec in enumerate(MEMBERS[:2])]

    result = decided(*running, stale, specs=(), pools=(CREW,), demand={"crew": 2})

    assert result.actions == ()


def test_a_draining_member_is_called_back_when_it_is_needed_again() -> None:
    draining = with_meta(session(MEMBERS[0]), **{DRAIN: "r1"})

    result = decided(draining, specs=(), pools=(CREW,), demand={"crew": 1})

    assert [type(action) for action in result.actions] == [Undrain]


def test_a_member_beyond_a_lowered_maximum_drains_too() -> None:
    smaller = replace(CREW, max=2, members=MEMBERS[:2])

    result = seen_twice(session(MEMBERS[2]), specs=(), pools=(smaller,), demand={"crew": 0})

    assert ("Drain", "s-crew-3") in doing(result)
    assert ("Stop", "s-crew-3") not in doing(result)


def test_an_agent_waits_for_what_it_depends_on() -> None:
    smith = AgentSpec("smith", "s-smith", "here", "", "true", ".", "f1", depends_on=("mayor",))

    assert doing(decided(specs=(smith, MAYOR))) == [("Start", "s-mayor")]
    assert doing(decided(session(), specs=(smith, MAYOR))) == [("Start", "s-smith")]


def test_an_agent_that_moves_to_another_provider_never_lives_twice() -> None:
    moved = replace(MAYOR, provider="there")
    observed = Observed({"here": Seen({"s-mayor": session()}), "there": Seen()})

    first = plan(Desired("c", CITY, (moved,)), observed, Memory(), 1.0)
    result = plan(Desired("c", CITY, (moved,)), observed, first.memory, 3.0)

    assert first.actions == ()
    assert [(type(a), a.provider) for a in result.actions if isinstance(a, Start | Stop)] == [
        (Stop, "here")
    ]


def test_an_agent_whose_former_provider_was_not_asked_is_not_started_elsewhere() -> None:
    memory = Memory({"s-mayor": AgentMemory(run="r1", provider="there")})

    result = decided(memory=memory)

    assert result.actions == ()
    assert only_state(result) is State.UNKNOWN


def test_a_member_that_drained_and_left_did_not_crash() -> None:
    left = with_meta(session(MEMBERS[0], life=Exited(code=0)), **{DRAIN: "r1", DRAINED: "r1"})

    result = decided(left, specs=(), pools=(CREW,), demand={"crew": 1})

    assert doing(result)[0] == ("Stop", "s-crew-1")
    assert result.events == ()  # the stop is told when it is done, once
    assert result.memory.of("s-crew-1").total_restarts == 0


def test_an_end_that_was_wanted_is_no_crash() -> None:
    held = hold(Memory({"s-mayor": AgentMemory(run="r1", provider="here")}), "s-mayor", "by hand")

    result = decided(memory=held)

    assert EventType.SESSION_CRASHED not in [event.type for event in result.events]


def test_a_stop_that_was_planned_is_no_crash_even_if_the_controller_dies_before_it_knows() -> None:
    planned = decided(session(), memory=hold(Memory(), "s-mayor", "by hand"))
    lifted = replace(planned.memory.of("s-mayor"), held="", run="r1")

    result = decided(memory=Memory({"s-mayor": lifted}))

    assert doing(result) == [("Start", "s-mayor")]
    assert result.events == ()


def test_a_pool_of_one_that_grows_lets_its_member_drain() -> None:
    alone = AgentSpec("crew", "s-crew", "here", "", "true", ".", "f1", pool="crew")

    result = seen_twice(session(alone), specs=(), pools=(CREW,), demand={"crew": 1})

    assert ("Drain", "s-crew") in doing(result)


def test_a_start_that_was_cut_off_is_done_again_without_counting() -> None:
    result = decided(with_meta(session(), **{STARTING: "r1"}))

    assert doing(result) == [("Stop", "s-mayor"), ("Start", "s-mayor")]
    assert result.memory.of("s-mayor").total_restarts == 0
    assert decided(with_meta(session(), **{STARTING: "r0"})).actions == ()


def test_what_was_only_typed_at_is_decided_on_again() -> None:
    ended = session(life=Exited(signal=9))
    typing = Observed(
        {"here": Seen({"s-mayor": ended})},
        busy={"s-mayor": "delivering a message"},
        typed_at=frozenset({"s-mayor"}),
    )
    desired = Desired("c", CITY, (MAYOR,))
    memory = Memory({"s-mayor": AgentMemory(run="r1", provider="here", fingerprint="f1")})
    before = plan(desired, typing, memory, 1000.0)

    after = replace(typing, busy={}, typed_at=frozenset())
    result = plan(desired, after, before.memory, 1000.1, before)

    assert doing(result) == [("Start", "s-mayor")]


def test_a_city_that_ends_does_not_forget_who_was_typed_at() -> None:
    typing = Observed(
        {"here": Seen({"s-mayor": session()})},
        busy={"s-mayor": "delivering a message"},
        typed_at=frozenset({"s-mayor"}),
    )
    ending = Desired("c", CITY, (MAYOR,), ending=True)
    memory = Memory({"s-mayor": AgentMemory(run="r1", provider="here", fingerprint="f1")})
    before = plan(ending, typing, memory, 1000.0)

    after = replace(typing, busy={}, typed_at=frozenset())
    result = plan(ending, after, before.memory, 1000.1, before)

    assert doing(result) == [("Stop", "s-mayor")]
