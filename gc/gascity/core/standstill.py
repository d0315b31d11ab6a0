"""Patience with somebody who could not do anything.

Silence that comes from a machine that stood still is nobody's: whatever limits how long an agent
may do nothing, or how long it may take to finish, leaves such times out.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Standstills:
    """When the last standstills began and ended, the oldest first."""

    spans: tuple[tuple[float, float], ...] = ()

    def over(self, since: float, patience: float) -> float:
        """Return when a patience is over that began then."""
        end = since + patience
        for began, ended in self.spans:
            if began < end:
                end += max(ended - max(began, since), 0.0)
        return end


NEVER = Standstills()
