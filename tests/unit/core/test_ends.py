"""Ends that are crashes and ends that are not, one by one and many at once."""

from __future__ import annotations

from dataclasses import replace

from gascity.core import brake
from gascity.core.actions import EventType, Start
from gascity.core.decide import decide
from gascity.core.decision import Decision, Wanted
from gascity.core.memory import AgentMemory, Memory, recycle, reset
from gascity.core.model import AgentSpec, Desired, RestartPolicy
from gascity.core.observed import (
    AGENT,
    CITY_ID,
    CONFIG_HASH,
    RESTART_REQUESTED,
    RUN,
    Alive,
    Exited,
    Observed,
    Seen,
    SessionState,
    Shown,
)
from gascity.core.plan import Plan, plan
from gascity.core.views import State
from gascity.screens.reading import Kind, Reading

CITY = "c0ffee"
NOW = 10_000.0
POLICY = RestartPolicy(max_restarts=3, window=600.0, first_delay=1.0, longest_delay=300.0)
SPEC = AgentSpec("a", "s-a", "here", "claude", "claude", "/w", "f", restarts=POLICY)
LIVING = SessionState("s-a", Alive(), meta={RUN: "r1", CITY_ID: CITY, CONFIG_HASH: "f", AGENT: "a"})
ENDED = replace(LIVING, life=Exited(code=1))
KNOWN = AgentMemory(run="r1", provider="here", fingerprint="f")


def look(
    state: SessionState | None,
    memory: AgentMemory,
    *,
    now: float = NOW,
    screen: Shown | None = None,
) -> Decision:
    return decide(SPEC, Wanted(), state, memory, city_id=CITY, now=now, shown=screen)


def shown(kind: Kind, until: float | None = None) -> Shown:
    return Shown("r1", Reading(kind, rule="r", evidence="a row", until=until), NOW, NOW)


def starts(decision: Decision | Plan) -> bool:
    return any(isinstance(action, Start) for action in decision.actions)


def test_a_limit_that_ends_the_program_is_no_crash_and_is_waited_for() -> None:
    limited = look(LIVING, KNOWN, screen=shown(Kind.LIMITED, until=NOW + 3600))

    ended = look(ENDED, limited.memory, now=NOW + 5)

    assert [event.type for event in ended.events] == [EventType.SESSION_STOPPED]
    assert not starts(ended)
    assert (ended.view.state, ended.wake_at) == (State.LIMITED, NOW + 3600)
    back = look(ENDED, ended.memory, now=NOW + 3600)
    assert starts(back)
    assert (back.memory.restarts, back.memory.total_restarts) == ((), 0)


def test_a_login_that_is_over_is_no_crash_and_is_tried_again_after_a_while() -> None:
    out = look(LIVING, KNOWN, screen=shown(Kind.AUTH))

    ended = look(None, out.memory, now=NOW + 5)

    assert not starts(ended)
    assert (ended.view.state, ended.wake_at) == (State.AUTH, NOW + 5 + 300.0)
    assert starts(look(None, ended.memory, now=NOW + 306))


def test_a_limit_that_passed_before_the_end_excuses_nothing() -> None:
    limited = look(LIVING, KNOWN, screen=shown(Kind.LIMITED, until=NOW + 3600))
    ready = look(LIVING, limited.memory, now=NOW + 3700, screen=shown(Kind.READY))

    ended = look(ENDED, ready.memory, now=NOW + 3800)

    assert [event.type for event in ended.events] == [EventType.SESSION_CRASHED]


def test_an_excuse_is_of_one_incarnation_only() -> None:
    limited = look(LIVING, KNOWN, screen=shown(Kind.LIMITED, until=NOW + 3600))
    other = replace(LIVING, meta={**LIVING.meta, RUN: "r2"})
    adopted = look(other, limited.memory, now=NOW + 1)

    ended = look(replace(other, life=Exited(code=1)), adopted.memory, now=NOW + 2)

    assert EventType.SESSION_CRASHED in [event.type for event in ended.events]


def test_a_person_can_end_the_wait() -> None:
    limited = look(LIVING, KNOWN, screen=shown(Kind.LIMITED, until=NOW + 3600))
    ended = look(ENDED, limited.memory, now=NOW + 5)

    freed = reset(Memory({"s-a": ended.memory}), "s-a").of("s-a")

    assert starts(look(ENDED, freed, now=NOW + 6))


def test_what_the_agent_asks_for_is_counted_apart_and_once() -> None:
    asks = replace(LIVING, meta={**LIVING.meta, RESTART_REQUESTED: "r1"})

    first = look(asks, KNOWN)
    again = look(asks, first.memory)

    assert starts(first)
    assert (again.memory.total_requests, again.memory.total_restarts) == (1, 0)


def test_what_a_person_asks_for_is_counted_with_the_wishes() -> None:
    memory = recycle(Memory({"s-a": KNOWN}), "s-a", "r1").of("s-a")

    assert memory.total_requests == 1
    assert starts(look(LIVING, memory))


class Town:
    """Many agents that can die."""

    def __init__(self, count: int, *, brakes: bool = True) -> None:
        self.specs = [
            AgentSpec(f"a{n}", f"s-a{n}", "here", "", "true", ".", "f", restarts=POLICY)
            for n in range(count)
        ]
        self.desired = Desired("c", CITY, tuple(self.specs), brakes=brakes)
        self.sessions: dict[str, SessionState] = {}
        self.starting: set[str] = set()
        self.memory = Memory()
        self.now = NOW
        for spec in self.specs:
            self.up(spec, "r0")
        self.tick()

    def up(self, spec: AgentSpec, run: str) -> None:
        meta = {CITY_ID: CITY, AGENT: spec.name, CONFIG_HASH: "f", RUN: f"{run}-{spec.name}"}
        self.sessions[spec.session] = SessionState(spec.session, Alive(), meta=meta)
        self.starting.discard(spec.session)

    def tick(self, seconds: float = 0.0) -> Plan:
        self.now += seconds
        observed = Observed(
            {"here": Seen(self.sessions)},
            busy=dict.fromkeys(self.starting, "starting"),
            starting=frozenset(self.starting),
        )
        result = plan(self.desired, observed, self.memory, self.now)
        self.memory = result.memory
        self.starting |= {a.session for a in result.actions if isinstance(a, Start)}
        return result

    def started(self, result: Plan) -> list[AgentSpec]:
        return [action.spec for action in result.actions if isinstance(action, Start)]


def test_many_deaths_at_once_are_told_once_and_come_back_in_stages() -> None:
    town = Town(20)
    town.sessions.clear()

    first = town.tick()
    assert len(town.started(first)) == brake.AT_ONCE
    assert [alert.key for alert in first.troubles] == ["mass-death"]
    assert [e.type for e in first.events].count(EventType.CITY_BRAKED) == 1
    assert "a few at a time" in first.views[10].reason

    back = 0
    for _ in range(40):
        for spec in town.specs:
            if spec.session in town.starting:
                town.up(spec, "r1")
                back += 1
                break
        result = town.tick(0.1)
        assert len(town.starting) <= brake.AT_ONCE
        assert EventType.CITY_BRAKED not in [event.type for event in result.events]
    assert back == 20
    assert all(memory.total_restarts == 1 for memory in town.memory.agents.values())


def test_deaths_that_are_spread_over_a_moment_count_together() -> None:
    town = Town(10)
    for n in range(4):
        del town.sessions[f"s-a{n}"]
    few = town.tick()
    assert len(town.started(few)) == 4
    for spec in town.specs[:4]:
        town.up(spec, "r1")
    town.tick(2.0)
    del town.sessions["s-a9"]

    result = town.tick(2.0)

    assert town.memory.braked
    assert EventType.CITY_BRAKED in [event.type for event in result.events]


def test_the_brake_goes_off_by_itself_and_can_be_told_again() -> None:
    town = Town(8)
    town.sessions.clear()
    town.tick()
    for _ in range(2):
        for spec in town.specs:
            if spec.session in town.starting:
                town.up(spec, "r1")
        town.tick(0.5)
    town.tick(30.0)
    assert not town.memory.braked

    town.sessions.clear()
    assert EventType.CITY_BRAKED in [event.type for event in town.tick(900.0).events]


def test_a_few_crashes_or_a_small_city_are_no_mass_death() -> None:
    town = Town(20)
    for n in range(9):
        del town.sessions[f"s-a{n}"]
    assert len(town.started(town.tick())) == 9

    small = Town(3)
    small.sessions.clear()
    assert len(small.started(small.tick())) == 3


def test_the_brake_can_be_left_out() -> None:
    town = Town(20, brakes=False)
    town.sessions.clear()

    assert len(town.started(town.tick())) == 20


def test_a_limit_that_is_over_excuses_no_crash_loop() -> None:
    """Its words stay on the screen of a conversation that goes on."""
    memory, starts_made, now = KNOWN, 0, NOW
    for number in range(20):
        run = f"r{number}"
        state = replace(LIVING, meta={**LIVING.meta, RUN: run})
        memory = replace(memory, run=run)
        limit = replace(shown(Kind.LIMITED, until=NOW - 60), run=run)
        memory = look(state, memory, now=now, screen=limit).memory
        now += 1
        decision = look(replace(state, life=Exited(code=1)), memory, now=now)
        memory = decision.memory
        if not starts(decision):
            break
        starts_made += 1
    assert starts_made <= POLICY.max_restarts


def test_a_brake_that_is_on_stays_on_until_everybody_was_started() -> None:
    town = Town(20)
    town.sessions.clear()
    town.tick()

    for _ in range(5):
        late = town.tick(15.0)
        assert len(town.starting) == brake.AT_ONCE
        assert EventType.CITY_BRAKED not in [event.type for event in late.events]
    assert late.wake_at is not None


def test_ends_that_are_no_crashes_are_no_mass_death() -> None:
    town = Town(6)
    limits = {
        spec.session: Shown(
            f"r0-{spec.name}",
            Reading(Kind.LIMITED, rule="r", evidence="", until=NOW + 3600),
            NOW,
            NOW,
        )
        for spec in town.specs
    }
    observed = Observed({"here": Seen(town.sessions)}, shown=limits)
    town.memory = plan(town.desired, observed, town.memory, NOW).memory
    town.sessions = {
        name: replace(state, life=Exited(code=1)) for name, state in town.sessions.items()
    }

    result = town.tick(1.0)

    assert not town.memory.braked
    assert "mass-death" not in [alert.key for alert in result.troubles]


def test_a_crash_after_an_end_that_did_not_come_to_be_is_counted() -> None:
    planned = look(replace(LIVING, meta={**LIVING.meta, RESTART_REQUESTED: "r1"}), KNOWN)
    assert planned.memory.counted == "r1"
    lives_on = look(LIVING, planned.memory, now=NOW + 10)

    ended = look(ENDED, lives_on.memory, now=NOW + 20)

    assert EventType.SESSION_CRASHED in [event.type for event in ended.events]
