"""Seconds since the epoch that never jump while the controller runs.

Durable times need an epoch, timers need a clock nobody sets: the wall clock is read once, and from
then on one carries it that nobody sets and that goes on while the machine sleeps.
"""

from __future__ import annotations

import time

from gascity import awake
from gascity.core.standstill import Standstills


class Clock:
    """The clock of one controller."""

    def __init__(self) -> None:
        self._offset = time.time() - awake.elapsed()

    def now(self) -> float:
        """Return the time."""
        return self._offset + awake.elapsed()

    def standstills(self) -> Standstills:
        """Return when this process stood still, and most likely everybody on its machine."""
        offset = self._offset
        return Standstills(
            tuple((offset + began, offset + ended) for began, ended in awake.standstills())
        )
