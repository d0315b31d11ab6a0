"""Telling at once that the program of a session ended.

The kernel says which process it was, and tmux is asked about its session alone: both have to agree
before it is told as an end. When tmux is not done with it, or many end at once, who watches is
woken to look at everything.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping, Sequence

from gascity.core.observed import Alive, ProcessId, SessionState
from gascity.errors import GascityError
from gascity.session.deaths import Deaths
from gascity_tmux.listeners import Listeners
from gascity_tmux.server import Server
from gascity_tmux.view import View

FEW = 4  # so many are asked for one by one; for more, one look at everything is cheaper
SETTLING = 0.25  # seconds for tmux to be done with an end before everything is looked at instead
GLANCE = 0.0005  # nothing tells when it is; longer each time


class Ends:
    """Watches the programs of one city's sessions, as last looked at. Thread-safe.

    The listeners are told what is certain to have ended, and the moment of which that is true; they
    are told nothing when something may have.
    """

    def __init__(self, server: Server, view: View, listeners: Listeners) -> None:
        self._server = server
        self._view = view
        self._listeners = listeners
        self._lock = threading.Lock()
        self._names: Mapping[ProcessId, str] = {}
        self._deaths: Deaths | None = None

    def begin(self) -> None:
        """Tell from now on."""
        with self._lock:
            self._deaths = self._deaths or Deaths(self._ended)

    def expect(self, states: Mapping[str, SessionState]) -> None:
        """Take note of what lives."""
        if self._deaths is None:
            return
        self._names = {
            state.process: name
            for name, state in states.items()
            if isinstance(state.life, Alive) and state.process is not None
        }
        self._deaths.expect(self._names)

    def close(self) -> None:
        """Tell nothing any more."""
        if self._deaths is not None:
            self._deaths.close()

    def _ended(self, processes: Sequence[ProcessId]) -> None:
        known = self._names
        gone = {known[process]: process for process in processes if process in known}
        found: Mapping[str, SessionState] = {}
        at = time.monotonic()
        self._listeners.is_asking = True
        try:
            self._server.make_it_reap()
            if 0 < len(gone) == len(processes) <= FEW:
                found = self._settled(gone)
        finally:
            self._listeners.told(found, at)

    def _settled(self, gone: Mapping[str, ProcessId]) -> Mapping[str, SessionState]:
        """Return how these sessions ended; nothing unless tmux says it of all of them."""
        until, pause = time.monotonic() + SETTLING, GLANCE
        found: dict[str, SessionState] = {}
        while True:
            for name in gone.keys() - found.keys():
                try:
                    state = self._view.settled(name, gone[name], until)
                except GascityError:
                    return {}  # a look at everything says what it is
                if state is not None:
                    found[name] = state
            if len(found) == len(gone):
                return found
            if time.monotonic() >= until:
                return {}
            time.sleep(pause)  # the kernel needs a moment
            pause *= 1.5
            self._server.make_it_reap()
