"""How an agent stands, in a word and a sentence: what `gc status` shows.

A view is made by the same code that decides, so that what is shown is what was decided.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class State(StrEnum):
    """The states an agent can be in."""

    STARTING = "starting"
    PENDING = "pending"
    READY = "ready"
    WORKING = "working"
    WAITING = "waiting"
    IDLE = "idle"
    BLOCKED = "blocked"
    LIMITED = "limited"
    AUTH = "auth"
    BACKOFF = "backoff"
    QUARANTINED = "quarantined"
    DRAINING = "draining"
    ENDING = "ending"
    LOST = "lost"
    SUSPENDED = "suspended"
    STOPPED = "stopped"
    UNKNOWN = "unknown"


UP = frozenset(
    {
        State.READY,
        State.WORKING,
        State.WAITING,
        State.IDLE,
        State.BLOCKED,
        State.LIMITED,
        State.AUTH,
    }
)
"""The states of an agent that runs, whatever it can do at the moment."""

COMING = frozenset({State.STARTING, State.PENDING, State.ENDING})
"""The states of an agent that is on its way up, or makes room for its next incarnation."""


@dataclass(frozen=True, slots=True)
class AgentView:
    """One agent. Times are seconds since the epoch; `next_at` is when something will be done.

    `muted_until` is until when nobody wants to hear of its troubles. `terminal` is False where a
    person cannot attach.
    """

    name: str
    session: str
    provider: str
    state: State
    reason: str = ""
    pid: int | None = None
    run: str = ""
    since: float | None = None
    restarts: int = 0
    failures: int = 0
    requests: int = 0
    fingerprint: str = ""
    drift: bool = False
    attached: int = 0
    next_at: float | None = None
    muted_until: float | None = None
    terminal: bool = True
