"""What reaches the loop. Wake-ups carry no facts; they only make the next look happen now."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from gascity.config.problems import ConfigProblems
from gascity.controller.act import Outcome
from gascity.controller.sources import Sign
from gascity.core.actions import Event
from gascity.core.model import City
from gascity.core.observed import Observation, Shown
from gascity.core.reports import Report
from gascity.errors import GascityError
from gascity.session.provider import SessionProvider


@dataclass(frozen=True, slots=True)
class Wake:
    """Something may have changed."""


@dataclass(frozen=True, slots=True)
class Looked:
    """A provider answered, or its time is up and the question to it is `still_open`.

    `told_at` is set when it spoke unasked: the monotonic moment of which its words were true. What
    is not `whole` says nothing of other sessions than those in it. `given` are secrets, by agent,
    that incarnations in it were given: they come with the first sight of what may show them.
    """

    provider: str
    observation: Observation
    still_open: bool = False
    told_at: float | None = None
    whole: bool = True
    given: Mapping[str, tuple[str, ...]] = field(default_factory=dict, repr=False)


@dataclass(frozen=True, slots=True)
class Acted:
    """The deed of that number is done."""

    session: str
    number: int
    outcomes: tuple[Outcome, ...]


@dataclass(frozen=True, slots=True)
class Counted:
    """A pool's check answered, or did not (None), because of `why`."""

    pool: str
    size: int | None
    why: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class Read:
    """What the screens of sessions are read as now: all that are known.

    Those in `without` have none, as their provider says.
    """

    shown: Mapping[str, Shown]
    without: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Heard:
    """The hook of an agent said something; `answer` is told whether it was the agent itself.

    `living_run` is the incarnation that lives, as last seen; `ends` says that the session of the
    agent's own tool is over.
    """

    session: str
    report: Report
    living_run: str
    ends: bool
    answer: Callable[[bool], None]


@dataclass(frozen=True, slots=True)
class Happened:
    """A worker has something to tell the journal."""

    event: Event


@dataclass(frozen=True, slots=True)
class Taken:
    """A person was told of the alerts with these keys."""

    keys: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Changed:
    """A file of the city may be another than it was when the city was last read."""


@dataclass(frozen=True, slots=True)
class Unwatched:
    """The files of the city cannot be watched; without a reason: they can be again."""

    why: str


@dataclass(frozen=True, slots=True)
class Reloaded:
    """The city was read again: what it is now, or what is wrong with it.

    `sources` are its files and `signs` how they were; `opened` are the providers it needs that were
    not open before.
    """

    city: City | ConfigProblems
    sources: tuple[str, ...]
    signs: Mapping[str, Sign]
    opened: Mapping[str, SessionProvider]


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


OfFiles = Changed | Unwatched | Reloaded
Told = Heard | Happened | Taken
Message = Wake | Looked | Acted | Counted | Read | Told | OfFiles | Leave | Asked
