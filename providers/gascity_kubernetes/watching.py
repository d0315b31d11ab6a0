"""Being told at once that a pod changed."""

from __future__ import annotations

import threading
from collections.abc import Callable

from gascity.session.watch import Watch
from gascity_kubernetes.cluster import Cluster


class PodWatch(Watch):
    """Calls `wake` until closed; while there is one, the API is asked nothing but to tell."""

    def __init__(self, cluster: Cluster, wake: Callable[[], None]) -> None:
        self._cluster = cluster
        self._wake = wake
        self._lock = threading.Lock()
        self._is_closed = False
        cluster.listeners.add(self._hear)
        cluster.follow()

    def close(self) -> None:
        """Stop calling back."""
        self._cluster.listeners.discard(self._hear)
        with self._lock:
            self._is_closed = True

    def _hear(self) -> None:
        with self._lock:
            if not self._is_closed:
                self._wake()
