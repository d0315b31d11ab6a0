"""Who leads, decided by one process from what it has seen of a lease. Only records and times.

Never two at once, and no two clocks are ever compared. Whoever leads acts for `ACTS` seconds after
the *request* for its last renewal went out. Whoever waits takes over when `duration` seconds have
passed since the *answer* came in which it first saw a record that is still the same: that answer is
younger than the request. Every write names the version it replaces, so the API lets one through.
A lease that is not there is made in nobody's name and waited for like any other, because it may
have been taken from under somebody who leads.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

DURATION = 10.0  # seconds that a record has to stay the same before another takes over
ACTS = 6.0  # seconds that a leader acts without another renewal
RENEWS = 2.0  # seconds between two renewals
LOOKS = 1.0  # seconds between two looks of one who waits
RETRIES = 0.5  # seconds after which is tried again what got no answer
NOBODY = "nobody"  # holds a lease that was made and never taken

FREE = "nobody led"


@dataclass(frozen=True, slots=True)
class Record:
    """A lease as the API gave it out: one who leads changes its `version` with each renewal.

    Without a version there is no lease.
    """

    holder: str = ""
    version: str = ""
    duration: float = DURATION
    transitions: int = 0
    acquired: str = ""


ABSENT = Record()


@dataclass(frozen=True, slots=True)
class Candidate:
    """What one process knows, with times of its own clock.

    `seen_at` is when the answer came that first had the record `seen`; None before the first one.
    `renewed` is when the request went out that made it leader or kept it so; None while it waits.
    `due` is when the next step is. `doubtful` says that the record may be another by now.
    """

    identity: str
    seen: Record | None = None
    seen_at: float = 0.0
    renewed: float | None = None
    due: float = float("-inf")
    doubtful: bool = False


@dataclass(frozen=True, slots=True)
class Wait:
    """Do nothing until this moment."""

    until: float


@dataclass(frozen=True, slots=True)
class Look:
    """Read the lease."""


@dataclass(frozen=True, slots=True)
class Make:
    """Make a lease that nobody holds."""


@dataclass(frozen=True, slots=True)
class Write:
    """Replace the record that was seen by one that says that we lead; `why` it is ours to take."""

    record: Record
    why: str


@dataclass(frozen=True, slots=True)
class Over:
    """Do not lead any more: it cannot be had back."""

    why: str


Step = Wait | Look | Make | Write | Over


def acts_until(candidate: Candidate) -> float:
    """Return the moment from which it must not act, on its own clock."""
    return float("-inf") if candidate.renewed is None else candidate.renewed + ACTS


def next_step(candidate: Candidate, now: float) -> Step:
    """Return what to do now."""
    if candidate.renewed is not None:
        return _of_a_leader(candidate, now)
    seen = candidate.seen
    if now < candidate.due:
        return Wait(candidate.due)
    if seen is None or candidate.doubtful:
        return Look()
    if not seen.version:
        return Make()
    why = _why_ours(candidate, seen, now)
    return Write(seen, why) if why else Look()


def saw(candidate: Candidate, record: Record, now: float) -> Candidate:
    """Return what is known after an answer to a look, which came `now`."""
    first = candidate.seen is None or record.version != candidate.seen.version
    since = now if first else candidate.seen_at
    known = replace(candidate, seen=record, seen_at=since, doubtful=False, due=now)
    if known.renewed is not None or not record.version or _is_free(known, record):
        return known
    ripe = since + _patience(record)
    return replace(known, due=min(now + LOOKS, ripe) if ripe > now else now)


def wrote(candidate: Candidate, record: Record, began: float, now: float) -> Candidate:
    """Return what is known after a write that succeeded: its request went out when it `began`."""
    return replace(
        candidate, seen=record, seen_at=now, renewed=began, due=began + RENEWS, doubtful=False
    )


def was_outrun(candidate: Candidate, now: float) -> Candidate:
    """Return what is known after the API refused a write: the record is another."""
    return replace(candidate, doubtful=True, due=now)


def heard_nothing(candidate: Candidate, now: float) -> Candidate:
    """Return what is known after no answer came: what was asked for may have been done."""
    return replace(candidate, doubtful=True, due=now + RETRIES)


def _of_a_leader(candidate: Candidate, now: float) -> Step:
    seen = candidate.seen
    if now >= acts_until(candidate):
        return Over(f"its lease could not be renewed for {ACTS:g} s")
    if seen is None or not seen.version:
        return Over("its lease is gone")
    if seen.holder != candidate.identity:
        return Over(f"{called(seen.holder)} leads now")
    if now < candidate.due:
        return Wait(min(candidate.due, acts_until(candidate)))
    return Look() if candidate.doubtful else Write(seen, "")


def _why_ours(candidate: Candidate, seen: Record, now: float) -> str:
    if _is_free(candidate, seen):
        return FREE
    if now < candidate.seen_at + _patience(seen):
        return ""
    silent = f"{called(seen.holder)} was silent for {_patience(seen):g} s"
    return FREE if seen.holder == NOBODY else silent


def _is_free(candidate: Candidate, seen: Record) -> bool:
    """Tell whether it was given back, or is ours by a write whose answer was lost."""
    return seen.holder in ("", candidate.identity)


def _patience(record: Record) -> float:
    """Return how long to wait: what its holder may count on, and never less than we count on."""
    return max(record.duration, DURATION)


def called(holder: str) -> str:
    """Return how people know a holder: without what makes its name unique."""
    return holder.rpartition("_")[0] or holder or NOBODY
