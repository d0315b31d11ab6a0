"""A clock that moves only when a test says so."""

from __future__ import annotations

import threading

NEW_YEAR = 1_767_225_600.0  # 2026-01-01 00:00:00 UTC: any fixed moment does


class FakeClock:
    """Two times, as a computer has them: the wall's, which people may set, and the steady one.

    Thread-safe. Both stand still until `advance` lets time pass; `jump` is someone setting the
    wall clock, forwards or backwards, which the steady time must not notice.
    """

    def __init__(self, now: float = NEW_YEAR, monotonic: float = 1000.0) -> None:
        self._lock = threading.Lock()
        self._now = now
        self._monotonic = monotonic

    def now(self) -> float:
        """Return the wall time, in seconds since the epoch."""
        with self._lock:
            return self._now

    def monotonic(self) -> float:
        """Return the steady time, in seconds since some moment."""
        with self._lock:
            return self._monotonic

    def advance(self, seconds: float) -> None:
        """Let time pass. Raises ValueError for a negative number: time does not run back."""
        if seconds < 0:
            raise ValueError(f"time does not run back, but advance got {seconds}; use jump")
        with self._lock:
            self._now += seconds
            self._monotonic += seconds

    def jump(self, seconds: float) -> None:
        """Set the wall clock forward, or back with a negative number. No time passes."""
        with self._lock:
            self._now += seconds
