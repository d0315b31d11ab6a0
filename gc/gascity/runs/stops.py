"""The end of a task from outside: a signal, or its time that is over.

A run is cancelled for itself when it says nothing for too long, and then the task goes on. What
ends the task ends the run of the moment too, and all that would come after it. Nothing here takes
a lock: it is called from signal handlers.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator

from gascity.config.durations import format_duration
from gascity.runs.context import Cancel
from gascity.runs.watchdog import TimedOut


class Stops:
    """Whether a task is to end, and the cancel of its run of the moment."""

    def __init__(self) -> None:
        self.whole = Cancel()
        self._run: Cancel | None = None

    def set(self, reason: str) -> None:
        """End the task, and its run if there is one."""
        self.whole.set(reason)
        one = self._run  # asked once: the run may end meanwhile in another thread
        if one is not None:
            one.set(self.whole.reason)

    @contextlib.contextmanager
    def run(self) -> Iterator[Cancel]:
        """Give the cancel of one run; it is set when the task is to end, or was to end before."""
        one = self._run = Cancel()
        try:
            if self.whole.is_set():  # asked after `_run` is known: no stop falls between
                one.set(self.whole.reason)
            yield one
        finally:
            self._run = None

    @contextlib.contextmanager
    def after(self, seconds: float | None) -> Iterator[None]:
        """End the task when it takes longer than this."""
        if seconds is None:
            yield
            return
        reason = TimedOut(f"timed out after {format_duration(seconds)}")
        timer = threading.Timer(seconds, self.set, [reason])
        timer.daemon = True
        timer.start()
        try:
            yield
        finally:
            timer.cancel()
