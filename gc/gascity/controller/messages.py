"""What reaches the loop. Wake-ups carry no facts; they only make the next look happen now."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from gascity.controller.act import Outcome
from gascity.core.actions import Event
from gascity.core.observed import Observation, Shown
from gascity.errors import GascityError


@dataclass(frozen=True, slots=True)
class Wake:
    """Something may have changed."""


@dataclass(frozen=True, slots=True)
class Looked:
    """A provider answered, or its time is up and the question to it is `still_open`.

    `told_at` is set when it spoke unasked: the monotonic moment of which its words were true. What
    is not `whole` says nothing of other sessions than those in it.
    """

    provider: str
    observation: Observation
    still_open: bool = False
    told_at: float | None = None
    whole: bool = True


@dataclass(frozen=True, slots=True)
class Acted:
    """The deed of that number is done."""

    session: str
    number: int
    outcomes: tuple[Outcome, ...]


@dataclass(frozen=True, slots=True)
class Counted:
    """A pool's check answered, or did not (None)."""

    pool: str
    size: int | None


@dataclass(frozen=True, slots=True)
class Read:
    """What the screens of sessions are read as now: all that are known.

    Those in `without` have none, as their provider says.
    """

    shown: Mapping[str, Shown]
    without: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Happened:
    """A worker has something to tell the journal."""

    event: Event


@dataclass(frozen=True, slots=True)
class Leave:
    """End the controller and leave the agents alone."""

    why: str


Answer = Callable[[object | GascityError], None]


@dataclass(frozen=True, slots=True)
class Asked:
    """Somebody wants something; `answer` is called once, with a value or an error."""

    method: str
    params: Mapping[str, object]
    answer: Answer


Message = Wake | Looked | Acted | Counted | Read | Happened | Leave | Asked
