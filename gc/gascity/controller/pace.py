"""How often a loop with many news decides: ten times at once, then two hundred times a second."""

from __future__ import annotations

import time

COST = 0.005  # each tick costs this much of a budget ...
BURST = 0.050  # ... of which so much can be spent at once


class Pace:
    """Counts ticks. Used by the loop's thread alone."""

    def __init__(self) -> None:
        self._paid_until = 0.0

    def rest(self) -> float:
        """Return how long news have to wait: not at all, but for a long burst of them."""
        return self._paid_until - BURST - time.monotonic()

    def spend(self) -> None:
        """A tick begins."""
        self._paid_until = max(self._paid_until, time.monotonic()) + COST
