"""Messages that wait for their agent."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class NudgeState(StrEnum):
    """What has become of a queued message."""

    PENDING = "pending"
    SENDING = "sending"  # on its way this moment
    SUBMITTED = "submitted"
    UNVERIFIED = "unverified"  # it may have arrived; it is never sent again
    EXPIRED = "expired"
    CANCELLED = "cancelled"


@dataclass(frozen=True, slots=True)
class QueuedNudge:
    """A message for an agent, to be delivered when that can take it. Times are since the epoch.

    One with a `run` is for that incarnation alone.
    """

    number: int
    agent: str
    session: str
    text: str
    at: float
    expires_at: float
    raw: bool = False
    run: str = ""
    state: NudgeState = NudgeState.PENDING
    evidence: str = ""
    attempts: int = 0
