"""Durations as people write them: `500ms`, `30s`, `1h30m`."""

from __future__ import annotations

import re

LONGEST = 365 * 24 * 3600.0

_SECONDS = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 0.001}
_PART = r"[0-9]{1,9}(?:\.[0-9]{1,9})?"
_WHOLE = re.compile(rf"(?:{_PART}h)?(?:{_PART}m(?!s))?(?:{_PART}s)?(?:{_PART}ms)?", re.ASCII)
_PARTS = re.compile(rf"({_PART})(ms|h|m|s)", re.ASCII)


def parse_duration(value: object) -> float:
    """Return the seconds in a text such as `1h30m`.

    Raises ValueError, with a sentence for the city's author, for anything else.
    """
    if isinstance(value, int | float) and not isinstance(value, bool):
        raise ValueError('expected a duration with a unit, such as "30s" or "5m"')  # noqa: TRY004  pydantic reports ValueError only
    if not isinstance(value, str) or not value or _WHOLE.fullmatch(value) is None:
        raise ValueError('expected a duration such as "500ms", "30s", "5m" or "1h30m"')
    seconds = sum(float(number) * _SECONDS[unit] for number, unit in _PARTS.findall(value))
    if seconds > LONGEST:
        raise ValueError('expected a duration of at most a year, "8760h"')
    return seconds


def format_duration(seconds: float) -> str:
    """Return the shortest text that `parse_duration` reads as `seconds`, to the millisecond."""
    left = round(seconds * 1000)
    parts = []
    for unit, size in (("h", 3_600_000), ("m", 60_000), ("s", 1000), ("ms", 1)):
        count, left = divmod(left, size)
        if count:
            parts.append(f"{count}{unit}")
    return "".join(parts) or "0s"
