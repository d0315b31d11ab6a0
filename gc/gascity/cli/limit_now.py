"""How many runs of a city may live at once, as its file says now and not when the wait began."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

from gascity.errors import GascityError

Stamp = tuple[int, int, int]


class LimitNow:
    """Tells the limit, and reads the file again when it is another one.

    One with a mistake, or none, changes nothing.
    """

    def __init__(self, city_file: str, places: int) -> None:
        self._file, self._places = city_file, places
        self._seen = _stamp(city_file)

    def __call__(self) -> int:
        """Return the limit, 0 for none."""
        there = _stamp(self._file)
        if there != self._seen:
            from gascity.controller.opening import read_city

            self._seen = there
            with contextlib.suppress(GascityError, OSError):
                self._places = read_city(Path(self._file)).runs.max_concurrent
        return self._places


def _stamp(path: str) -> Stamp | None:
    try:
        there = os.stat(path)
    except OSError:
        return None
    return there.st_mtime_ns, there.st_size, there.st_ino
