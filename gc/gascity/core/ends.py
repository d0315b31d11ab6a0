"""How a session ended, and whether that was a crash."""

from __future__ import annotations

from gascity.core.decision import Wanted, Wish
from gascity.core.draining import acknowledged, asked
from gascity.core.memory import FRESH, AgentMemory, Excuse
from gascity.core.model import AgentSpec
from gascity.core.observed import Exited, SessionState, Standing

NO_CRASH = "so it is no crash"  # the last words on an end that was neither asked for nor a crash


def how(state: SessionState | None, memory: AgentMemory = FRESH) -> str:
    """Say how a session ended that should live, of one that is gone by what is remembered of it."""
    match state:
        case None if memory.away and memory.condition:
            return f"the session is gone: {memory.condition}"
        case None:
            return "the session is gone, nobody saw how"
        case SessionState(life=Exited() as end):
            return str(end)
        case SessionState():
            return "the session lives, but none of the agent's processes does"


def uncounted(state: SessionState | None, memory: AgentMemory) -> str:
    """Return the incarnation that ended and was not counted yet, or the empty string."""
    if state is None and memory.away == Standing.PENDING:
        return ""  # it never came up
    ended = state.run if state is not None else memory.run
    return "" if ended == memory.counted else ended


def was_to_end(
    spec: AgentSpec, wish: Wish, state: SessionState | None, memory: AgentMemory
) -> bool:
    """Tell whether somebody wanted the end: a wish, a drain, or a move to another provider."""
    moved = state is None and memory.provider not in ("", spec.provider)
    drained = state is not None and (asked(state) or acknowledged(state))
    return moved or drained or not isinstance(wish, Wanted)


def excuse_of(ended: str, memory: AgentMemory, now: float) -> str:
    """Return what makes the end of an incarnation no crash, or the empty string.

    A limit whose time is over excuses nothing: its words stay on the screen.
    """
    if ended != memory.run or not memory.excuse:
        return ""
    is_over = memory.excuse_until is not None and memory.excuse_until <= now
    return "" if memory.excuse == Excuse.LIMITED and is_over else memory.excuse
