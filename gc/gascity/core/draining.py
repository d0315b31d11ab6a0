"""Letting an agent finish its work: asked by a flag, ended by its acknowledgement or by time.

The flags carry the incarnation they are meant for: one left over cannot hurt the next.
"""

from __future__ import annotations

from dataclasses import replace

from gascity.core.actions import Drain
from gascity.core.decision import Decision, view
from gascity.core.memory import AgentMemory
from gascity.core.model import AgentSpec
from gascity.core.observed import DRAIN, DRAINED, SessionState
from gascity.core.standstill import NEVER, Standstills
from gascity.core.views import State


def asked(state: SessionState) -> bool:
    """Tell whether this incarnation was asked to drain."""
    return bool(state.run) and state.meta.get(DRAIN) == state.run


def acknowledged(state: SessionState) -> bool:
    """Tell whether this incarnation says that its work is done."""
    return bool(state.run) and state.meta.get(DRAINED) == state.run


def drain(
    spec: AgentSpec,
    state: SessionState,
    memory: AgentMemory,
    why: str,
    patience: float,
    now: float,
    stood_still: Standstills = NEVER,
) -> Decision | str:
    """Have a living agent drain; when that is over, return how it ended.

    No patience is no limit.
    """
    if acknowledged(state):
        return "it has drained"
    since = memory.drain_since if memory.drain_since is not None else now
    until = stood_still.over(since, patience) if patience > 0 else None
    if until is not None and until <= now:
        return f"it did not drain within {patience:g} s"
    memory = replace(memory, drain_since=since)
    seen = view(spec, memory, State.DRAINING, why, state, next_at=until)
    if asked(state):
        return Decision(memory, seen, wake_at=until)
    ask = Drain(spec.session, spec.provider, spec.name, state.run, why)
    return Decision(memory, seen, (ask,), wake_at=until)
