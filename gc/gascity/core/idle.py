"""An agent that has done nothing for too long.

Only one that stands at its prompt, with nobody there and nothing waiting for it, can be idle: an
agent at work, or one that waits for a person, never is. Where neither its output nor its screen can
be seen, nobody knows, and nothing is done.
"""

from __future__ import annotations

from dataclasses import replace

from gascity.core.actions import EventType, Remind
from gascity.core.decision import Decision, Unwanted, event, replaced, stopped, view
from gascity.core.memory import AgentMemory
from gascity.core.model import AgentSpec, OnIdle
from gascity.core.observed import SessionState, Shown
from gascity.core.standstill import NEVER, Standstills
from gascity.core.views import State


def idle_at(
    spec: AgentSpec,
    state: SessionState,
    memory: AgentMemory,
    shown: Shown | None,
    stood_still: Standstills = NEVER,
) -> float | None:
    """Return when an agent that stands at its prompt will have been idle for too long."""
    since = idle_since(spec, state, memory, shown)
    return None if since is None else stood_still.over(since, spec.idle_timeout)


def idle_since(
    spec: AgentSpec, state: SessionState, memory: AgentMemory, shown: Shown | None
) -> float | None:
    """Return since when an agent that stands at its prompt is idle; None where nobody minds."""
    still = shown.still if shown is not None and shown.run == state.run else None
    known = [time for time in (state.last_activity, still) if time is not None]
    if spec.idle_timeout <= 0 or state.attached or not known:
        return None
    told = memory.idled_at if memory.counted != state.run else None
    others = [time for time in (state.created, told) if time is not None]
    return max([*known, *others])


def idled(spec: AgentSpec, state: SessionState, memory: AgentMemory, now: float) -> Decision:
    """Do what is wanted about an agent that has been idle for too long.

    Where that was decided before and did not come to its turn, it is not told and counted again.
    """
    again = memory.counted == state.run
    memory = replace(memory, idled_at=now)
    why = f"it was idle for {spec.idle_timeout:g} s"
    match spec.on_idle:
        case OnIdle.RESTART:
            memory = replace(memory, total_requests=memory.total_requests + (not again))
            decision = replaced(spec, state, memory, why, gentle=True)
        case OnIdle.STOP:
            down = f"{why}; `gc restart` starts it again"
            memory = replace(memory, held=down)
            decision = stopped(spec, Unwanted(State.STOPPED, down), state, memory)
        case OnIdle.NUDGE:
            remind = Remind(spec.session, spec.name, spec.hints.nudge, why)
            decision = Decision(memory, view(spec, memory, State.READY, why, state), (remind,))
    events = () if again else (event(EventType.AGENT_IDLE, spec, state.run, why),)
    return replace(decision, events=events)
