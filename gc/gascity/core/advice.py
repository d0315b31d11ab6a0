"""What comes next for an agent: what will be done, or what a person can do about it.

The words after a state: `gc status`, `gc why` and alerts all take them from here. A time is not in
them; whoever shows them says when, from `next_at`.
"""

from __future__ import annotations

from collections.abc import Mapping

from gascity.core.views import AgentView, State

_STEPS: Mapping[State, str] = {
    State.BLOCKED: "`gc explain {name}` shows why; `gc attach {name}` answers",
    State.WAITING: "`gc attach {name}` and answer",
    State.AUTH: "log in: `gc attach {name}`",
    State.LIMITED: "goes on when the limit has ended",
    State.QUARANTINED: "`gc reset {name}` tries at once",
    State.BACKOFF: "starts again",
    State.UNKNOWN: "left alone; `gc doctor` looks at it",
    State.DRAINING: "ends when it has finished its work",
    State.PENDING: "comes up when it has what it waits for",
    State.LOST: "left alone until its machine answers; `gc restart {name}` gives it up",
    State.ENDING: "left alone until it is gone",
    State.SUSPENDED: "`suspended` in the city file keeps it down",
    State.STOPPED: "`gc restart {name}` starts it",
}
_WITHOUT_TERMINAL: Mapping[State, str] = dict.fromkeys(
    (State.BLOCKED, State.WAITING, State.AUTH),
    "`gc peek {name}` shows what it printed; it has no terminal to answer in",
)
_GONE: Mapping[State, str] = {
    State.BLOCKED: "end the session {session}, or rename the agent",
    State.AUTH: "log in; it is tried again",
}
_DRIFTED = "`gc diff {name}` shows what changed"


def next_step(view: AgentView) -> str:
    """Return what comes next, in a few words; the empty string where nothing does."""
    if view.drift:
        step = _DRIFTED
    else:
        rather = _GONE if not view.run else {} if view.terminal else _WITHOUT_TERMINAL
        step = rather.get(view.state) or _STEPS.get(view.state, "")
    return step.format(name=view.name, session=view.session)
