"""Looks at the world: one question to every provider, and all their answers.

A look is complete when each provider has answered or its time is up. At most one look is under way;
a provider that is stuck is `Unseen`, and the late answer of an old look is not taken for a new one.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from functools import partial

from gascity.controller.messages import Looked, Message
from gascity.controller.observe import TIMEOUT, look
from gascity.controller.workers import Workers
from gascity.core.model import AgentSpec
from gascity.core.observed import Observation, Unseen
from gascity.session.provider import SessionProvider

PACE = 0.025  # looks this far apart keep a burst of news from becoming a burst of looks
LIMIT = TIMEOUT + 1.0


class Looks:
    """The looks of one controller. Used by the loop's thread alone."""

    def __init__(
        self,
        providers: Mapping[str, SessionProvider],
        specs: Iterable[AgentSpec],
        post: Callable[[Message], None],
        now: Callable[[], float],
    ) -> None:
        self.seen: dict[str, Observation] = {}
        self.began = 0.0
        self.under_way = False
        self._providers = providers
        self._specs = {
            name: [spec for spec in specs if spec.provider == name] for name in providers
        }
        self._post = post
        self._now = now
        self._missing: set[str] = set()
        self._number = 0
        self._workers = Workers(few=len(providers))  # a look never queues behind a slow start

    def begin(self) -> None:
        """Ask every provider."""
        self.began = time.monotonic()
        self.under_way = True
        self._number += 1
        self._missing = set(self._providers)
        for name in self._providers:
            self._workers.submit(partial(self._ask, name, self._number))

    def rest(self) -> float:
        """Return how long until the next look may begin: none after a quiet moment."""
        return self.began + PACE - time.monotonic()

    def time_left(self) -> float:
        """Return how long the look under way may still take."""
        return self.began + LIMIT - time.monotonic()

    def silent(self) -> list[Looked]:
        """Return, when the time is up, what has to be said for providers that did not answer."""
        if not self.under_way or self.time_left() > 0:
            return []
        reason = f"it did not answer within {LIMIT:g} s"
        return [Looked(name, Unseen(reason), self._number) for name in sorted(self._missing)]

    def take(self, looked: Looked) -> bool:
        """Take an answer; tell whether it completes the look."""
        if looked.number != self._number or looked.provider not in self._missing:
            return False
        self.seen[looked.provider] = looked.observation
        self._missing.discard(looked.provider)
        self.under_way = bool(self._missing)
        return not self.under_way

    def _ask(self, name: str, number: int) -> None:
        answer = look(self._providers[name], self._specs[name], self._now())
        self._post(Looked(name, answer, number))
