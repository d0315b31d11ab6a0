"""What is: sessions as a provider reports them, and the difference between none and not knowing.

A provider answers completely (`Seen`) or not at all (`Unseen`). Nothing is ever started, stopped
or counted on `Unseen`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from gascity.core.nudges import QueuedNudge
from gascity.core.standstill import NEVER, Standstills
from gascity.screens.reading import Reading

# Keys of session metadata that mean something to the controller.
CITY_ID = "GC_CITY_ID"
AGENT = "GC_AGENT"
CONFIG_HASH = "GC_CONFIG_HASH"
CONFIG = "GC_CONFIG"
BEACON = "GC_BEACON"
RUN = "GC_RUN"
STARTING = "GC_STARTING"
BACKEND = "GC_BACKEND"  # whose rules its screen is read by
PROMPT = "GC_PROMPT"  # what its prompt begins with, for a backend without rules
READY = "GC_READY"  # "yes", or "timeout" when the prompt was never seen
NUDGED = "GC_NUDGED"  # what became of the first message, when it was not submitted
DIALOGS = "GC_DIALOGS"  # the dialogs answered while it started: one JSON object a line
DRAIN = "GC_DRAIN"
DRAINED = "GC_DRAINED"
RESTART_REQUESTED = "GC_RESTART_REQUESTED"


@dataclass(frozen=True, slots=True)
class ProcessId:
    """A process beyond doubt: a pid alone is recycled, a pid with its start time is not.

    `started` is opaque: equal for the same process, whoever asks and whatever the clock does.
    """

    pid: int
    started: str


@dataclass(frozen=True, slots=True)
class Alive:
    """The session's program runs."""


@dataclass(frozen=True, slots=True)
class Exited:
    """The session's program ended: with `code`, or by `signal`, or nobody saw how (both None).

    `reason` is why, where whoever ended it said so: it ran out of memory, its node was full.
    """

    code: int | None = None
    signal: int | None = None
    reason: str = ""

    def __str__(self) -> str:
        if self.signal is not None:
            how = f"killed by signal {self.signal}"
        elif self.code is not None:
            how = f"exited with status {self.code}"
        else:
            how = "" if self.reason else "ended, nobody saw how"
        return ": ".join(part for part in (how, self.reason) if part)


Life = Alive | Exited


class Standing(StrEnum):
    """How a session that has not ended stands with the machine that is to carry it."""

    UP = "up"
    PENDING = "pending"  # it exists, and has no machine, no image or no files yet
    LOST = "lost"  # its machine does not answer: it may live there, and nobody can tell
    ENDING = "ending"  # somebody is ending it, and it is not gone yet


@dataclass(frozen=True, slots=True)
class SessionState:
    """One session from outside.

    Times are seconds since the epoch. `attached` counts the terminals that look at it.
    `agent_alive` is False when the session lives but none of the agent's process names does;
    `title` is what its program wrote over its window, `terminal` whether it has one to attach to.
    `standing` is other than `UP` only where sessions live on machines that come and go; `condition`
    says then what is the matter.
    """

    name: str
    life: Life
    process: ProcessId | None = None
    created: float | None = None
    last_activity: float | None = None
    attached: int = 0
    meta: Mapping[str, str] = field(default_factory=dict)
    agent_alive: bool = True
    title: str = ""
    terminal: bool = True
    standing: Standing = Standing.UP
    condition: str = ""

    @property
    def run(self) -> str:
        """The incarnation this is, or the empty string for a session nobody numbered."""
        return self.meta.get(RUN, "")


@dataclass(frozen=True, slots=True)
class Shown:
    """What the screen of the incarnation `run` was read as, with the rows at its bottom.

    `since` is when the reading became what it is, `still` when the screen last changed; `asked_at`
    is the monotonic moment at which it was asked for. `until` is when a reading that comes from a
    hook has to be looked at again; None for one that comes from the screen.
    """

    run: str
    reading: Reading
    since: float
    still: float
    bottom: tuple[str, ...] = ()
    asked_at: float = field(default=0.0, compare=False)
    until: float | None = None


@dataclass(frozen=True, slots=True)
class Seen:
    """The provider answered: these sessions exist, and no others."""

    sessions: Mapping[str, SessionState] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Unseen:
    """The provider did not answer. Nothing may be concluded from it."""

    reason: str


Observation = Seen | Unseen


@dataclass(frozen=True, slots=True)
class Observed:
    """Everything a plan may look at.

    `providers` maps a provider's name to its answer; a provider that was not asked is missing,
    which counts as not knowing. `demand` is the wanted size of each pool whose check answered.
    `busy` says of each session something is being done to right now what that is; those of them
    that are only typed at are `typed_at`, those that are brought up `starting`; of these, those
    whose start may be given up for a stop are `yielding`. `shown` holds what screens were read as,
    `queued` the first message that waits for each session; `unread` are the sessions whose screens
    have rules and were not read yet. `looked_at` is when the look at each provider began: what was
    seen may be as old as that. `stood_still` is when nobody could do anything.
    """

    providers: Mapping[str, Observation] = field(default_factory=dict)
    demand: Mapping[str, int] = field(default_factory=dict)
    busy: Mapping[str, str] = field(default_factory=dict)
    typed_at: frozenset[str] = frozenset()
    starting: frozenset[str] = frozenset()
    yielding: frozenset[str] = frozenset()
    shown: Mapping[str, Shown] = field(default_factory=dict)
    queued: Mapping[str, QueuedNudge] = field(default_factory=dict)
    unread: frozenset[str] = frozenset()
    looked_at: Mapping[str, float] = field(default_factory=dict)
    stood_still: Standstills = NEVER
