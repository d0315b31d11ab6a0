"""Sessions that no agent accounts for: our own that were left over, and those of strangers.

An orphan is ended only when it was seen twice, a moment apart: one wrong look must not end an
agent. What this city did not make is told of and left alone, whatever its name.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from gascity.core.actions import Event, EventType
from gascity.core.away import STATES, noted, why_of
from gascity.core.decide import decide
from gascity.core.decision import (
    Decision,
    Surplus,
    Unwanted,
    Wanted,
    Wish,
    is_away,
    lives,
    view,
)
from gascity.core.drift import left_to_a_person
from gascity.core.memory import AgentMemory, Memory, present
from gascity.core.model import AgentSpec, Desired, OnDrift, PoolSpec, declared
from gascity.core.naming import session_prefix
from gascity.core.observed import AGENT, CITY_ID, Observed, Seen, SessionState, Shown, Standing
from gascity.core.standstill import NEVER, Standstills
from gascity.core.views import State
from gascity.core.wishes import ENDING
from gascity.screens.reading import Kind

PATIENCE = 1.0  # between the first look at an orphan and its end
ATTACHED = 120.0  # seconds for which somebody who is attached to one is waited for
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
    state: SessionState,
    provider: str,
    desired: Desired,
    memory: Memory,
    now: float,
    *,
    wish: Wish | None = None,
    rolls: bool = True,
    shown: Shown | None = None,
    stood_still: Standstills = NEVER,
) -> Decision:
    """End a session that is no longer declared; a pool's former member drains first.

    An agent that is `wish`ed for moves to another provider: it is treated as one whose
    configuration changed, `rolls` when it may, and `shown` is what it is doing. Somebody who is
    attached is waited for in any case.
    """
    agent = state.meta.get(AGENT, state.name)
    spec = AgentSpec(agent, state.name, provider, "", "", ".", fingerprint="")
    moved = None
    if isinstance(wish, Wanted):
        moved = next((one for one in declared(desired) if one.session == state.name), None)
    known = memory.of(state.name) if moved else replace(memory.of(state.name), rolling="")
    if is_away(state):
        known = noted(known, state, provider, now)
    elif lives(state):  # nobody may start the agent elsewhere while this provider is silent
        known = replace(present(known), run=state.run, provider=provider)
    since = min(known.orphan_since, now) if known.orphan_since is not None else now
    waits = "" if desired.ending else _waits(moved, state, known, since, now, shown, rolls=rolls)
    if waits:
        until = since + PATIENCE if now < since + PATIENCE else now + PATIENCE
        shown_as = STATES[state.standing] if is_away(state) else State.DRAINING
        seen = view(spec, known, shown_as, waits, state, next_at=None)
        lasting = left_to_a_person(moved) if moved and lives(state) else ()
        remembered = replace(known, orphan_since=since)
        return Decision(remembered, seen, wake_at=until, troubles=lasting)
    decision = decide(
        spec,
        _wish(agent, moved, desired, state),
        state,
        _alone(known),
        city_id=desired.city_id,
        now=now,
        stood_still=stood_still,
    )
    remembered = replace(
        known,
        drain_since=decision.memory.drain_since,
        orphan_since=since,
        rolling=state.run if moved else "",
    )
    return replace(decision, memory=remembered, events=())


def _waits(
    moved: AgentSpec | None,
    state: SessionState,
    known: AgentMemory,
    since: float,
    now: float,
    shown: Shown | None,
    *,
    rolls: bool,
) -> str:
    """Say why a session that no agent accounts for is not ended now."""
    why = f"it moves to {moved.provider}" if moved else UNDECLARED
    if now < since + PATIENCE:
        return f"{why}; it is looked at once more before it is stopped"
    if not lives(state) or known.recycle == state.run != "":
        return ""
    if is_away(state):  # what is lost may live; nobody works in the others
        is_lost = moved is not None and state.standing is Standing.LOST
        return f"{why}; {why_of(state)}, so it waits" if is_lost else ""
    if moved and moved.on_drift is OnDrift.NOTIFY:
        return f"{why}; `gc restart {moved.name}` does it"
    works = moved and shown and shown.run == state.run and shown.reading.kind is Kind.WORKING
    busy = "somebody is attached" if state.attached else "it is working" if works else ""
    if busy and now < since + (moved.drift_patience if moved else ATTACHED):
        return f"{why}; {busy}, so it waits"
    return "" if rolls or known.rolling == state.run else f"{why}; others are replaced first"


def _alone(known: AgentMemory) -> AgentMemory:
    """Return what matters of the past of a session that ends: nothing of it is counted."""
    if not known.away:
        return AgentMemory(drain_since=known.drain_since)
    return AgentMemory(
        run=known.run,
        provider=known.provider,
        drain_since=known.drain_since,
        away=known.away,
        away_since=known.away_since,
        condition=known.condition,
    )


def _wish(agent: str, moved: AgentSpec | None, desired: Desired, state: SessionState) -> Wish:
    if desired.ending:
        return ENDING
    if moved is not None:
        why = f"it moves to {moved.provider}"
        drains = moved.on_drift is OnDrift.DRAIN and not is_away(state)
        return Surplus(why, moved.drain_timeout) if drains else Unwanted(State.STOPPED, why)
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
