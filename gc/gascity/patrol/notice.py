"""What a person is told, and what it is told through.

A notice is the same for every sink: a trouble that began, one that is over, or that there were more
than could be told. Its text has lost the secrets of its agent before it comes here.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from gascity.core.alerts import Severity
from gascity.errors import GascityError


class NoticeKind(StrEnum):
    """What is told of a trouble."""

    RAISED = "raised"
    RESOLVED = "resolved"
    HELD_BACK = "held_back"


@dataclass(frozen=True, slots=True)
class Notice:
    """One word to a person. `at` is when it is said, `since` when the trouble began.

    `key` names the trouble, as in `gc alerts`; `agent` is "" for one of the city itself. `about`
    are the keys of all troubles that it tells of.
    """

    kind: NoticeKind
    city: str
    key: str
    agent: str
    severity: Severity
    text: str
    at: float
    since: float
    screen: str = ""
    about: tuple[str, ...] = ()

    def body(self) -> dict[str, object]:
        """Return it for programs."""
        told: dict[str, object] = {
            "event": self.kind,
            "city": self.city,
            "agent": self.agent,
            "key": self.key,
            "severity": self.severity,
            "text": self.text,
            "at": self.at,
            "since": self.since,
        }
        return {**told, "screen": self.screen} if self.screen else told

    @property
    def title(self) -> str:
        """The short form, for what shows a heading."""
        what = {NoticeKind.RAISED: self.severity.value, NoticeKind.RESOLVED: "over"}
        return f"gc {self.city}: {what.get(self.kind, 'more alerts')}"


class SinkFailed(GascityError):
    """A notice could not be handed over; the message says why, without secrets."""


class NotTaken(SinkFailed):
    """Nobody was there to take it: it can be handed over later, and does not come twice then.

    `wait` is for how many seconds the other side wants to be left alone.
    """

    def __init__(self, message: str, *, wait: float = 0.0) -> None:
        super().__init__(message)
        self.wait = wait


class Sink(Protocol):
    """One way to tell a person."""

    @property
    def name(self) -> str:
        """What it is called where its failures are reported, such as `webhook`."""
        ...

    def send(self, notice: Notice) -> None:
        """Hand a notice over, within the sink's own time limit. Raises SinkFailed."""
        ...

    def close(self) -> None:
        """End what is still running of it, from any thread: nobody waits for it any more."""
        ...
