"""Moments as people read them: what the clock shows here, and how far away that is."""

from __future__ import annotations

from datetime import datetime

from gascity.core.moments import told
from gascity.core.spans import span

SOON = 60.0  # seconds within which the seconds of a clock matter


def when(at: float, now: float) -> str:
    """Return a moment in local time and from now: `14:05, in 3m 20s`, `14:01:30, 9s ago`."""
    try:
        local, today = datetime.fromtimestamp(at), datetime.fromtimestamp(now)  # noqa: DTZ006  local
    except (OverflowError, OSError, ValueError):  # a time that no calendar has
        return "at no known time"
    away = at - now
    clock = "%H:%M:%S" if abs(away) < SOON else "%H:%M"
    shown = local.strftime(clock if local.date() == today.date() else f"%Y-%m-%d {clock}")
    if round(away) == 0:
        return f"{shown}, now"
    return f"{shown}, in {span(away)}" if away > 0 else f"{shown}, {span(-away)} ago"


def with_times(text: str, now: float) -> str:
    """Return a sentence of the core with its moments as people read them."""
    return told(text, lambda at: when(at, now))
