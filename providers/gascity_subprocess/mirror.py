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
            known: dict[str, object] = {"keeper": self._keeper, "number": self._number}
        answer = ask(known)
        with self._lock:
            if answer is NOTHING:
                self._keeper, self._number, self._sessions = "", 0, {}
            else:
                self._take(answer)
            now = time.monotonic()
            if now >= self._activity_read + ACTIVITY_EVERY:
                self._activity_read = now
                self._sessions = {n: self._with_activity(s) for n, s in self._sessions.items()}
            return dict(self._sessions)

    def told(self, news: object) -> dict[str, SessionState] | None:
        """Take what the keeper told by itself; return every session, or None if a gap is left."""
        with self._lock:
            return dict(self._sessions) if self._take(news) else None

    def _take(self, news: object) -> bool:
        """Bring the mirror up to date; tell whether these news did it.

        They do not when they follow on something this mirror has not seen, or are older than what
        it has: another thread's look ended meanwhile.
        """
        if not isinstance(news, dict):
            raise ProviderUnavailable("the keeper gave an answer that is no look")
        if "keeper" not in news:
            return False
        keeper, since, number = str(news["keeper"]), int(news["since"]), int(news["number"])
        follows = keeper == self._keeper and since <= self._number <= number
        if since >= 0 and not follows:
            return False
        changed = {state.name: state for state in states.read_all(news["sessions"])}
        gone = set(news["gone"])
        kept = {n: s for n, s in self._sessions.items() if n not in gone} if since >= 0 else {}
        self._keeper, self._number, self._sessions = keeper, number, {**kept, **changed}
        return True

    def _with_activity(self, state: SessionState) -> SessionState:
        try:
            path = os.path.join(layout.folder(self._home, state.name), layout.OUTPUT)
            last = os.stat(path).st_mtime
        except OSError:
            return state
        return state if last == state.last_activity else replace(state, last_activity=last)
