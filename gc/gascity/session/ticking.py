"""A watch for providers that are told nothing: it wakes at intervals."""

from __future__ import annotations

import threading
from collections.abc import Callable

from gascity.session.provider import Watch


class Ticking(Watch):
    """Calls `wake` every `interval` seconds, from a thread of its own, until closed."""

    def __init__(self, wake: Callable[[], None], interval: float) -> None:
        self._ended = threading.Event()
        self._wake = wake
        self._interval = interval
        threading.Thread(target=self._run, name="provider-watch", daemon=True).start()

    def close(self) -> None:
        """Stop calling back."""
        self._ended.set()

    def _run(self) -> None:
        while not self._ended.wait(self._interval):
            self._wake()
