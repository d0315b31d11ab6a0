"""Daemon threads that make the blocking calls.

Threads come when there is work and go when there is none. Nothing ever waits for them at the end:
a call that is stuck must not keep the controller from exiting.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable

Job = Callable[[], object]
MOST = 64
PATIENCE = 2.0


class Workers:
    """Runs jobs soon, on at most `most` threads. A job reports by itself and must not raise."""

    def __init__(self, most: int = MOST) -> None:
        self._most = most
        self._jobs: queue.SimpleQueue[Job] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._threads = 0
        self._idle = 0

    def submit(self, job: Job) -> None:
        """Have `job` run; never blocks."""
        with self._lock:
            grow = self._idle <= self._jobs.qsize() and self._threads < self._most
            self._threads += grow
        self._jobs.put(job)
        if grow:
            threading.Thread(target=self._work, name="worker", daemon=True).start()

    def _work(self) -> None:
        while True:
            with self._lock:
                self._idle += 1
            try:
                job = self._jobs.get(timeout=PATIENCE)
            except queue.Empty:
                with self._lock:
                    self._idle -= 1
                    if self._jobs.empty():
                        self._threads -= 1
                        return
                continue
            with self._lock:
                self._idle -= 1
            job()
