"""Order among agents, sessions nobody accounts for, and providers that are silent."""

from __future__ import annotations

from dataclasses import replace

from gascity.core import silence
from gascity.core.actions import Drain, EventType, Start, Stop, Undrain
from gascity.core.memory import Memory, drain, recycle, undrain
from gascity.core.model import AgentSpec, Desired, OnDrift, PoolSpec
from gascity.core.observed import (
    AGENT,
    CITY_ID,
    CONFIG_HASH,
    DRAIN,
    DRAINED,
    RUN,
    Alive,
    Observation,
    Observed,
    Seen,
    SessionState,
    Shown,
    Unseen,
)
from gascity.core.plan import Plan, plan
from gascity.core.views import State
from gascity.screens.reading import Kind, Reading

CITY = "c0ffee"
NOW = 1000.0


def agent(name: str, *needs: str, pool: str = "") -> AgentSpec:
    return AgentSpec(
        name, f"gc-c-{name}", "here", "", "true", ".", "f", depends_on=needs, pool=pool
    )


def session(name: str, **meta: str) -> SessionState:
    marks = {CITY_ID: CITY, AGENT: name, CONFIG_HASH: "f", RUN: f"r-{name}"}
    return SessionState(f"gc-c-{name}", Alive(), meta=marks | meta)


def look(desired: Desired, *sessions: SessionState, **more: object) -> Plan:
    seen: Observation = Seen({state.name: state for state in sessions})
    memory = more.pop("memory", Memory())
    now = more.pop("now", NOW)
    observed = Observed({"here": seen}, **more)  # type: ignore[arg-type]  # real fields
    return plan(desired, observed, memory, now)  # type: ignore[arg-type]  # a memory, a time


def stops(result: Plan) -> list[str]:
    return [action.agent for action in result.actions if isinstance(action, Stop)]


def starts(result: Plan) -> list[str]:
    return [action.spec.name for action in result.actions if isinstance(action, Start)]


CHAIN = Desired("c", CITY, (agent("db"), agent("api", "db"), agent("web", "api")))


def test_starts_come_in_waves() -> None:
    assert starts(look(CHAIN)) == ["db"]
    assert starts(look(CHAIN, session("db"))) == ["api"]
    assert starts(look(CHAIN, session("db"), busy={"gc-c-db": "starting"})) == []
    assert starts(look(CHAIN, session("db"), session("api"))) == ["web"]


def test_a_city_ends_in_the_reverse_order() -> None:
    ending = replace(CHAIN, ending=True)
    db, api, web = session("db"), session("api"), session("web")

    assert stops(look(ending, db, api, web)) == ["web"]
    assert stops(look(ending, db, api)) == ["api"]
    assert stops(look(ending, db, api, busy={"gc-c-api": "stopping"})) == []
    assert stops(look(ending, db)) == ["db"]
    assert look(ending).actions == ()


def test_a_pool_that_is_needed_ends_after_who_needs_it() -> None:
    crew = PoolSpec("crew", 2, 2, (agent("crew-1", pool="crew"), agent("crew-2", pool="crew")))
    ending = Desired("c", CITY, (agent("boss", "crew"),), (crew,), ending=True)

    first = look(ending, session("boss"), session("crew-1"), session("crew-2"))

    assert stops(first) == ["boss"]
    assert stops(look(ending, session("crew-1"), session("crew-2"))) == ["crew-1", "crew-2"]


def test_a_city_that_ends_has_no_patience_with_orphans_nor_with_what_it_cannot_resolve() -> None:
    ending = Desired("c", CITY, unresolved={"gc-c-odd": "no prompt"}, ending=True)

    assert sorted(stops(look(ending, session("old"), session("odd")))) == ["odd", "old"]


def test_a_stranger_is_told_of_once_listed_and_left_alone_even_at_the_end() -> None:
    stranger = SessionState("gc-c-guest", Alive(), meta={CITY_ID: "another"})
    other = SessionState("notes", Alive())
    desired = Desired("c", CITY)

    first = look(desired, stranger, other)
    again = look(desired, stranger, other, memory=first.memory)

    assert first.foreign == again.foreign == (("here", "gc-c-guest"),)
    assert [event.type for event in first.events] == [EventType.SESSION_FOREIGN]
    assert (again.events, first.actions, again.actions) == ((), (), ())
    assert look(replace(desired, ending=True), stranger, other).actions == ()
    left = look(desired, memory=again.memory)
    assert look(desired, stranger, memory=left.memory).events


def test_an_orphan_that_is_declared_again_was_never_in_danger() -> None:
    nobody = Desired("c", CITY)
    declared = Desired("c", CITY, (agent("a"),))
    first = look(nobody, session("a"))
    assert first.actions == ()
    assert first.wake_at is not None

    back = look(declared, session("a"), memory=first.memory, now=NOW + 0.5)
    assert back.memory.of("gc-c-a").orphan_since is None

    again = look(nobody, session("a"), memory=back.memory, now=NOW + 100)
    assert again.actions == ()
    assert stops(look(nobody, session("a"), memory=again.memory, now=NOW + 102)) == ["a"]


def test_a_silent_provider_is_told_of_after_a_while() -> None:
    desired = Desired("c", CITY, (agent("a"),))

    def silent(memory: Memory, now: float) -> Plan:
        return plan(desired, Observed({"here": Unseen("no answer")}), memory, now)

    first = silent(Memory(), NOW)
    assert first.troubles == ()
    assert "here" in first.blind  # an earlier controller may have told of it
    assert first.wake_at == NOW + silence.PATIENCE
    late = silent(first.memory, NOW + silence.PATIENCE)
    assert [alert.key for alert in late.troubles] == ["provider:here"]
    assert silent(late.memory, NOW + 1000).troubles == late.troubles

    back = look(desired, session("a"), memory=late.memory, now=NOW + 1001)
    assert back.memory.silent == {}
    assert back.troubles == ()


def test_a_provider_that_was_not_asked_yet_may_still_be_silent() -> None:
    desired = Desired("c", CITY, (agent("a"), replace(agent("b"), provider="there")))

    first = look(desired, session("a"))

    assert "there" in first.blind  # as for one that is silent for the first time
    assert "here" not in first.blind


def test_a_manual_drain_sticks_until_it_is_taken_back() -> None:
    desired = Desired("c", CITY, (agent("a"),))
    memory = drain(Memory(), "gc-c-a")

    first = look(desired, session("a"), memory=memory)
    assert [type(action) for action in first.actions] == [Drain]
    asked = session("a", **{DRAIN: "r-a"})
    still = look(desired, asked, memory=first.memory, now=NOW + 10)
    assert still.actions == ()
    assert still.views[0].state is State.DRAINING
    done = session("a", **{DRAIN: "r-a", DRAINED: "r-a"})
    assert stops(look(desired, done, memory=still.memory, now=NOW + 11)) == ["a"]
    down = look(desired, memory=still.memory, now=NOW + 12)
    assert down.actions == ()
    assert "gc undrain" in down.views[0].reason

    assert starts(look(desired, memory=undrain(down.memory, "gc-c-a"), now=NOW + 13)) == ["a"]
    called_back = look(desired, asked, memory=undrain(still.memory, "gc-c-a"), now=NOW + 13)
    assert [type(action) for action in called_back.actions] == [Undrain]


def test_a_pool_lets_go_of_a_member_that_does_nothing_before_one_at_work() -> None:
    members = tuple(agent(f"crew-{n}", pool="crew") for n in (1, 2, 3))
    desired = Desired("c", CITY, pools=(PoolSpec("crew", 0, 3, members),))
    working = Reading(Kind.WORKING, rule="spinner", evidence="", has_box=True)
    screens = {f"gc-c-crew-{n}": Shown(f"r-crew-{n}", working, NOW, NOW) for n in (2, 3)}

    result = look(
        desired, *(session(f"crew-{n}") for n in (1, 2, 3)), demand={"crew": 2}, shown=screens
    )

    assert [a.agent for a in result.actions if isinstance(a, Drain)] == ["crew-1"]


def moving(state: SessionState, memory: Memory, now: float, spec: AgentSpec) -> Plan:
    desired = Desired("c", CITY, (spec,), drift_parallel=1)
    seen = {"here": Seen({state.name: state}), "there": Seen()}
    return plan(desired, Observed(seen), memory, now)


def test_who_moves_to_another_provider_is_treated_as_gently_as_who_changed() -> None:
    spec = replace(agent("a"), provider="there", drift_patience=60.0)
    watched = replace(session("a"), attached=1)

    first = moving(watched, Memory(), NOW, spec)
    later = moving(watched, first.memory, NOW + 30, spec)
    assert (first.actions, later.actions) == ((), ())
    assert any("somebody is attached" in view.reason for view in later.views)

    done = moving(watched, later.memory, NOW + 61, spec)
    assert stops(done) == ["a"]
    assert "moves to there" in next(a.why for a in done.actions if isinstance(a, Stop))


def test_who_is_only_to_be_told_does_not_move_until_a_person_wants_it() -> None:
    spec = replace(agent("a"), provider="there", on_drift=OnDrift.NOTIFY)
    first = moving(session("a"), Memory(), NOW, spec)
    later = moving(session("a"), first.memory, NOW + 10_000, spec)
    assert later.actions == ()

    asked = recycle(later.memory, "gc-c-a", "r-a")
    assert stops(moving(session("a"), asked, NOW + 10_001, spec)) == ["a"]


def test_who_moves_may_drain_first() -> None:
    spec = replace(agent("a"), provider="there", on_drift=OnDrift.DRAIN)
    first = moving(session("a"), Memory(), NOW, spec)

    later = moving(session("a"), first.memory, NOW + 2, spec)

    assert [type(action) for action in later.actions] == [Drain]


def test_they_move_a_few_at_a_time() -> None:
    specs = tuple(replace(agent(name), provider="there") for name in ("a", "b", "c"))
    desired = Desired("c", CITY, specs, drift_parallel=1)
    seen = {"here": Seen({s.name: s for s in map(session, "abc")}), "there": Seen()}
    first = plan(desired, Observed(seen), Memory(), NOW)

    later = plan(desired, Observed(seen), first.memory, NOW + 2)

    assert stops(later) == ["a"]


def test_somebody_who_is_attached_to_an_orphan_is_waited_for() -> None:
    watched = replace(session("a"), attached=1)
    nobody = Desired("c", CITY)
    first = look(nobody, watched)

    assert look(nobody, watched, memory=first.memory, now=NOW + 100).actions == ()
    assert stops(look(nobody, watched, memory=first.memory, now=NOW + 121)) == ["a"]


def test_a_stop_says_which_incarnation_ends() -> None:
    (stop,) = look(replace(CHAIN, ending=True, agents=(agent("db"),)), session("db")).actions

    assert isinstance(stop, Stop)
    assert stop.run == "r-db"
