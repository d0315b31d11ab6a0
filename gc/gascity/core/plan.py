"""The whole city: what to do now.

    plan(desired, observed, memory, now) -> Plan(actions, events, memory, views, wake_at)

A function of values. Given the plan before, it decides again only about what is different: the
result is the same, sooner. Two rules come before everything else: a provider that did not answer
says nothing about its sessions, and a session without this city's mark is not ours to touch.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from gascity.core.actions import Action, Event
from gascity.core.decide import Decision, Surplus, Unwanted, Wanted, Wish, decide
from gascity.core.doing import doing
from gascity.core.memory import AgentMemory, Memory
from gascity.core.model import AgentSpec, Desired, PoolSpec, declared
from gascity.core.observed import (
    AGENT,
    CITY_ID,
    Alive,
    Observed,
    Seen,
    SessionState,
    Shown,
    Unseen,
)
from gascity.core.views import AgentView, State
from gascity.core.wishes import NOT_NEEDED, learn_demand, sees, session_of, wishes


@dataclass(frozen=True, slots=True)
class Plan:
    """What to do, what happened, what to remember, how all stands, and when to look again."""

    actions: tuple[Action, ...]
    events: tuple[Event, ...]
    memory: Memory
    views: tuple[AgentView, ...]
    wake_at: float | None
    made_at: float = field(default=0.0, compare=False)
    settled: Mapping[str, _Settled] = field(default_factory=dict, compare=False, repr=False)


def plan(
    desired: Desired, observed: Observed, memory: Memory, now: float, before: Plan | None = None
) -> Plan:
    """Compare what should be with what is. Acts on nothing that was not seen."""
    memory = learn_demand(desired, observed, memory)
    known: Mapping[str, _Settled] = {}
    if before is not None and now >= before.made_at and len(observed.providers) == 1:
        known = before.settled
    settled: dict[str, _Settled] = {}
    decisions = []
    for spec, wish in wishes(desired, observed, memory):
        state, remembered = session_of(spec, observed), memory.of(spec.session)
        shown, queued = observed.shown.get(spec.session), observed.queued.get(spec.session)
        last = known.get(spec.session)
        if (
            last is not None
            and last.spec is spec
            and last.wish is wish
            and last.state is state
            and last.memory is remembered
            and last.shown is shown
            and queued is None
            and spec.session not in observed.busy
            and sees(observed, spec.provider)
        ):
            decision = last.decision
        else:
            decision = _about(spec, wish, desired, observed, memory, now)
        decisions.append(decision)
        if state is not None and not spec.depends_on and _is_quiet(decision, remembered):
            settled[spec.session] = _Settled(spec, wish, state, remembered, shown, decision)
    decisions += [
        _orphan(state, provider, desired, memory, now)
        for provider, state in _orphans(desired, observed)
    ]
    kept = {
        name: agent
        for name, agent in memory.agents.items()
        if name in desired.unresolved or (agent.run and not sees(observed, agent.provider))
    }
    return replace(_gather(decisions, memory, kept, desired), made_at=now, settled=settled)


@dataclass(frozen=True, slots=True)
class _Settled:
    """A decision to do nothing, and all that it came from."""

    spec: AgentSpec
    wish: Wish
    state: SessionState
    memory: AgentMemory
    shown: Shown | None
    decision: Decision


def _is_quiet(decision: Decision, memory: AgentMemory) -> bool:
    """Tell whether nothing happens, nothing was learnt, and time alone changes nothing."""
    quiet = not decision.actions and not decision.events and decision.wake_at is None
    return quiet and decision.memory is memory and decision.view.state in _QUIET


_QUIET = (State.READY, State.WORKING)


def _gather(
    decisions: list[Decision], memory: Memory, kept: Mapping[str, AgentMemory], desired: Desired
) -> Plan:
    """Put the parts together. Of agents nobody decided on, only `kept` is remembered."""
    names = {spec.session for spec in declared(desired)}
    decided: dict[str, AgentMemory] = {}
    for decision in decisions:
        session, after = decision.view.session, decision.memory
        if session in decided:  # its former self, on another provider
            after = replace(decided[session], drain_since=after.drain_since)
        decided[session] = after
    agents = {**kept, **decided}
    wakes = [decision.wake_at for decision in decisions if decision.wake_at is not None]
    unresolved = tuple(
        AgentView(session, session, "", State.UNKNOWN, why)
        for session, why in sorted(desired.unresolved.items())
    )
    return Plan(
        actions=tuple(action for decision in decisions for action in decision.actions),
        events=tuple(event for decision in decisions for event in decision.events),
        memory=memory if agents == memory.agents else replace(memory, agents=agents),
        views=(
            *(decision.view for decision in decisions if _shown(decision.view, names)),
            *unresolved,
        ),
        wake_at=min(wakes, default=None),
    )


def _shown(view: AgentView, declared: set[str]) -> bool:
    """A pool's empty places and orphans that are gone do not clutter the table."""
    empty = view.state is State.STOPPED and view.reason == NOT_NEEDED and not view.run
    return not empty or view.session not in declared


def _about(
    spec: AgentSpec, wish: Wish, desired: Desired, observed: Observed, memory: Memory, now: float
) -> Decision:
    """Decide about one agent, or say why nothing can be decided."""
    known = memory.of(spec.session)
    busy = observed.busy.get(spec.session)
    if busy is not None and (view := _typed_at(spec, known, observed, now)) is not None:
        return Decision(known, view)
    if busy is not None:
        state = State.STARTING if isinstance(wish, Wanted) else State.DRAINING
        return Decision(known, _plain(spec, known, state, busy, session_of(spec, observed)))
    if why := _elsewhere(spec, known, desired, observed):
        return Decision(known, _plain(spec, known, State.UNKNOWN, why))
    match observed.providers.get(spec.provider, _NOT_ASKED):
        case Unseen(reason):
            why = f"{spec.provider} does not answer: {reason}"
            return Decision(known, _plain(spec, known, State.UNKNOWN, why))
        case Seen(sessions):
            return decide(
                spec,
                wish,
                sessions.get(spec.session),
                known,
                city_id=desired.city_id,
                waits_for=_blocker(spec, desired, observed),
                now=now,
                shown=observed.shown.get(spec.session),
                queued=observed.queued.get(spec.session),
            )


def _typed_at(
    spec: AgentSpec, known: AgentMemory, observed: Observed, now: float
) -> AgentView | None:
    """Return how an agent stands that is only being typed at: as it did before."""
    session = session_of(spec, observed)
    if spec.session not in observed.typed_at or session is None:
        return None
    found, _ = doing(spec, session, observed.shown.get(spec.session), None, known, now)
    return _plain(spec, known, found.state, found.reason, session)


_NOT_ASKED = Unseen("it was not asked")


def _elsewhere(spec: AgentSpec, known: AgentMemory, desired: Desired, observed: Observed) -> str:
    """Say where else the agent lives or may live: it must not be started a second time."""
    others = observed.providers.keys() - {spec.provider}
    for provider in sorted(others) if others else ():
        seen = observed.providers[provider]
        if isinstance(seen, Seen):
            other = seen.sessions.get(spec.session)
            if other is not None and other.meta.get(CITY_ID) == desired.city_id:
                return f"its session on {provider} has to end first"
    if known.run and known.provider not in ("", spec.provider):
        seen = observed.providers.get(known.provider, _NOT_ASKED)
        if isinstance(seen, Unseen):
            return f"it last ran on {known.provider}, which does not answer: {seen.reason}"
    return ""


def _blocker(spec: AgentSpec, desired: Desired, observed: Observed) -> str:
    """Name the first dependency that is not up."""
    for needed in spec.depends_on:
        specs = [each for each in declared(desired) if needed in (each.name, each.pool)]
        if not any(_up(each, desired, observed) for each in specs):
            return needed
    return ""


def _up(spec: AgentSpec, desired: Desired, observed: Observed) -> bool:
    state = session_of(spec, observed)
    return (
        state is not None
        and state.meta.get(CITY_ID) == desired.city_id
        and isinstance(state.life, Alive)
        and state.agent_alive
        and spec.session not in observed.busy
    )


def _orphans(desired: Desired, observed: Observed) -> Iterator[tuple[str, SessionState]]:
    """Yield our sessions that no agent of the city accounts for."""
    places = {(spec.provider, spec.session) for spec in declared(desired)}
    for provider, seen in sorted(observed.providers.items()):
        if not isinstance(seen, Seen):
            continue
        for name, state in sorted(seen.sessions.items()):
            ours = state.meta.get(CITY_ID) == desired.city_id
            spoken_for = (provider, name) in places or name in desired.unresolved
            if ours and not spoken_for and name not in observed.busy:
                yield provider, state


def _orphan(
    state: SessionState, provider: str, desired: Desired, memory: Memory, now: float
) -> Decision:
    """End a session that is no longer declared; a pool's former member drains first."""
    agent = state.meta.get(AGENT, state.name)
    spec = AgentSpec(agent, state.name, provider, "", "", ".", fingerprint="")
    pool = _former_pool(agent, desired)
    wish: Wish = (
        Unwanted(State.STOPPED, "it is no longer in the city file")
        if pool is None
        else Surplus("the pool became smaller", pool.drain_timeout)
    )
    known = memory.of(state.name)
    decision = decide(
        spec,
        wish,
        state,
        AgentMemory(drain_since=known.drain_since),
        city_id=desired.city_id,
        waits_for="",
        now=now,
    )
    remembered = replace(known, drain_since=decision.memory.drain_since)
    return replace(decision, memory=remembered, events=())


def _former_pool(agent: str, desired: Desired) -> PoolSpec | None:
    for pool in desired.pools:
        number = agent.removeprefix(f"{pool.name}-")
        if agent == pool.name or (number != agent and number.isdigit()):
            return pool
    return None


def _plain(
    spec: AgentSpec,
    memory: AgentMemory,
    state: State,
    reason: str,
    session: SessionState | None = None,
) -> AgentView:
    lives = session is not None and isinstance(session.life, Alive)
    return AgentView(
        name=spec.name,
        session=spec.session,
        provider=spec.provider,
        state=state,
        reason=reason,
        pid=session.process.pid if session and lives and session.process else None,
        run=session.run if session else memory.run,
        since=session.created if session and lives else None,
        restarts=memory.total_restarts,
        fingerprint=spec.fingerprint,
    )
