"""What is worth writing down of a run, as those tell it who see it happen.

Whoever acts tells when a start begins and how it went, the loop what it decided and saw. Telling is
putting a note into a queue: it never waits, and nothing is written on the way of a deed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from gascity.core.actions import EventType
from gascity.core.model import AgentSpec
from gascity.core.observed import SessionState


@dataclass(frozen=True, slots=True)
class Began:
    """The start of an incarnation began, with this prompt."""

    run: str
    spec: AgentSpec
    why: str
    prompt: str
    at: float


@dataclass(frozen=True, slots=True)
class Up:
    """The start is over and the incarnation lives, or may: `doubtful` when nobody answered."""

    run: str
    doubtful: bool = False


@dataclass(frozen=True, slots=True)
class Pends:
    """The start has to wait: the next one goes on with this incarnation."""

    run: str


@dataclass(frozen=True, slots=True)
class NotUp:
    """The start failed; `output` is the last thing it said."""

    run: str
    why: str
    output: str
    at: float


@dataclass(frozen=True, slots=True)
class LastWords:
    """What a session showed at the end of an incarnation of this agent."""

    run: str
    agent: str
    text: str


@dataclass(frozen=True, slots=True)
class Nudged:
    """A message was tried to be delivered to who lives in this session; it may have no number."""

    session: str
    number: int | None
    outcome: str
    at: float


@dataclass(frozen=True, slots=True)
class Ended:
    """An incarnation ended: `kind` says whether that was a crash; `state` is what was seen of it.

    Somebody `asked` for it, or it did so by itself.
    """

    run: str
    agent: str
    session: str
    kind: EventType
    message: str
    asked: bool
    state: SessionState | None
    at: float


@dataclass(frozen=True, slots=True)
class Sight:
    """A provider was looked at; `began` is the monotonic moment at which that look began."""

    provider: str
    sessions: Mapping[str, SessionState]
    began: float


Note = Began | Up | Pends | NotUp | LastWords | Nudged | Ended | Sight


def unheard(note: Note) -> None:
    """Take a note that nobody wants."""
    del note
