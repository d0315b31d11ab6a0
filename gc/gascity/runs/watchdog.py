"""The limits of a run: how long it may take, and how long it may say nothing.

A run that has no limit is not looked at at all. One that may not be silent is looked at a few times
in its span: whether one of the files that it writes has grown. A machine that stands still silences
everybody, so that does not count as silence.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Self

from gascity import awake
from gascity.config.durations import format_duration
from gascity.runs.context import Cancel

LOOKS = 8  # at the files, within the time a run may be silent
MOST_OFTEN, LEAST_OFTEN = 0.05, 5.0  # seconds between two of them
SILENT = "it said nothing"


@dataclass(frozen=True, slots=True)
class Limits:
    """In seconds; None for no limit. `grace` is what a run has to end in when it is stopped."""

    wall: float | None = None
    idle: float | None = None
    grace: float = 5.0


class TimedOut(str):
    """The reason of a cancel that a limit caused."""

    __slots__ = ()


class Watchdog:
    """Cancels a run that breaks a limit, for as long as it is watched in a `with`."""

    def __init__(self, limits: Limits, files: Sequence[str], cancel: Cancel) -> None:
        self._limits = limits
        self._files = files
        self._cancel = cancel
        self._over = threading.Event()
        self._thread: threading.Thread | None = None

    def __enter__(self) -> Self:
        if self._limits.wall is not None or self._limits.idle is not None:
            self._thread = threading.Thread(target=self._watch, name="watchdog", daemon=True)
            self._thread.start()
        return self

    def __exit__(
        self, _: type[BaseException] | None, __: BaseException | None, ___: TracebackType | None
    ) -> None:
        self._over.set()
        if self._thread is not None:
            self._thread.join()

    def _watch(self) -> None:
        begun, heard = time.monotonic(), awake.seconds()
        size = self._size()
        while not self._over.is_set():
            if self._size() != size:
                size, heard = self._size(), awake.seconds()
            taken, silent = time.monotonic() - begun, awake.seconds() - heard
            rests = [
                (limit - spent, limit, said)
                for limit, spent, said in (
                    (self._limits.wall, taken, "timed out after {}"),
                    (self._limits.idle, silent, f"timed out: {SILENT} for {{}}"),
                )
                if limit is not None
            ]
            rest, limit, said = min(rests)
            if rest <= 0:
                self._cancel.set(TimedOut(said.format(format_duration(limit))))
                return
            self._over.wait(min(rest, self._pace()))

    def _pace(self) -> float:
        """Return how long is waited at most before the files are looked at again."""
        if self._limits.idle is None:
            return self._limits.wall or LEAST_OFTEN
        return max(MOST_OFTEN, min(self._limits.idle / LOOKS, LEAST_OFTEN))

    def _size(self) -> int:
        total = 0
        for path in self._files if self._limits.idle is not None else ():
            try:
                total += os.stat(path).st_size
            except OSError:
                continue
        return total
