"""Being told at once that a pod changed, and of one that was taken away."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from gascity.session.watch import SeenCallback, Watch
from gascity_kubernetes import state
from gascity_kubernetes.cluster import Cluster
from gascity_kubernetes.state import Pod


class PodWatch(Watch):
    """Calls back until closed; while there is one, the API is asked nothing but to tell.

    A pod that is gone leaves nothing that could be looked at, so `seen` is told of the end of its
    session. `wake` is for all else.
    """

    def __init__(
        self, cluster: Cluster, wake: Callable[[], None], seen: SeenCallback | None
    ) -> None:
        self._cluster = cluster
        self._wake = wake
        self._seen = seen
        self._lock = threading.Lock()
        self._is_closed = False
        cluster.listeners.add(self._hear)
        cluster.pods.mourners.add(self._mourn)
        cluster.follow()

    def close(self) -> None:
        """Stop calling back."""
        self._cluster.listeners.discard(self._hear)
        self._cluster.pods.mourners.discard(self._mourn)
        with self._lock:
            self._is_closed = True

    def _hear(self) -> None:
        with self._lock:
            if not self._is_closed:
                self._wake()

    def _mourn(self, pod: Pod) -> None:
        ended = state.removed(pod)
        with self._lock:
            if self._is_closed or self._seen is None or not ended.name:
                return
            if state.is_staged(pod) and not state.is_over(pod):
                self._seen({ended.name: ended}, time.monotonic(), whole=False)
