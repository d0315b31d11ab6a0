"""Noticing that a journal may have changed, whoever wrote to it.

Its folder is watched: SQLite writes to a file beside the journal that comes and goes. Nothing is
told of what changed; whoever hears of it reads what is new by number.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from types import TracebackType

STEP = 20  # milliseconds in which changes that come together are one ...
LONGEST = 100  # ... and after which they are told in any case
NET = 1000  # milliseconds; should the watch miss something, it is found after these


def changes(folder: str, stop: threading.Event) -> Iterator[None]:
    """Yield now, whenever a file of the folder has changed, or may have, and every second.

    While there is no such folder the one above it is watched. Ends once `stop` is set; raises
    KeyboardInterrupt when that was pressed.
    """
    yield
    while not stop.is_set():
        there = os.path.isdir(folder)
        try:
            for _ in _told(folder if there else os.path.dirname(folder), stop):
                yield
                if os.path.isdir(folder) != there:
                    break
        except (OSError, RuntimeError):  # the system has no watch left for us
            stop.wait(NET / 1000)
            yield


def _told(folder: str, stop: threading.Event) -> Iterator[None]:
    from watchfiles._rust_notify import RustNotify  # noqa: PLC0415  its package brings anyio along

    with RustNotify([folder], False, False, 0, False, False) as notify:  # noqa: FBT003  it takes no names
        yield  # from here on nothing is missed
        while True:
            match notify.watch(LONGEST, STEP, NET, stop):
                case "stop":
                    return
                case "signal":
                    raise KeyboardInterrupt
                case _:
                    yield


class Lookout:
    """Calls `tell` when somebody may have written to a journal, for as long as anybody listens.

    Each listener holds it in a `with`; one thread watches for all of them. Thread-safe.
    """

    def __init__(self, journal: str, tell: Callable[[], None]) -> None:
        self._folder = os.path.dirname(os.path.realpath(journal))
        self._tell = tell
        self._lock = threading.Lock()
        self._listeners = 0
        self._stop = threading.Event()

    def __enter__(self) -> None:
        with self._lock:
            self._listeners += 1
            if self._listeners == 1:
                self._stop = threading.Event()
                threading.Thread(
                    target=self._watch, args=(self._stop,), name="lookout", daemon=True
                ).start()

    def __exit__(
        self, _: type[BaseException] | None, __: BaseException | None, ___: TracebackType | None
    ) -> None:
        with self._lock:
            self._listeners -= 1
            if self._listeners == 0:
                self._stop.set()

    def _watch(self, stop: threading.Event) -> None:
        for _ in changes(self._folder, stop):
            self._tell()
