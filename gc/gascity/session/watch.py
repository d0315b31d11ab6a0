"""Listening to a provider: what it calls when something changed, and how to stop it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import Protocol

from gascity.core.observed import SessionState


class SeenCallback(Protocol):
    """Takes what a provider tells unasked of its sessions, and the monotonic moment it was true.

    It tells of all of them or, where it is not `whole`, of some that ended and of no others.
    """

    def __call__(
        self, sessions: Mapping[str, SessionState], at: float, *, whole: bool = True
    ) -> None:
        """Take the news; safe from any thread."""


class Watch:
    """A running subscription; `close` ends it and may be called more than once."""

    def close(self) -> None:
        """Stop calling back."""


class Ticking(Watch):
    """Wakes every `interval` seconds: for who cannot be told of changes."""

    def __init__(self, wake: Callable[[], None], interval: float) -> None:
        self._ended = threading.Event()
        self._wake = wake
        self._interval = interval
        threading.Thread(target=self._run, name="provider-watch", daemon=True).start()

    def _run(self) -> None:
        while not self._ended.wait(self._interval):
            self._wake()

    def close(self) -> None:
        """Stop waking."""
        self._ended.set()
