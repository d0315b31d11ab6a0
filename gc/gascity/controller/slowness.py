"""Ticks that take too long: told, because every agent waits meanwhile, but not every time."""

from __future__ import annotations

import time
from collections.abc import Callable

from gascity.core.actions import Event, EventType

PAUSE = 60.0  # seconds between two such events


class TickBudget:
    """Judges how long ticks take. Used by the loop's thread alone."""

    def __init__(self, budget: Callable[[], float]) -> None:
        self._budget = budget
        self._since = 0
        self._worst = 0.0
        self._quiet_until = 0.0

    def judge(self, seconds: float, agents: int) -> list[Event]:
        """Return what has to be said of a tick that took so long over so many agents."""
        budget = self._budget()
        if budget <= 0 or seconds <= budget:
            return []
        self._since += 1
        self._worst = max(self._worst, seconds)
        now = time.monotonic()
        if now < self._quiet_until:
            return []
        times = f", {self._since} times since the last word of it" if self._since > 1 else ""
        message = (
            f"a decision over {agents} agents took {self._worst * 1000:.0f} ms, more than"
            f" tick_budget ({budget * 1000:.0f} ms){times}"
        )
        self._since, self._worst, self._quiet_until = 0, 0.0, now + PAUSE
        return [Event(EventType.CONTROLLER_SLOW, message=message)]
