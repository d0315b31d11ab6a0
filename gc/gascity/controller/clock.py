"""Seconds since the epoch that never jump while the controller runs.

Durable times need an epoch, timers need a clock nobody sets: the wall clock is read once, and from
then on the monotonic one carries it.
"""

from __future__ import annotations

import time


class Clock:
    """The clock of one controller."""

    def __init__(self) -> None:
        self._offset = time.time() - time.monotonic()

    def now(self) -> float:
        """Return the time."""
        return self._offset + time.monotonic()
