"""Random lives of a city through `plan`: crashes, outages, edits, pool changes, clock jumps.

A pretend world carries the actions out. What must never happen is asserted while it lives; what
must happen in the end is asserted by `a_quiet_city_converges_and_stays_still`.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Collection
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    rule,
    run_state_machine_as_test,
)
from tests.properties.accounts import assert_explained

from gascity.core import brake
from gascity.core.actions import Action, Dismiss, Drain, Nudge, Remind, Start, Stop, Undrain
from gascity.core.case import Scene
from gascity.core.drift import CHANGED
from gascity.core.memory import (
    Memory,
    after_failed_start,
    after_pending,
    after_start,
    after_stop,
    drain,
    hold,
    release,
    reset,
    undrain,
)
from gascity.core.model import AgentSpec, Desired, OnDrift, OnIdle, PoolSpec, RestartPolicy
from gascity.core.observed import (
    AGENT,
    CITY_ID,
    CONFIG_HASH,
    DRAIN,
    DRAINED,
    RESTART_REQUESTED,
    RUN,
    Alive,
    Exited,
    Observation,
    Observed,
    Seen,
    SessionState,
    Shown,
    Standing,
    Unseen,
)
from gascity.core.plan import Plan, plan
from gascity.screens.reading import Kind, Reading

CITY = "c0ffee"
POLICY = RestartPolicy(max_restarts=3, window=60.0)
NAMES = ("mayor", "scout", "smith")
PROVIDERS = ("here", "there")
PARALLEL = 2
KINDS = (Kind.READY, Kind.WORKING, Kind.WAITING, Kind.LIMITED, Kind.AUTH)
Planner = Callable[[Desired, Observed, Memory, float], Plan]
Place = tuple[str, str]


def spec(name: str, fingerprint: str = "a", provider: str = "here", pool: str = "") -> AgentSpec:
    return AgentSpec(
        name, f"gc-c-{name}", provider, "", "true", ".", fingerprint, restarts=POLICY, pool=pool
    )


class CityLife(RuleBasedStateMachine):
    """A pretend world the plan is carried out in."""

    planner: Planner = staticmethod(plan)

    def __init__(self) -> None:
        super().__init__()
        self.now = 1000.0
        self.agents: dict[str, AgentSpec] = {}
        self.unresolved: dict[str, str] = {}
        self.pool_max = 0
        self.demand: int | None = None
        self.world: dict[Place, SessionState] = {}
        self.down: set[str] = set()
        self.memory = Memory()
        self.runs = 0
        self.failing: set[str] = set()
        self.waiting: set[str] = set()
        self.restarts: dict[str, list[float]] = {}
        self.before: Plan | None = None
        self.shown: dict[str, Shown] = {}
        self.undeclared: set[Place] = set()
        self.providers: tuple[str, ...] = PROVIDERS

    # --- what people and the world do

    @initialize(names=st.sets(st.sampled_from(NAMES)))
    def found(self, names: set[str]) -> None:
        self.agents = {name: spec(name) for name in sorted(names)}

    @rule(
        name=st.sampled_from(NAMES),
        fingerprint=st.sampled_from("ab"),
        provider=st.sampled_from(PROVIDERS),
        suspended=st.booleans(),
        on_drift=st.sampled_from(OnDrift),
        on_idle=st.sampled_from(OnIdle),
    )
    def edit(
        self,
        name: str,
        fingerprint: str,
        provider: str,
        suspended: bool,
        on_drift: OnDrift,
        on_idle: OnIdle,
    ) -> None:
        if name in self.agents and self.agents[name].fingerprint != fingerprint:
            self.restarts.pop(f"gc-c-{name}", None)
        self.agents[name] = replace(
            spec(name, fingerprint, provider),
            suspended=suspended,
            on_drift=on_drift,
            on_idle=on_idle,
            idle_timeout=40.0,
            stall_timeout=60.0,
        )

    @rule(fingerprint=st.sampled_from("ab"))
    def edit_everybody(self, fingerprint: str) -> None:
        """As a change of what all agents share does."""
        for name, old in self.agents.items():
            if old.fingerprint != fingerprint:
                self.restarts.pop(old.session, None)
            self.agents[name] = replace(old, fingerprint=fingerprint)

    @rule(name=st.sampled_from(NAMES), needs=st.sampled_from(NAMES))
    def add_dependency(self, name: str, needs: str) -> None:
        if needs < name and {name, needs} <= self.agents.keys():
            self.agents[name] = replace(self.agents[name], depends_on=(needs,))

    @rule(name=st.sampled_from(NAMES))
    def remove(self, name: str) -> None:
        if not any(name in each.depends_on for each in self.agents.values()):
            self.agents.pop(name, None)
            self.restarts.pop(f"gc-c-{name}", None)

    @rule(name=st.sampled_from(NAMES), broken=st.booleans())
    def break_config(self, name: str, broken: bool) -> None:
        if broken:
            self.unresolved[f"gc-c-{name}"] = "no such prompt"
        else:
            self.unresolved.pop(f"gc-c-{name}", None)

    @rule(largest=st.integers(0, 4))
    def resize_pool(self, largest: int) -> None:
        self.pool_max = largest

    @rule(demand=st.none() | st.integers(-1, 6))
    def demand_changes(self, demand: int | None) -> None:
        self.demand = demand

    @rule(place=st.integers(0, 20), end=st.sampled_from([Exited(1), Exited(0), Exited(None, 9)]))
    def crash(self, place: int, end: Exited) -> None:
        if key := self.pick(place):
            self.crash_at(key, end)

    @rule()
    def everything_dies(self) -> None:
        for key, state in list(self.world.items()):
            if state.meta.get(CITY_ID) == CITY:
                self.crash_at(key, Exited(None, 9))

    @rule(place=st.integers(0, 20), kind=st.sampled_from(KINDS), until=st.floats(-100, 1000))
    def its_screen_shows(self, place: int, kind: Kind, until: float) -> None:
        if key := self.pick(place):
            reading = Reading(kind, rule="r", evidence="", until=self.now + until)
            run = self.world[key].run
            self.shown[key[1]] = Shown(run, reading, since=self.now, still=self.now)

    @rule(place=st.integers(0, 20))
    def agent_asks_for_a_restart(self, place: int) -> None:
        if key := self.pick(place):
            self.set_meta(key, RESTART_REQUESTED, self.world[key].run)

    @rule(name=st.sampled_from(NAMES), drained=st.booleans())
    def person_drains(self, name: str, drained: bool) -> None:
        self.memory = (drain if drained else undrain)(self.memory, f"gc-c-{name}")

    @rule(name=st.sampled_from(NAMES))
    def person_resets(self, name: str) -> None:
        self.restarts.pop(f"gc-c-{name}", None)
        self.memory = reset(self.memory, f"gc-c-{name}")

    @rule(place=st.integers(0, 20))
    def vanish(self, place: int) -> None:
        if key := self.pick(place):
            del self.world[key]

    @rule(place=st.integers(0, 20))
    def inner_process_dies(self, place: int) -> None:
        if key := self.pick(place):
            self.world[key] = replace(self.world[key], agent_alive=False)

    @rule(place=st.integers(0, 20), attached=st.integers(0, 2))
    def attach(self, place: int, attached: int) -> None:
        if key := self.pick(place):
            self.world[key] = replace(self.world[key], attached=attached)

    @rule(place=st.integers(0, 20), stale=st.booleans())
    def acknowledge_drain(self, place: int, stale: bool) -> None:
        if key := self.pick(place):
            old = self.world[key]
            self.set_meta(key, DRAINED, "some-older-run" if stale else old.run)

    @rule(provider=st.sampled_from(PROVIDERS), up=st.booleans())
    def outage(self, provider: str, up: bool) -> None:
        (self.down.discard if up else self.down.add)(provider)

    @rule(name=st.sampled_from(NAMES), fails=st.booleans())
    def starts_fail(self, name: str, fails: bool) -> None:
        (self.failing.add if fails else self.failing.discard)(f"gc-c-{name}")

    @rule(name=st.sampled_from(NAMES), waits=st.booleans())
    def starts_wait(self, name: str, waits: bool) -> None:
        (self.waiting.add if waits else self.waiting.discard)(f"gc-c-{name}")

    @rule(place=st.integers(0, 20), standing=st.sampled_from(Standing))
    def its_machine_is(self, place: int, standing: Standing) -> None:
        key = self.pick(place)
        if key is not None and self.world[key].standing is not Standing.PENDING:
            self.world[key] = replace(self.world[key], standing=standing)

    @rule(name=st.sampled_from(NAMES), held=st.booleans())
    def person_stops(self, name: str, held: bool) -> None:
        session = f"gc-c-{name}"
        self.memory = hold(self.memory, session, "by hand") if held else self.pardon(session)

    @rule(provider=st.sampled_from(PROVIDERS), name=st.sampled_from(NAMES))
    def stranger_takes_the_name(self, provider: str, name: str) -> None:
        key = (provider, f"gc-c-{name}")
        if key not in self.world:
            self.world[key] = SessionState(key[1], Alive(), meta={CITY_ID: "somebody else"})

    @rule(provider=st.sampled_from(PROVIDERS), name=st.sampled_from(NAMES))
    def stranger_leaves(self, provider: str, name: str) -> None:
        key = (provider, f"gc-c-{name}")
        if key in self.world and self.world[key].meta.get(CITY_ID) != CITY:
            del self.world[key]

    @rule(seconds=st.floats(0.1, 90))
    def time_passes(self, seconds: float) -> None:
        self.now += seconds

    @rule(seconds=st.floats(-5000, 5000))
    def the_clock_jumps(self, seconds: float) -> None:
        self.now += seconds
        self.restarts.clear()

    @rule()
    def controller_restarts(self) -> None:
        """Nothing but the memory survives, and it does."""

    # --- the loop

    @rule(busy=st.sets(st.sampled_from([f"gc-c-{name}" for name in NAMES])))
    def tick(self, busy: set[str]) -> None:
        self.step(busy)

    def step(self, busy: Collection[str] = ()) -> Plan:
        observed = Observed(
            {provider: self.look(provider) for provider in self.providers},
            {} if self.demand is None else {"crew": self.demand},
            dict.fromkeys(busy, "something is being done"),
            shown=dict(self.shown),
        )
        result = self.planner(self.desired(), observed, self.memory, self.now)
        if self.planner is plan:
            again = plan(self.desired(), observed, self.memory, self.now, self.before)
            assert again == result, "the plan before made a difference"
            self.before = again
        before, self.memory = self.memory, result.memory
        if self.now % 3 < 1:  # a third of the moments are enough
            assert_explained(Scene(self.desired(), observed, result, self.now))
        self.judge(result, busy)
        self.judge_gentleness(result, before)
        self.note_orphans()
        dropped: set[str] = set()
        for action in result.actions:
            if isinstance(action, Remind) or action.session in dropped:
                continue
            if not self.carry_out(action):
                dropped.add(action.session)
        return result

    def look(self, provider: str) -> Observation:
        if provider in self.down:
            return Unseen("no answer")
        return Seen({key[1]: state for key, state in self.world.items() if key[0] == provider})

    def desired(self) -> Desired:
        members = tuple(spec(f"crew-{n}", pool="crew") for n in range(1, self.pool_max + 1))
        pools = (PoolSpec("crew", min(1, self.pool_max), self.pool_max, members),)
        agents = tuple(a for a in self.agents.values() if a.session not in self.unresolved)
        return Desired("c", CITY, agents, pools, self.unresolved, PARALLEL)

    def carry_out(self, action: Action) -> bool:
        match action:
            case Start(wanted, run=run):
                return self.start(wanted, run)
            case Stop(session, provider):
                self.world.pop((provider, session), None)
                self.memory = after_stop(self.memory, session)
            case Drain(session, provider, _, run):
                self.set_meta((provider, session), DRAIN, run)
            case Undrain(session, provider):
                key = (provider, session)
                meta = {k: v for k, v in self.world[key].meta.items() if k != DRAIN}
                self.world[key] = replace(self.world[key], meta=meta)
            case Dismiss() | Nudge() | Remind():
                pass
        return True

    def start(self, wanted: AgentSpec, goes_on: str) -> bool:
        session = wanted.session
        if session in self.failing:
            self.memory = after_failed_start(self.memory, session, now=self.now, why="broken")
            return False
        self.runs += 1
        run = goes_on or f"run-{self.runs}"
        meta = {CITY_ID: CITY, AGENT: wanted.name, CONFIG_HASH: wanted.fingerprint, RUN: run}
        made = SessionState(session, Alive(), meta=meta)
        who = {"run": run, "provider": wanted.provider}
        if session in self.waiting:
            if self.runs % 2:  # else it waits before there is anything of it
                pending = replace(made, standing=Standing.PENDING)
                self.world[wanted.provider, session] = pending
            self.memory = after_pending(self.memory, session, **who, why="full", now=self.now)
            return False
        self.world[wanted.provider, session] = made
        self.memory = after_start(self.memory, session, **who)
        return True

    # --- what must never happen

    def judge(self, result: Plan, busy: Collection[str]) -> None:
        cleared: set[Place] = set()
        for action in result.actions:
            if isinstance(action, Remind):
                continue
            key = (action.provider, action.session)
            assert action.provider not in self.down, "acted on a provider that did not answer"
            assert action.session not in busy, "acted on a session somebody is busy with"
            assert action.session not in self.unresolved, "acted on an agent that is unknown"
            if key in self.world and key not in cleared:
                assert self.world[key].meta.get(CITY_ID) == CITY, "touched what is not ours"
            if isinstance(action, Stop):
                cleared.add(key)
            if isinstance(action, Start):
                self.judge_start(action, cleared)
        assert result.wake_at is None or result.wake_at > self.now, "would spin"

    def judge_gentleness(self, result: Plan, before: Memory) -> None:
        declared = {each.session: each for each in self.agents.values()}
        for action in result.actions:
            if not isinstance(action, Stop):
                continue
            key = (action.provider, action.session)
            state, known = self.world.get(key), before.of(action.session)
            shown = self.shown.get(action.session)
            works = state and shown and shown.run == state.run
            works = works and shown and shown.reading.kind is Kind.WORKING
            if state is not None and state.standing is Standing.PENDING:
                continue  # nobody works in it
            if state is not None and self.alive(key) and state.standing is Standing.LOST:
                assert not action.why.startswith(CHANGED), "replaced what may live"
                assert "idle" not in action.why, "ended what nobody can see"
                assert "smaller" not in action.why, "ended what may live"
            if action.why.startswith(CHANGED) and state is not None:
                wanted = declared.get(action.session)
                assert wanted is None or wanted.on_drift is not OnDrift.NOTIFY, "only to be told"
                since = known.drift_since if known.drift_since is not None else self.now
                waited = min(since, self.now) + 120.0 <= self.now or known.rolling == state.run
                assert waited or not (state.attached or works), "no patience with who is busy"
            if "idle" in action.why:
                assert not works, "killed at work"
                assert not (state and state.attached), "killed under somebody's eyes"
            if "no longer in the city file" in action.why or "smaller" in action.why:
                assert key in self.undeclared, "ended an orphan at first sight"
        rolling = [
            name
            for name, agent in self.memory.agents.items()
            if agent.rolling and name not in self.unresolved
        ]
        assert len(rolling) <= PARALLEL, "replaced too many at once"
        assert len([name for name in rolling if "crew" in name]) <= 1, "rolled a whole pool"
        if result.memory.braked:
            risen = [a for a in result.actions if isinstance(a, Start) and "crashed" in a.why]
            assert len(risen) <= brake.AT_ONCE, "did not brake"

    def note_orphans(self) -> None:
        """Remember what was seen and belongs to nobody."""
        desired = self.desired()
        specs = [*desired.agents, *(each for pool in desired.pools for each in pool.members)]
        places = {(each.provider, each.session) for each in specs}
        seen = {key for key in self.world if key[0] not in self.down}
        self.undeclared = (self.undeclared - seen) | (seen - places)

    def judge_start(self, action: Start, cleared: set[Place]) -> None:
        session = action.session
        places = [key for key in self.world if key[1] == session and key not in cleared]
        ours = [key for key in places if self.world[key].meta.get(CITY_ID) == CITY]
        here = (action.provider, session)
        if action.run and here in ours:
            ours.remove(here)
            assert self.world[here].run == action.run, "went on with another incarnation"
            assert self.world[here].standing is Standing.PENDING, "went on with what is up"
            assert "crashed" not in action.why, "blamed who has to wait"
            cleared = {*cleared, here}
        assert not any(map(self.alive, ours)), "a second session for one agent"
        assert not self.alive(here) or here in cleared, "started where a session lives"
        assert not self.memory.of(session).held, "started what a person stopped"
        assert not action.spec.suspended, "started what is suspended"
        if "crashed" in action.why:
            times = self.restarts.setdefault(session, [])
            times.append(self.now)
            recent = [time for time in times if time + POLICY.window > self.now]
            assert len(recent) <= POLICY.max_restarts, "more restarts than the policy allows"

    @invariant()
    def pool_never_exceeds_its_maximum(self) -> None:
        alive = [
            key
            for key, state in self.world.items()
            if key[1].startswith("gc-c-crew-")
            and isinstance(state.life, Alive)
            and DRAIN not in state.meta
        ]
        assert len(alive) <= 4

    # --- what must happen in the end

    @rule()
    def a_quiet_city_converges_and_stays_still(self) -> None:
        self.down.clear()
        self.failing.clear()
        self.waiting.clear()
        self.shown.clear()
        self.machines_are_well()
        self.now += 100_000.0
        for key, state in list(self.world.items()):
            if state.meta.get(CITY_ID) != CITY:
                del self.world[key]
        for _ in range(12):
            self.now += POLICY.window * 10
            self.restarts.clear()
            self.step()

        wanted = self.wanted()
        ours = {key for key in self.world if key[1] not in self.unresolved}
        alive = {key for key in ours if self.alive(key)}
        crew = {key for key in alive if key[1].startswith("gc-c-crew-")}
        waiting = {(a.provider, a.session) for a in self.agents.values() if a.depends_on}
        assert alive - crew == wanted
        assert len(crew) == self.crew()
        assert ours - alive <= waiting, "only what waits for another may lie dead"
        assert self.step().actions == ()

    def wanted(self) -> set[Place]:
        def runs(agent: AgentSpec) -> bool:
            needs = [self.agents[n] for n in agent.depends_on]
            return (
                agent.session not in self.unresolved
                and not agent.suspended
                and not self.memory.of(agent.session).held
                and not self.memory.of(agent.session).drained
                and all(runs(each) for each in needs)
            )

        return {self.place(a) for a in self.agents.values() if runs(a) or self.lives(a)}

    def place(self, agent: AgentSpec) -> Place:
        """An agent that moves and is only to be told of it stays where it lives."""
        places = [(provider, agent.session) for provider in self.providers]
        here = [key for key in places if self.alive(key)]
        stays = agent.on_drift is OnDrift.NOTIFY and here
        return here[0] if stays else (agent.provider, agent.session)

    def lives(self, agent: AgentSpec) -> bool:
        """An agent that was up before its dependency went away stays up."""
        return (
            not agent.suspended
            and agent.session not in self.unresolved
            and not self.memory.of(agent.session).held
            and self.alive((agent.provider, agent.session))
        )

    def alive(self, key: Place) -> bool:
        state = self.world.get(key)
        return state is not None and isinstance(state.life, Alive) and state.agent_alive

    def crew(self) -> int:
        least = min(1, self.pool_max)
        return max(least, min(self.memory.pools.get("crew", least), self.pool_max))

    # --- small hands

    def machines_are_well(self) -> None:
        """Let the lost come back, and those go that were to end; the pending ones wait on."""
        for key, state in list(self.world.items()):
            if state.standing is Standing.ENDING:
                del self.world[key]
            elif state.standing is Standing.LOST:
                self.world[key] = replace(state, standing=Standing.UP)

    def pick(self, number: int) -> Place | None:
        ours = sorted(key for key, s in self.world.items() if s.meta.get(CITY_ID) == CITY)
        return ours[number % len(ours)] if ours else None

    def crash_at(self, key: Place, end: Exited) -> None:
        self.world[key] = replace(self.world[key], life=end)

    def set_meta(self, key: Place, name: str, value: str) -> None:
        state = self.world[key]
        self.world[key] = replace(state, meta={**state.meta, name: value})

    def pardon(self, session: str) -> Memory:
        self.restarts.pop(session, None)
        return release(self.memory, session)


def draw(rng: random.Random, strategy_of: str) -> dict[str, object]:
    """Arguments for a rule, drawn without hypothesis: thirty times faster, not shrinkable."""
    name, provider = rng.choice(NAMES), rng.choice(PROVIDERS)
    place = rng.randrange(21)
    drawn: dict[str, dict[str, object]] = {
        "edit": {
            "name": name,
            "fingerprint": rng.choice("ab"),
            "provider": provider,
            "suspended": rng.random() < 0.2,
            "on_drift": rng.choice(list(OnDrift)),
            "on_idle": rng.choice(list(OnIdle)),
        },
        "edit_everybody": {"fingerprint": rng.choice("ab")},
        "add_dependency": {"name": name, "needs": rng.choice(NAMES)},
        "remove": {"name": name},
        "break_config": {"name": name, "broken": rng.random() < 0.5},
        "resize_pool": {"largest": rng.randrange(5)},
        "demand_changes": {"demand": rng.choice([None, -1, 0, 1, 2, 3, 4, 5, 6])},
        "crash": {"place": place, "end": rng.choice([Exited(1), Exited(0), Exited(None, 9)])},
        "vanish": {"place": place},
        "everything_dies": {},
        "its_screen_shows": {
            "place": place,
            "kind": rng.choice(KINDS),
            "until": rng.uniform(-100, 1000),
        },
        "agent_asks_for_a_restart": {"place": place},
        "person_drains": {"name": name, "drained": rng.random() < 0.5},
        "person_resets": {"name": name},
        "inner_process_dies": {"place": place},
        "attach": {"place": place, "attached": rng.randrange(3)},
        "acknowledge_drain": {"place": place, "stale": rng.random() < 0.5},
        "outage": {"provider": provider, "up": rng.random() < 0.6},
        "starts_fail": {"name": name, "fails": rng.random() < 0.4},
        "starts_wait": {"name": name, "waits": rng.random() < 0.5},
        "its_machine_is": {"place": place, "standing": rng.choice(list(Standing))},
        "person_stops": {"name": name, "held": rng.random() < 0.5},
        "stranger_takes_the_name": {"provider": provider, "name": name},
        "stranger_leaves": {"provider": provider, "name": name},
        "time_passes": {"seconds": rng.uniform(0.1, 90)},
        "the_clock_jumps": {"seconds": rng.uniform(-5000, 5000)},
        "tick": {"busy": {f"gc-c-{n}" for n in NAMES if rng.random() < 0.1}},
        "a_quiet_city_converges_and_stays_still": {},
    }
    return drawn[strategy_of]


RULES = (
    *(
        "edit",
        "edit_everybody",
        "edit_everybody",
        "add_dependency",
        "remove",
        "break_config",
        "resize_pool",
        "demand_changes",
    ),
    *("crash", "crash", "crash", "vanish", "inner_process_dies", "attach", "acknowledge_drain"),
    *("everything_dies", "its_screen_shows", "its_screen_shows", "its_screen_shows"),
    *("agent_asks_for_a_restart", "person_drains", "person_resets"),
    *("starts_wait", "its_machine_is", "its_machine_is"),
    *("outage", "starts_fail", "person_stops", "stranger_takes_the_name", "stranger_leaves"),
    *("time_passes", "time_passes", "time_passes", "the_clock_jumps"),
    *("tick",) * 12,
)


def live_at_random(machine: type[CityLife], seed: int, steps: int = 60) -> None:
    rng = random.Random(seed)
    city = machine()
    city.found(names={name for name in NAMES if rng.random() < 0.7})
    life = [rng.choice(RULES) for _ in range(steps)]
    for number, rule_name in enumerate([*life, "a_quiet_city_converges_and_stays_still"]):
        try:
            getattr(city, rule_name)(**draw(rng, rule_name))
            city.pool_never_exceeds_its_maximum()
        except AssertionError as broken:
            broken.add_note(f"life {seed}, step {number}: {rule_name}")
            raise


@pytest.mark.parametrize("part", range(4))
def test_two_thousand_lives_keep_every_promise(part: int) -> None:
    for seed in range(part * 500, (part + 1) * 500):
        live_at_random(CityLife, seed)


class OneProvider(CityLife):
    """With a single provider a plan reuses what the plan before settled."""

    def __init__(self) -> None:
        super().__init__()
        self.providers = ("here",)

    def edit(
        self,
        name: str,
        fingerprint: str,
        provider: str,
        suspended: bool,
        on_drift: OnDrift,
        on_idle: OnIdle,
    ) -> None:
        super().edit(name, fingerprint, "here", suspended, on_drift, on_idle)


def test_the_plan_before_makes_no_difference() -> None:
    for seed in range(300):
        live_at_random(OneProvider, seed)


def test_lives_that_hypothesis_can_shrink_keep_every_promise() -> None:
    run_state_machine_as_test(
        CityLife,
        settings=settings(
            max_examples=60,
            stateful_step_count=30,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )


def outage_read_as_an_empty_city(
    desired: Desired, observed: Observed, memory: Memory, now: float
) -> Plan:
    providers = {
        name: Seen() if isinstance(seen, Unseen) else seen
        for name, seen in observed.providers.items()
    }
    return plan(desired, replace(observed, providers=providers), memory, now)


def forgetting_restarts(desired: Desired, observed: Observed, memory: Memory, now: float) -> Plan:
    agents = {name: replace(a, restarts=()) for name, a in memory.agents.items()}
    return plan(desired, observed, replace(memory, agents=agents), now)


def taking_any_session_for_ours(
    desired: Desired, observed: Observed, memory: Memory, now: float
) -> Plan:
    providers: dict[str, Observation] = {
        provider: Seen(
            {
                name: replace(state, meta={**state.meta, CITY_ID: desired.city_id})
                for name, state in seen.sessions.items()
            }
        )
        if isinstance(seen, Seen)
        else seen
        for provider, seen in observed.providers.items()
    }
    return plan(desired, replace(observed, providers=providers), memory, now)


def without_patience(desired: Desired, observed: Observed, memory: Memory, now: float) -> Plan:
    hasty = tuple(replace(agent, drift_patience=0.0) for agent in desired.agents)
    return plan(replace(desired, agents=hasty), observed, memory, now)


def all_at_once(desired: Desired, observed: Observed, memory: Memory, now: float) -> Plan:
    return plan(replace(desired, drift_parallel=99), observed, memory, now)


def ending_orphans_at_first_sight(
    desired: Desired, observed: Observed, memory: Memory, now: float
) -> Plan:
    agents = {
        name: replace(memory.of(name), orphan_since=now - 10)
        for seen in observed.providers.values()
        if isinstance(seen, Seen)
        for name in seen.sessions
    }
    return plan(desired, observed, replace(memory, agents={**memory.agents, **agents}), now)


@pytest.mark.parametrize(
    ("broken", "caught"),
    [
        (outage_read_as_an_empty_city, "did not answer"),
        (forgetting_restarts, "more restarts than the policy"),
        (taking_any_session_for_ours, "touched what is not ours"),
        (without_patience, "no patience with who is busy"),
        (all_at_once, "replaced too many at once"),
        (ending_orphans_at_first_sight, "ended an orphan at first sight"),
    ],
)
def test_a_broken_plan_is_caught(broken: Planner, caught: str) -> None:
    class Broken(CityLife):
        planner = staticmethod(broken)

    def live_often() -> None:
        for seed in range(2000):
            live_at_random(Broken, seed)

    with pytest.raises(AssertionError, match=caught):
        live_often()
