"""An agent whose session exists and is not up, on machines that come and go.

Pending: it waits for a machine, an image or its files; its start goes on, and nobody works in it
yet. Lost: its machine does not answer; it may live there, so nothing but a person's word ends it.
Ending: somebody ends it, and it is left alone until it is gone. None of them is typed at, read,
counted or thought to be idle.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from gascity.core.actions import Start
from gascity.core.alerts import Alert, Trouble, of_agent
from gascity.core.decision import (
    Decision,
    Permit,
    Surplus,
    Unwanted,
    Wanted,
    Wish,
    is_away,
    replaced,
    stopped,
    view,
)
from gascity.core.drift import CHANGED, has_drifted
from gascity.core.memory import AgentMemory, incarnate
from gascity.core.model import AgentSpec
from gascity.core.observed import SessionState, Standing
from gascity.core.views import AgentView, State

PENDING_AFTER = 60.0  # seconds for which one may be pending before a person is told
LOST_AFTER = 10.0  # seconds for which one may be lost
WAITED = "it had to wait"
BY_A_PERSON = "a person asked for it"
STATES: Mapping[Standing, State] = {
    Standing.PENDING: State.PENDING,
    Standing.LOST: State.LOST,
    Standing.ENDING: State.ENDING,
}
_OTHERWISE = {
    Standing.PENDING: "it waits for a machine",
    Standing.LOST: "its machine does not answer",
    Standing.ENDING: "somebody ends it",
}


def noted(memory: AgentMemory, state: SessionState, provider: str, now: float) -> AgentMemory:
    """Remember an incarnation that is away, since when, and why."""
    if (memory.run, memory.provider) != (state.run, provider):
        memory = replace(incarnate(memory, state.run, provider), away="")
    since = memory.away_since if memory.away == state.standing else None
    known = (state.standing.value, now if since is None else since, why_of(state))
    if (memory.away, memory.away_since, memory.condition) == known:
        return memory
    return replace(memory, away=known[0], away_since=known[1], condition=known[2])


def why_of(state: SessionState) -> str:
    """Return what is the matter with a session that is away."""
    return state.condition or _OTHERWISE.get(state.standing, "")


def away(
    spec: AgentSpec,
    wish: Wish,
    state: SessionState,
    memory: AgentMemory,
    permit: Permit,
    now: float,
) -> Decision:
    """Decide about an agent whose session is away, and noted as such."""
    pending = state.standing is Standing.PENDING
    match wish:
        case Unwanted():
            return stopped(spec, wish, state, memory)
        case Surplus() if pending:
            down = Unwanted(State.STOPPED, wish.gone or wish.why)
            return stopped(spec, down, state, replace(memory, drain_since=None))
        case Wanted() if memory.recycle == state.run != "":
            return replaced(spec, state, memory, BY_A_PERSON)
        case Wanted() if pending and has_drifted(spec, state):
            return replaced(spec, state, memory, CHANGED)
        case Wanted() if pending:
            return _go_on(spec, state, memory, permit, now)
        case _:
            return _left_alone(spec, state, memory, now)


def pends(
    spec: AgentSpec, state: SessionState | None, memory: AgentMemory, now: float
) -> Decision | None:
    """Return how an agent stands whose start is under way and waits; None where it does not."""
    if state is not None and is_away(state) and state.standing is Standing.PENDING:
        return _left_alone(spec, state, noted(memory, state, spec.provider, now), now)
    return _left_alone(spec, None, memory, now) if state is None and memory.waits else None


def tried_again(spec: AgentSpec, memory: AgentMemory, permit: Permit, now: float) -> Decision:
    """Go on with a start that had to wait before there was any session."""
    return _go_on(spec, None, memory, permit, now)


def _go_on(
    spec: AgentSpec, state: SessionState | None, memory: AgentMemory, permit: Permit, now: float
) -> Decision:
    found = _left_alone(spec, state, memory, now)
    if permit.waits_for:
        waits = replace(found.view, reason=f"waits for {permit.waits_for}")
        return replace(found, view=waits)
    return replace(found, actions=(Start(spec, WAITED, run=memory.run),))


def _left_alone(
    spec: AgentSpec, state: SessionState | None, memory: AgentMemory, now: float
) -> Decision:
    """Say how it stands; what lasts for too long is a trouble."""
    standing = Standing.PENDING if state is None else state.standing
    why = memory.waits if state is None else why_of(state)
    seen = view(spec, memory, STATES[standing], why, state)
    told_at = _told_at(standing, memory)
    if told_at is None or now < told_at:
        return Decision(memory, seen, wake_at=told_at, blind=True)
    return Decision(memory, seen, troubles=(_trouble(spec, seen),))


def _told_at(standing: Standing, memory: AgentMemory) -> float | None:
    """Return when a person is to be told of it; None for never."""
    patience = {Standing.PENDING: PENDING_AFTER, Standing.LOST: LOST_AFTER}.get(standing)
    since = memory.away_since
    return None if patience is None or since is None else since + patience


def _trouble(spec: AgentSpec, seen: AgentView) -> Alert:
    name, why = spec.name, seen.reason
    if seen.state is State.PENDING:
        text = f"{name} has waited for {PENDING_AFTER:g} s to come up: {why}"
        return of_agent(Trouble.PENDING, spec, text)
    text = f"{name} is lost: {why}; it is left alone, and `gc restart {name}` gives it up"
    return of_agent(Trouble.LOST, spec, text)
