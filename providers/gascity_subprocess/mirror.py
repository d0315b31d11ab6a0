"""What the keeper knows, mirrored: each look asks only for what changed since the last.

A hundred sessions are a hundred objects to write, send and read; one that crashed is one. The
numbers of one keeper mean nothing to the next, which therefore answers with everything.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from dataclasses import replace

from gascity.core.observed import SessionState
from gascity.errors import ProviderUnavailable
from gascity_subprocess import layout, states
from gascity_subprocess.asking import NOTHING

ACTIVITY_EVERY = 0.5  # seconds: a burst of looks need not read the time of every output again
Ask = Callable[[dict[str, object]], object]


class Mirror:
    """All sessions of one city as last seen; thread-safe. `home` is the provider's folder."""

    def __init__(self, home: str) -> None:
        self._home = home
        self._lock = threading.Lock()
        self._keeper = ""
        self._number = 0
        self._sessions: dict[str, SessionState] = {}
        self._activity_read = 0.0

    def look(self, ask: Ask) -> dict[str, SessionState]:
        """Return every session; `ask` sends an `observe` with the parameters it is given."""
        with self._lock:
            keeper, number = self._keeper, self._number
        answer = ask({"keeper": keeper, "number": number})
        with self._lock:
            if answer is NOTHING:
                self._keeper, self._number, self._sessions = "", 0, {}
            else:
                self._take(answer, number)
            now = time.monotonic()
            if now >= self._activity_read + ACTIVITY_EVERY:
                self._activity_read = now
                self._sessions = {n: self._with_activity(s) for n, s in self._sessions.items()}
            return dict(self._sessions)

    def _take(self, answer: object, asked_from: int) -> None:
        """Bring the mirror up to date, unless another thread brought it further meanwhile."""
        if not isinstance(answer, dict):
            raise ProviderUnavailable("the keeper gave an answer that is no look")
        keeper, number = str(answer["keeper"]), int(answer["number"])
        changed = {state.name: state for state in states.read_all(answer["sessions"])}
        if answer["all"]:
            self._sessions = changed
        elif keeper == self._keeper and asked_from <= self._number <= number:
            gone = set(answer["gone"])
            kept = {name: state for name, state in self._sessions.items() if name not in gone}
            self._sessions = {**kept, **changed}
        else:
            return  # what is here is newer: another thread's look ended meanwhile
        self._keeper, self._number = keeper, number

    def _with_activity(self, state: SessionState) -> SessionState:
        try:
            path = os.path.join(layout.folder(self._home, state.name), layout.OUTPUT)
            last = os.stat(path).st_mtime
        except OSError:
            return state
        return state if last == state.last_activity else replace(state, last_activity=last)
