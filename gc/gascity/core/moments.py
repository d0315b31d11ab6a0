"""Times in sentences: the core writes down which moment it means, who shows it says when that is.

What a clock shows depends on where the reader is, so a sentence of the core holds a mark in the
place of a time. `told` puts words there.
"""

from __future__ import annotations

import re
from collections.abc import Callable

_MARK = re.compile("\x1f(-?[0-9]{1,12}\\.[0-9]{3})\x1f")
_UNITS = (("d", 86400), ("h", 3600), ("m", 60), ("s", 1))


def moment(at: float) -> str:
    """Return the mark of a moment, in seconds since the epoch."""
    return f"\x1f{at:.3f}\x1f"


def told(text: str, tell: Callable[[float], str]) -> str:
    """Return a sentence with `tell` of each moment in the place of its mark."""
    return _MARK.sub(lambda found: tell(float(found[1])), text)


def span(seconds: float) -> str:
    """Return a duration in at most two units: `3s`, `3m 20s`, `1h`, `2d 4h`."""
    left = max(0, round(seconds))
    parts: list[str] = []
    for unit, size in _UNITS:
        count, left = divmod(left, size)
        if count:
            parts.append(f"{count}{unit}")
        elif parts:
            break  # what follows is too small to matter beside the first
        if len(parts) == 2:
            break
    return " ".join(parts) or "0s"
