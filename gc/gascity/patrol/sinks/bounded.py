"""A time limit for calls that have none of their own.

A library that resolves a name or reads an answer byte by byte can take for ever. Such a call runs
in a thread of its own that is left behind when its time is over; until it has come back it is not
begun again, so at most one is left behind for each thing that is called.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping

from gascity.patrol.notice import SinkFailed

Call = Callable[[], None]


class Bounded:
    """Calls by name, all of them within one time limit. Used by one thread."""

    def __init__(self, timeout: float) -> None:
        self._timeout = timeout
        self._left: dict[str, threading.Thread] = {}

    def run(self, calls: Mapping[str, Call]) -> dict[str, SinkFailed]:
        """Make all calls at once; return why which of them did not go well, by their names."""
        deadline = time.monotonic() + self._timeout
        failed: dict[str, SinkFailed] = {}
        for name, call in calls.items():
            if (left := self._left.get(name)) is not None and left.is_alive():
                failed[name] = SinkFailed("is still busy with an earlier alert")
                continue
            self._left[name] = threading.Thread(
                target=_make, args=(name, call, failed), name=f"gc-alert-{name}", daemon=True
            )
            self._left[name].start()
        for name in [name for name in calls if name not in failed]:
            self._left[name].join(max(deadline - time.monotonic(), 0.0))
            if self._left[name].is_alive():
                failed[name] = SinkFailed(f"did not answer within {self._timeout:g} s")
            else:
                del self._left[name]
        return {name: failed[name] for name in calls if name in failed}


def _make(name: str, call: Call, failed: dict[str, SinkFailed]) -> None:
    try:
        call()
    except SinkFailed as problem:
        failed[name] = problem
    except Exception as problem:  # noqa: BLE001  a library may raise anything, and its words may hold the address
        failed[name] = SinkFailed(f"failed with {type(problem).__name__}")
