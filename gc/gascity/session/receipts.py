"""What becomes of a text that is sent to a session."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Delivery(StrEnum):
    """What became of a text sent to a session."""

    SUBMITTED = "submitted"  # proven: the agent took it
    UNVERIFIED = "unverified"  # handed over, no proof that it was taken
    REFUSED = "refused"  # not handed over: doing so would have done harm
    QUEUED = "queued"  # kept, to be delivered later
    ABSENT = "absent"  # there is no such session


@dataclass(frozen=True, slots=True)
class Receipt:
    """What became of a text, and what says so.

    `text` is what was sent, after everything that could act was taken out of it or made harmless;
    `attempts` counts how often it was submitted, `elapsed` the seconds that took.
    """

    delivery: Delivery
    evidence: str = ""
    text: str = ""
    attempts: int = 0
    elapsed: float = 0.0
