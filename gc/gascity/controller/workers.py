"""Daemon threads that make the blocking calls.

A few threads serve many short calls best, and stay, because making one takes longer than most
calls; a call that waits (a slow start) must not hold up the others. So more come when a job has had
to wait for a moment, and go again. Nothing
ever waits for a thread at the end: a call that is stuck must not keep the controller from exiting.
"""

from __future__ import annotations

import queue
import threading
import traceback
from collections.abc import Callable

Job = Callable[[], object]
FEW = 6
MOST = 256
MOMENT = 0.03  # how long a job may wait before more threads come
PATIENCE = 5.0  # how long one thread too many stays without work


class Workers:
    """Runs jobs soon. A job reports by itself; one that raises is told on standard error."""

    def __init__(self, few: int = FEW, most: int = MOST) -> None:
        self._few = few
        self._most = most
        self._jobs: queue.SimpleQueue[Job] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._threads = 0
        self._unfinished = 0
        self._relieving = False

    def submit(self, job: Job) -> None:
        """Have `job` run; never blocks."""
        with self._lock:
            self._unfinished += 1
            waits = self._unfinished > self._threads
            grow = waits and self._threads < self._few
            relieve = waits and not grow and not self._relieving
            self._threads += grow
            self._relieving = self._relieving or relieve
            self._jobs.put(job)  # under the lock: a thread that leaves looks here first
        if grow:
            self._begin(self._work)
        if relieve:
            self._begin(self._relieve)

    def _begin(self, work: Callable[[], None]) -> None:
        threading.Thread(target=work, name="worker", daemon=True).start()

    def _relieve(self) -> None:
        """Add a few threads at a time for as long as jobs wait and none of them is taken."""
        pause = threading.Event()
        while True:
            before = self._jobs.qsize()
            pause.wait(MOMENT)
            with self._lock:
                waiting = self._jobs.qsize()
                if not waiting:
                    self._relieving = False
                    return
                stuck = waiting >= before
                more = min(waiting, self._few, self._most - self._threads) if stuck else 0
                self._threads += more
            for _ in range(more):
                self._begin(self._work)

    def _work(self) -> None:
        while True:
            try:
                job = self._jobs.get(timeout=PATIENCE)
            except queue.Empty:
                with self._lock:
                    if self._jobs.empty() and self._threads > self._few:
                        self._threads -= 1
                        return
                continue
            try:
                job()
            except Exception:  # noqa: BLE001  one bad job must not cost a thread, nor pass unseen
                traceback.print_exc()
            with self._lock:
                self._unfinished -= 1
