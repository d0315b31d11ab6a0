"""Being told at once that something changed.

tmux says so on the control connection that every question goes over: when sessions come and go,
when somebody attaches or leaves, when a program ends (the hub is told then) and when the connection
itself ends. What is certain
about an end (`ends`) is handed on as it is. While there is no server, nothing runs: its socket is
looked for now and then.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping

from gascity.core.observed import SessionState
from gascity.errors import ProviderUnavailable
from gascity.session.watch import SeenCallback, Watch
from gascity_tmux.listeners import HUB, Listeners
from gascity_tmux.server import Server

TIMEOUT = 5.0
LOOK = 0.2  # seconds between two looks for a server
_PEOPLE = ("client-session-changed", "client-detached")
_NEWS = frozenset({HUB, "sessions-changed", "session-renamed", *_PEOPLE, "up", "down"})


class TmuxWatch(Watch):
    """Calls `seen`, for ends, or `wake` until closed, and keeps a connection to be told over."""

    def __init__(
        self,
        server: Server,
        listeners: Listeners,
        wake: Callable[[], None],
        seen: SeenCallback | None,
        interval: float,
    ) -> None:
        self._server = server
        self._listeners = listeners
        self._wake = wake
        self._seen = seen
        self._interval = interval
        self._lock = threading.Lock()
        self._ended = threading.Event()
        self._lost = threading.Event()
        listeners.words.add(self._hear)
        listeners.ends.add(self._told)
        threading.Thread(target=self._stay_connected, name="tmux-watch", daemon=True).start()

    def close(self) -> None:
        """Stop calling back."""
        self._listeners.words.discard(self._hear)
        self._listeners.ends.discard(self._told)
        with self._lock:
            self._ended.set()
        self._lost.set()

    def _hear(self, word: str) -> None:
        if word == "down":
            self._lost.set()
        if word in _NEWS:
            with self._lock:
                if not self._ended.is_set():
                    self._wake()

    def _told(self, ended: Mapping[str, SessionState], at: float) -> None:
        with self._lock:
            if self._ended.is_set():
                return
            if ended and self._seen is not None:
                self._seen(ended, at, whole=False)
            else:
                self._wake()

    def _stay_connected(self) -> None:
        while not self._ended.is_set():
            self._lost.clear()
            try:
                self._server.connect(deadline=time.monotonic() + TIMEOUT)
            except (ProviderUnavailable, OSError):
                self._ended.wait(self._interval)  # the loop asks too, and says so
            if not self._server.is_connected:
                self._ended.wait(min(self._interval, LOOK))
            else:
                self._lost.wait()
