"""Sessions that no agent accounts for: our own that were left over, and those of strangers.

An orphan is ended only when it was seen twice, a moment apart: one wrong look must not end an
agent. What this city did not make is told of and left alone, whatever its name.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from gascity.core.actions import Event, EventType
from gascity.core.decide import decide
from gascity.core.decision import Decision, Surplus, Unwanted, Wish, lives, view
from gascity.core.memory import AgentMemory, Memory
from gascity.core.model import AgentSpec, Desired, PoolSpec, declared
from gascity.core.naming import session_prefix
from gascity.core.observed import AGENT, CITY_ID, Observed, Seen, SessionState
from gascity.core.views import State
from gascity.core.wishes import ENDING

PATIENCE = 1.0  # between the first look at an orphan and its end
UNDECLARED = "it is no longer in the city file"


def orphans(desired: Desired, observed: Observed) -> Iterator[tuple[str, SessionState]]:
    """Yield our sessions that no agent of the city accounts for, with their providers."""
    unresolved = () if desired.ending else desired.unresolved
    for provider, state in _unaccounted(desired, observed):
        ours = state.meta.get(CITY_ID) == desired.city_id
        if ours and state.name not in unresolved and state.name not in observed.busy:
            yield provider, state


def foreign(desired: Desired, observed: Observed) -> tuple[tuple[str, str], ...]:
    """Return the sessions that have a name like ours and were not made by this city."""
    prefix = session_prefix(desired.city)
    names = {spec.session for spec in declared(desired)}
    return tuple(
        (provider, name)
        for provider, seen in sorted(observed.providers.items())
        if isinstance(seen, Seen)
        for name, state in seen.sessions.items()
        if state.meta.get(CITY_ID) != desired.city_id and (name in names or name.startswith(prefix))
    )


def told_of(
    strangers: tuple[tuple[str, str], ...], observed: Observed, memory: Memory
) -> tuple[Memory, tuple[Event, ...]]:
    """Return what has to be said of strangers, each once for as long as it is there."""
    silent = {place for place in memory.foreign if not _answers(place[0], observed)}
    now = frozenset(strangers) | silent
    if now == memory.foreign:
        return memory, ()
    events = tuple(
        Event(
            EventType.SESSION_FOREIGN,
            session=name,
            message=f"{provider} has it, and this city did not make it; it is left alone",
        )
        for provider, name in strangers
        if (provider, name) not in memory.foreign
    )
    return replace(memory, foreign=now), events


def orphan(
    state: SessionState, provider: str, desired: Desired, memory: Memory, now: float
) -> Decision:
    """End a session that is no longer declared; a pool's former member drains first."""
    agent = state.meta.get(AGENT, state.name)
    spec = AgentSpec(agent, state.name, provider, "", "", ".", fingerprint="")
    known = replace(memory.of(state.name), rolling="")
    if lives(state):  # nobody may start the agent elsewhere while this provider is silent
        known = replace(known, run=state.run, provider=provider)
    since = min(known.orphan_since, now) if known.orphan_since is not None else now
    if not desired.ending and now < since + PATIENCE:
        remembered = replace(known, orphan_since=since)
        why = f"{UNDECLARED}; it is looked at once more before it is stopped"
        seen = view(spec, known, State.DRAINING, why, state, next_at=since + PATIENCE)
        return Decision(remembered, seen, wake_at=since + PATIENCE)
    decision = decide(
        spec,
        _wish(agent, desired),
        state,
        AgentMemory(drain_since=known.drain_since),
        city_id=desired.city_id,
        now=now,
    )
    remembered = replace(known, drain_since=decision.memory.drain_since, orphan_since=since)
    return replace(decision, memory=remembered, events=())


def _wish(agent: str, desired: Desired) -> Wish:
    if desired.ending:
        return ENDING
    pool = _former_pool(agent, desired)
    if pool is None:
        return Unwanted(State.STOPPED, UNDECLARED)
    return Surplus("the pool became smaller", pool.drain_timeout)


def _former_pool(agent: str, desired: Desired) -> PoolSpec | None:
    for pool in desired.pools:
        number = agent.removeprefix(f"{pool.name}-")
        if agent == pool.name or (number != agent and number.isdigit()):
            return pool
    return None


def _unaccounted(desired: Desired, observed: Observed) -> Iterator[tuple[str, SessionState]]:
    places = {(spec.provider, spec.session) for spec in declared(desired)}
    for provider, seen in sorted(observed.providers.items()):
        if isinstance(seen, Seen):
            others = [name for name in seen.sessions if (provider, name) not in places]
            yield from ((provider, seen.sessions[name]) for name in sorted(others))


def _answers(provider: str, observed: Observed) -> bool:
    return isinstance(observed.providers.get(provider), Seen)
