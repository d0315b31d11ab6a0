"""Noticing that something changed in the guest.

The protocol tells nothing unasked, so the guest is looked at once a second. Who watches is woken
when a session came, went, ended or got other metadata, and when the guest stopped answering or
answers again; never because time has passed.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Hashable

from gascity.errors import ProviderError
from gascity.session.watch import Watch
from gascity_guest.view import View

TIMEOUT = 5.0


class GuestWatch(Watch):
    """Calls `wake` after each change until closed, and once at the beginning."""

    def __init__(self, view: View, wake: Callable[[], None], interval: float) -> None:
        self._view = view
        self._wake = wake
        self._interval = interval
        self._lock = threading.Lock()
        self._ended = threading.Event()
        threading.Thread(target=self._run, name="guest-watch", daemon=True).start()

    def close(self) -> None:
        """Stop calling back."""
        with self._lock:
            self._ended.set()

    def _run(self) -> None:
        known: Hashable = None
        while not self._ended.is_set():
            seen = self._look()
            if seen != known:
                known = seen
                with self._lock:
                    if not self._ended.is_set():
                        self._wake()
            self._ended.wait(self._interval)

    def _look(self) -> Hashable:
        try:
            look = self._view.look(time.monotonic() + TIMEOUT)
        except ProviderError as problem:
            return type(problem).__name__
        there = [(pane.key, pane.version, pane.life, pane.attached) for pane in look.panes]
        return look.server, look.traces, tuple(there)
