"""What is being done, and to which session: at most one thing at a time to each.

A session is occupied while something is done to it, when something was done to it after the look
began (that look is older than the deed), and for a while after it would not end.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from functools import partial

from gascity.controller.act import Hands, Outcome
from gascity.controller.messages import Acted, Message
from gascity.controller.workers import Workers
from gascity.core.actions import Drain, SessionAction, Start, Stop, Undrain
from gascity.core.memory import Memory, after_failed_start, after_start, after_stop

RETRY_STOP = 5.0  # how long a session that would not end is left alone
STOPPING = "stopping"
DOING = {Start: "starting", Stop: STOPPING, Drain: "draining", Undrain: "taking the drain back"}


class Deeds:
    """The deeds of one controller. Used by the loop's thread alone."""

    def __init__(self, hands: Hands, workers: Workers, post: Callable[[Message], None]) -> None:
        self.under_way: dict[str, str] = {}
        self._hands = hands
        self._workers = workers
        self._post = post
        self._touched: dict[str, float] = {}
        self._resting: dict[str, float] = {}

    def begin(self, actions: Iterable[SessionAction]) -> None:
        """Have the actions carried out, those on one session in their order."""
        chains: dict[str, list[SessionAction]] = {}
        for action in actions:
            chains.setdefault(action.session, []).append(action)
        for session, chain in chains.items():
            self.under_way[session] = f"{DOING[type(chain[-1])]}: {chain[-1].why}"
            self._workers.submit(partial(self._carry_out, session, chain))

    def end(self, acted: Acted, memory: Memory, now: float) -> Memory:
        """Take note that actions are done; return what is remembered after them."""
        self.under_way.pop(acted.session, None)
        self._touched[acted.session] = time.monotonic()
        for outcome in acted.outcomes:
            if outcome.failure and not isinstance(outcome.action, Start):
                self._resting[acted.session] = now + RETRY_STOP
            memory = after(memory, outcome, now)
        return memory

    def occupied(self, look_began: float, now: float) -> dict[str, str]:
        """Return the sessions that a plan has to leave alone, and why."""
        self._resting = {name: until for name, until in self._resting.items() if until > now}
        self._touched = {name: at for name, at in self._touched.items() if at >= look_began}
        busy = dict.fromkeys(self._touched, "something was done to it a moment ago")
        busy |= dict.fromkeys(self._resting, "it would not end; it is tried again soon")
        return busy | self.under_way

    def outran_the_look(self) -> bool:
        """Tell whether the last look is older than a deed, so that another one is needed."""
        return bool(self._touched)

    def timers(self) -> Iterable[float]:
        """Return when a session that would not end may be tried again."""
        return self._resting.values()

    def _carry_out(self, session: str, chain: list[SessionAction]) -> None:
        self._post(Acted(session, tuple(self._hands.carry_out(chain))))


def only_stops(busy: Mapping[str, str]) -> dict[str, str]:
    """Return what is occupied when the city ends: a start under way must not delay that."""
    return {name: what for name, what in busy.items() if what.startswith(STOPPING)}


def after(memory: Memory, outcome: Outcome, now: float) -> Memory:
    """Return what is remembered after an outcome."""
    session = outcome.action.session
    match outcome.action:
        case Start() if outcome.failure:
            return after_failed_start(memory, session, now=now, why=outcome.failure)
        case Start(spec):
            return after_start(memory, session, run=outcome.run, provider=spec.provider)
        case Stop() if not outcome.failure:
            return after_stop(memory, session)
        case _:
            return memory
