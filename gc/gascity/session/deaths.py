"""Being told by the kernel, at once, that one of some processes ended.

For providers whose backend may be late to tell. Where the kernel has no descriptors for processes
nothing is told, and the backend has to do.
"""

from __future__ import annotations

import contextlib
import os
import select
import sys
import threading
from collections.abc import Callable, Iterable, Sequence

from gascity.core.observed import ProcessId
from gascity.session import pids


class Deaths:
    """Calls `tell` with the expected processes that ended, mostly from a thread of its own."""

    def __init__(self, tell: Callable[[Sequence[ProcessId]], None]) -> None:
        self._tell = tell
        self._lock = threading.Lock()
        self._watched: dict[ProcessId, int] = {}
        self._is_closed = sys.platform != "linux"
        if sys.platform == "linux":
            self._poll = select.epoll()
            stop, self._stop = os.pipe()
            self._poll.register(stop, select.EPOLLIN)
            self._stopped = stop
            threading.Thread(target=self._run, name="deaths", daemon=True).start()

    def expect(self, processes: Iterable[ProcessId]) -> None:
        """Watch these from now on, and no others."""
        wanted = set(processes)
        with self._lock:
            if self._is_closed:
                return
            for gone in [process for process in self._watched if process not in wanted]:
                self._drop(gone)
            fresh = [process for process in wanted if process not in self._watched]
            for process in fresh:
                self._add(process)
            late = [one for one in fresh if pids.table.started(one.pid) != one.started]
        if late:
            self._tell(late)

    def close(self) -> None:
        """Watch nothing any more."""
        with self._lock:
            if self._is_closed:
                return
            self._is_closed = True
            for process in tuple(self._watched):
                self._drop(process)
            os.write(self._stop, b"x")

    def _add(self, process: ProcessId) -> None:
        descriptor = pids.descriptor_of(process.pid)
        if descriptor is None:
            return
        if pids.table.started(process.pid) != process.started:
            os.close(descriptor)
            return
        self._watched[process] = descriptor
        self._poll.register(descriptor, select.EPOLLIN)

    def _drop(self, process: ProcessId) -> None:
        descriptor = self._watched.pop(process)
        with contextlib.suppress(OSError):
            self._poll.unregister(descriptor)
        os.close(descriptor)

    def _run(self) -> None:
        while True:
            ended = {descriptor for descriptor, _ in self._poll.poll()}
            with self._lock:
                if self._is_closed:
                    self._poll.close()
                    os.close(self._stop)
                    os.close(self._stopped)
                    return
                gone = [one for one, descriptor in self._watched.items() if descriptor in ended]
                for process in gone:
                    # It stays known, so that it is not told again while the backend catches up.
                    self._poll.unregister(self._watched[process])
            if gone:
                self._tell(gone)
