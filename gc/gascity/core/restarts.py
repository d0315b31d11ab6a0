"""When a session may be started again.

Only counts and times: whether it *should* run is decided in `plan`. The first restart is
immediate, each later one waits twice as long as the one before, and when `max_restarts` fall into
one window there is none until the oldest of them has left it. The jitter that keeps a hundred
agents from restarting in step is taken from the session's name, so the same question always gets
the same answer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256

from gascity.core.model import RestartPolicy

JITTER = 0.1


@dataclass(frozen=True, slots=True)
class Now:
    """It may be started."""


@dataclass(frozen=True, slots=True)
class Wait:
    """Not before `until`."""

    until: float


@dataclass(frozen=True, slots=True)
class Quarantine:
    """Too often: not before `until`, unless somebody changes something."""

    until: float


Verdict = Now | Wait | Quarantine


def recent(times: Sequence[float], window: float, now: float) -> tuple[float, ...]:
    """Return the times within the last `window` seconds."""
    return tuple(time for time in times if time + window > now)


def delay(count: int, policy: RestartPolicy, salt: str) -> float:
    """Return how long to wait before the restart that follows `count` others."""
    if count <= 0:
        return 0.0
    doubled = policy.first_delay * 2.0 ** min(count - 1, 60)
    return min(doubled * (1 + _jitter(f"{salt}/{count}")), policy.longest_delay)


def after_crash(
    restarts: Sequence[float], ended_at: float, policy: RestartPolicy, now: float, salt: str
) -> Verdict:
    """Tell when a session that crashed at `ended_at` may be restarted."""
    counted = recent(restarts, policy.window, now)
    if 0 < policy.max_restarts <= len(counted):
        return Quarantine(counted[-policy.max_restarts] + policy.window)
    due = ended_at + delay(len(counted), policy, salt)
    return Wait(due) if due > now else Now()


def after_failures(
    failures: Sequence[float], policy: RestartPolicy, now: float, salt: str
) -> Verdict:
    """Tell when a start that failed may be tried again."""
    counted = recent(failures, policy.window, now)
    if not counted:
        return Now()
    if 0 < policy.max_restarts < len(counted):
        return Quarantine(counted[-policy.max_restarts - 1] + policy.window)
    due = counted[-1] + delay(len(counted), policy, salt)
    return Wait(due) if due > now else Now()


def _jitter(salt: str) -> float:
    drawn = int.from_bytes(sha256(salt.encode()).digest()[:4], "big") / 2**32
    return (2 * drawn - 1) * JITTER
