"""The status of a city, asked for again whenever it may be another.

A controller tells when something moved (`moves` in `controller/feed.py`); then it is asked what it
knows, which costs it no look at anything. One that went away is waited for: meanwhile the sessions
are looked at from here, every few seconds.
"""

from __future__ import annotations

import contextlib
import io
import os
import time
from collections.abc import Mapping

from gascity.asking import Listener
from gascity.cli.ask import ask_controller
from gascity.cli.city import Here
from gascity.cli.quick import STATUS_TIMEOUT
from gascity.controller.feed import MOVES
from gascity.errors import GascityError, HungUp, NotRunning, RemoteError, Unanswered, Unreachable

TIMEOUT = 2.0  # for the controller to answer
STEP = 0.1  # seconds between two questions, however much moves
NET = 10.0  # seconds after which one is asked that told nothing
ALONE = 5.0  # seconds between two looks from here; each costs as much as `gc status`
SOON = 1.0  # seconds after which a controller is looked for, or one that cannot tell is asked
SILENT = "it does not answer"

Document = Mapping[str, object]


class Pushed:
    """The status document of one city as it is now. One thread."""

    def __init__(self, here: Here) -> None:
        """Ask for the first time. Raises GascityError where there is nothing to show."""
        self._here = here
        self._state = here.state
        self._socket = os.path.join(self._state, "controller.sock")
        self._listener: Listener | None = None
        self._asked_at = 0.0
        self._next_at = 0.0
        self.note = ""
        self.document: Document = {}
        self._subscribe()
        self._ask({}, STATUS_TIMEOUT)

    def fileno(self) -> int:
        """Return a descriptor that can be read when something moved; -1 while nobody tells."""
        return -1 if self._listener is None else self._listener.fileno()

    def patience(self) -> float:
        """Return how long nothing has to be done here, if nobody tells of anything."""
        return max(self._next_at - time.monotonic(), 0.0)

    def hear(self) -> None:
        """Take what can be read: it is asked soon, or a controller has gone."""
        if self._listener is None:
            return
        try:
            self._listener.hear()
        except GascityError:
            self.close()
            self._next_at = 0.0
        else:
            self._next_at = min(self._next_at, self._asked_at + STEP)

    def refresh(self) -> None:
        """Bring the document up to date, if it is time. It stays as it was where that fails."""
        if self.patience() > 0:
            return
        if self._listener is None:
            self._subscribe()
        is_alone = self._listener is None and not os.path.exists(self._socket)
        if is_alone and not self._running and time.monotonic() < self._asked_at + ALONE:
            self._next_at = time.monotonic() + SOON
            return
        try:
            self._ask({"known": True})
        except GascityError as problem:
            self.note = problem.message
            self._next_at = time.monotonic() + SOON

    def close(self) -> None:
        """Hang up."""
        if self._listener is not None:
            self._listener.close()
            self._listener = None

    @property
    def _running(self) -> bool:
        controller = self.document.get("controller")
        return isinstance(controller, dict) and bool(controller.get("running"))

    def _subscribe(self) -> None:
        """Have the controller tell, if there is one that can."""
        if os.path.exists(self._socket):
            with contextlib.suppress(RemoteError, Unanswered, Unreachable):
                self._listener = Listener(self._socket, MOVES, {}, timeout=TIMEOUT)

    def _ask(self, params: Mapping[str, object], timeout: float = TIMEOUT) -> None:
        self._asked_at = time.monotonic()
        try:
            found = ask_controller(self._state, "status", params, timeout=timeout)
        except (NotRunning, HungUp):
            self.close()
            found = self._look()
        except Unanswered:
            if not self.document:
                raise
            self.note, self._next_at = SILENT, time.monotonic() + SOON
            return
        if isinstance(found, dict):
            self.document, self.note = found, ""
        self._next_at = time.monotonic() + (SOON if self._listener is None else NET)

    def _look(self) -> object:
        from gascity.cli.alone import status_without_controller

        if self.document:  # in case the look fails: at least that is known
            nobody = {"running": False, "pid": None}
            self.document = {**self.document, "controller": nobody}
        with contextlib.redirect_stderr(io.StringIO()):  # it would be written over the picture
            return status_without_controller(self._here)
