"""Times in sentences: the core writes down which moment it means, who shows it says when that is.

What a clock shows depends on where the reader is, so a sentence of the core holds a mark in the
place of a time. `told` puts words there.
"""

from __future__ import annotations

import re
from collections.abc import Callable

_MARK = re.compile("\x1f(-?[0-9]{1,12}\\.[0-9]{3})\x1f")


def moment(at: float) -> str:
    """Return the mark of a moment, in seconds since the epoch."""
    return f"\x1f{at:.3f}\x1f"


def told(text: str, tell: Callable[[float], str]) -> str:
    """Return a sentence with `tell` of each moment in the place of its mark."""
    return _MARK.sub(lambda found: tell(float(found[1])), text)
