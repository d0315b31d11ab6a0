"""What comes next for an agent: what will be done, or what a person can do about it.

The words after a state: `gc status`, `gc why` and alerts all take them from here. A time is not in
them; whoever shows them says when, from `next_at`.
"""

from __future__ import annotations

from gascity.core.views import AgentView, State


def next_step(view: AgentView) -> str:
    """Return what comes next, in a few words; the empty string where nothing does."""
    name = view.name
    match view.state:
        case State.BLOCKED if not view.run:
            return f"end the session {view.session}, or rename the agent"
        case State.BLOCKED:
            return f"`gc explain {name}` shows why; `gc attach {name}` answers"
        case State.WAITING:
            return f"`gc attach {name}` and answer"
        case State.AUTH:
            return f"log in: `gc attach {name}`" if view.run else "log in; it is tried again"
        case State.LIMITED:
            return "goes on when the limit has ended"
        case State.QUARANTINED:
            return f"`gc reset {name}` tries at once"
        case State.BACKOFF:
            return "starts again"
        case State.UNKNOWN:
            return "left alone; `gc doctor` looks at it"
        case State.DRAINING:
            return "ends when it has finished its work"
        case State.SUSPENDED:
            return "`suspended` in the city file keeps it down"
        case State.STOPPED:
            return f"`gc restart {name}` starts it"
        case State.READY | State.WORKING | State.IDLE if view.drift:
            return f"is replaced; `gc diff {name}` shows why"
        case _:
            return ""
