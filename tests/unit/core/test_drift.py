"""Agents whose configuration changed while they run."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gascity.core.actions import Action, Drain, EventType, Start, Stop, Undrain
from gascity.core.fingerprint import canonical
from gascity.core.memory import Memory
from gascity.core.model import AgentSpec, Desired, OnDrift, PoolSpec
from gascity.core.observed import (
    AGENT,
    CITY_ID,
    CONFIG_HASH,
    DRAIN,
    DRAINED,
    RUN,
    Alive,
    Observed,
    Seen,
    SessionState,
    Shown,
)
from gascity.core.plan import Plan, plan
from gascity.core.views import State
from gascity.screens.reading import Kind, Reading

CITY = "c0ffee"
NOW = 1000.0


def agent(name: str = "mayor", **changes: object) -> AgentSpec:
    spec = AgentSpec(name, f"s-{name}", "here", "", "true", ".", "new", drift_patience=120.0)
    return replace(spec, **changes)  # type: ignore[arg-type]  # real fields


def session(spec: AgentSpec, *, of: str = "old", **meta: str) -> SessionState:
    run = f"{of}-{spec.name}"
    marks = {CITY_ID: CITY, AGENT: spec.name, CONFIG_HASH: of, RUN: run}
    return SessionState(spec.session, Alive(), meta=marks | meta)


class Town:
    """Some agents, and what is seen of them from one tick to the next."""

    def __init__(self, *specs: AgentSpec, pool: PoolSpec | None = None, parallel: int = 3) -> None:
        self.desired = Desired("c", CITY, specs, (pool,) if pool else (), drift_parallel=parallel)
        everyone = (*specs, *(pool.members if pool else ()))
        self.sessions = {spec.session: session(spec) for spec in everyone}
        self.demand = {pool.name: pool.max} if pool else {}
        self.shown: dict[str, Shown] = {}
        self.unread: frozenset[str] = frozenset()
        self.busy: dict[str, str] = {}
        self.memory = Memory()
        self.now = NOW

    def tick(self, seconds: float = 0.0) -> Plan:
        self.now += seconds
        observed = Observed(
            {"here": Seen(self.sessions)},
            self.demand,
            self.busy,
            shown=self.shown,
            unread=self.unread,
        )
        result = plan(self.desired, observed, self.memory, self.now)
        self.memory = result.memory
        return result

    def mark(self, name: str, **meta: str) -> None:
        old = self.sessions[f"s-{name}"]
        self.sessions[f"s-{name}"] = replace(old, meta={**old.meta, **meta})

    def renew(self, spec: AgentSpec) -> None:
        self.sessions[spec.session] = session(spec, of=spec.fingerprint)


def replaced(result: Plan) -> list[str]:
    return [action.spec.name for action in result.actions if isinstance(action, Start)]


def kinds(actions: tuple[Action, ...]) -> list[type]:
    return [type(action) for action in actions]


def test_the_change_is_told_once_and_the_agent_replaced() -> None:
    town = Town(agent())

    result = town.tick()

    assert kinds(result.actions) == [Stop, Start]
    assert EventType.AGENT_DRIFTED in [event.type for event in result.events]
    assert "gc diff mayor" in next(
        e.message for e in result.events if e.type is EventType.AGENT_DRIFTED
    )


def test_which_fields_changed_is_told_where_that_is_known() -> None:
    town = Town(agent(fingerprint_extra={"kubernetes.image": "agent:2"}))
    town.mark("mayor", GC_CONFIG=canonical("true", {}, {"kubernetes.image": "agent:1"}))

    (told,) = [e.message for e in town.tick().events if e.type is EventType.AGENT_DRIFTED]

    assert told == "its configuration changed (extra.kubernetes.image)"


def test_at_most_so_many_are_replaced_at_once_and_the_next_when_one_is_up() -> None:
    specs = [agent(f"a{n}") for n in range(5)]
    town = Town(*specs, parallel=2)

    assert replaced(town.tick()) == ["a0", "a1"]
    town.busy = {"s-a0": "starting", "s-a1": "starting"}
    waiting = town.tick()
    assert replaced(waiting) == []
    assert "others are replaced first" in waiting.views[2].reason
    assert waiting.views[2].drift

    town.busy = {"s-a1": "starting"}
    town.renew(specs[0])
    assert replaced(town.tick()) == ["a2"]


def test_a_pool_is_replaced_one_member_at_a_time() -> None:
    members = tuple(agent(f"crew-{n}", pool="crew") for n in (1, 2, 3))
    town = Town(agent(), pool=PoolSpec("crew", 3, 3, members))

    assert replaced(town.tick()) == ["mayor", "crew-1"]

    del town.sessions["s-crew-1"]  # the new one does not come up
    town.renew(agent())
    for _ in range(3):
        assert "crew-2" not in replaced(town.tick(1.0))

    town.renew(members[0])
    assert replaced(town.tick()) == ["crew-2"]


def test_somebody_who_is_attached_is_waited_for_but_not_for_ever() -> None:
    town = Town(agent())
    town.sessions["s-mayor"] = replace(town.sessions["s-mayor"], attached=1)

    result = town.tick()
    assert result.actions == ()
    assert "somebody is attached" in result.views[0].reason
    assert result.views[0].next_at == result.wake_at == NOW + 120.0
    assert EventType.AGENT_DRIFTED not in [event.type for event in town.tick(1.0).events]

    assert replaced(town.tick(119.5)) == ["mayor"]


def test_an_agent_at_work_is_waited_for() -> None:
    town = Town(agent())
    working = Reading(Kind.WORKING, rule="spinner", evidence="", has_box=True)
    town.shown = {"s-mayor": Shown("old-mayor", working, since=NOW, still=NOW)}

    result = town.tick()

    assert result.actions == ()
    assert result.views[0].state is State.WORKING
    assert "it is working" in result.views[0].reason


def test_notify_tells_a_person_and_leaves_the_agent_alone() -> None:
    town = Town(agent(on_drift=OnDrift.NOTIFY))

    first = town.tick()
    assert first.actions == ()
    assert [alert.key for alert in first.troubles] == ["drift:s-mayor"]
    assert [e.type for e in first.events if e.type is EventType.AGENT_DRIFTED]

    for _ in range(3):
        later = town.tick(1000.0)
        assert later.actions == ()
        assert later.troubles == first.troubles
        assert later.views[0].drift
        assert "gc restart mayor" in later.views[0].reason


def test_a_change_that_is_taken_back_changes_nothing_and_is_told_again_next_time() -> None:
    town = Town(agent(on_drift=OnDrift.NOTIFY))
    town.tick()
    town.desired = replace(town.desired, agents=(agent(fingerprint="old"),))
    back = town.tick(1.0)
    assert not back.views[0].drift
    assert back.troubles == ()
    town.desired = replace(town.desired, agents=(agent(on_drift=OnDrift.NOTIFY),))

    assert len(town.tick(1.0).troubles) == 1


def test_drain_lets_it_finish_first() -> None:
    town = Town(agent(on_drift=OnDrift.DRAIN, drain_timeout=60.0))

    assert kinds(town.tick().actions) == [Drain]
    town.mark("mayor", **{DRAIN: "old-mayor"})
    waiting = town.tick(1.0)
    assert waiting.actions == ()
    assert waiting.views[0].state is State.DRAINING
    assert waiting.views[0].drift

    town.mark("mayor", **{DRAINED: "old-mayor"})
    assert kinds(town.tick(1.0).actions) == [Stop, Start]


def test_drain_ends_with_its_time() -> None:
    town = Town(agent(on_drift=OnDrift.DRAIN, drain_timeout=60.0))
    town.tick()
    town.mark("mayor", **{DRAIN: "old-mayor"})

    assert town.tick(59.0).actions == ()
    assert kinds(town.tick(1.5).actions) == [Stop, Start]


def test_a_drain_for_a_change_that_is_taken_back_is_taken_back() -> None:
    town = Town(agent(on_drift=OnDrift.DRAIN))
    town.tick()
    town.mark("mayor", **{DRAIN: "old-mayor"})
    town.desired = replace(town.desired, agents=(agent(fingerprint="old"),))

    assert kinds(town.tick(1.0).actions) == [Undrain]
    assert town.memory.of("s-mayor").rolling == ""


@pytest.mark.parametrize("how", list(OnDrift))
def test_whatever_the_policy_a_city_that_changed_nothing_stays_still(how: OnDrift) -> None:
    town = Town(agent(on_drift=how, fingerprint="old"))

    town.tick()

    assert town.tick(5000.0).actions == ()


def test_a_screen_that_was_not_read_yet_may_be_one_of_an_agent_at_work() -> None:
    town = Town(agent())
    town.unread = frozenset({"s-mayor"})

    first = town.tick()
    assert first.actions == ()
    assert "not read yet" in first.views[0].reason

    working = Reading(Kind.WORKING, rule="spinner", evidence="", has_box=True)
    town.unread = frozenset()
    town.shown = {"s-mayor": Shown("old-mayor", working, since=NOW, still=NOW)}
    assert town.tick(1.0).actions == ()
    town.shown = {}
    assert replaced(town.tick(1.0)) == ["mayor"]


def test_an_unread_screen_is_not_waited_for_for_ever() -> None:
    town = Town(agent())
    town.unread = frozenset({"s-mayor"})
    town.tick()

    assert replaced(town.tick(121.0)) == ["mayor"]


def test_who_is_only_to_be_told_of_its_change_takes_no_place() -> None:
    drains = [agent(f"a{n}", on_drift=OnDrift.DRAIN) for n in range(3)]
    town = Town(*drains, agent("z"), parallel=3)
    assert replaced(town.tick()) == []
    told = tuple(replace(one, on_drift=OnDrift.NOTIFY) for one in drains)
    town.desired = replace(town.desired, agents=(*told, agent("z")))

    town.tick(1.0)

    assert replaced(town.tick(1.0)) == ["z"]


def test_a_replacement_that_did_not_come_to_be_is_decided_on_anew() -> None:
    town = Town(agent())
    assert replaced(town.tick()) == ["mayor"]
    town.sessions["s-mayor"] = replace(town.sessions["s-mayor"], attached=1)

    waiting = town.tick(1.0)

    assert waiting.actions == ()
    assert "somebody is attached" in waiting.views[0].reason
    assert town.memory.of("s-mayor").counted == ""
