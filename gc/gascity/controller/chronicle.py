"""What happened, told to whoever watches and written down.

A journal that cannot be written must not end the supervision: what is untold is kept, and written
when it can be. What is told of an agent, which may quote what it showed or what its commands said,
loses the secrets it was given.
"""

from __future__ import annotations

import contextlib
import json
import math
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from gascity.controller.act import Outcome
from gascity.controller.clock import Clock
from gascity.core.actions import Event, EventType
from gascity.core.alerts import Alert
from gascity.core.concealing import conceal_rows
from gascity.core.fingerprint import conceal, secret_values
from gascity.core.memory import Memory
from gascity.core.model import City, declared
from gascity.errors import GascityError
from gascity.journal.alerts import OpenAlert
from gascity.journal.store import Happening, Journal

RECORDS = frozenset({EventType.DIALOG_ANSWERED, EventType.DIALOG_FAILED})  # with JSON for detail
MOST_UNTOLD = 10_000  # events kept in memory while the journal cannot be written
PAUSE = 1.0  # seconds between two tries to write then: each may have to wait for somebody
TIDIED = 60.0  # seconds between two looks for events that are too old, when none were left ...
REST = 0.1  # ... and when some were: others may post messages faster than one look lets them go


class Chronicle:
    """The way of one controller's events to its journal. Used by the loop's thread alone.

    `lost` says why the journal cannot be written at the moment.
    """

    def __init__(
        self,
        city: City,
        ambient: Mapping[str, str],
        journal: Journal,
        report: Callable[[Event], None],
        clock: Clock,
    ) -> None:
        self._ambient = ambient
        self._given: dict[str, tuple[str, ...]] = {}
        self.take(city)
        self._journal = journal
        self._report = report
        self._clock = clock
        self.memory = Memory()
        self._listeners: list[Callable[[Event], None]] = []
        self._unwritten: list[Happening] = []
        self._alerts: dict[str, OpenAlert] = {}
        self._over: set[str] = set()
        self.lost = ""
        self._given_up = 0
        self._again_at = 0.0
        self._tidy_at = 0.0
        self._untidy = False

    def take(self, city: City) -> None:
        """Tell of another city from now on. Secrets of the one before may still be on a screen."""
        self._city = city
        for spec in declared(city.desired):
            passed = {key: self._ambient.get(key, "") for key in spec.pass_env}
            self.learn(spec.name, secret_values({**passed, **spec.env}))

    def learn(self, agent: str, secrets: Iterable[str]) -> None:
        """Take note of secrets an agent was given: what it says is told without them."""
        known = {*self.secrets(agent), *secrets}
        if known:
            self._given[agent] = tuple(sorted(known, key=len, reverse=True))

    def listen(self, listener: Callable[[Event], None]) -> None:
        """Have each event told to somebody, as it is recorded."""
        self._listeners.append(listener)

    def now(self) -> float:
        """Return the time at which what happens now is written down."""
        return self._clock.now()

    def record(self, events: Iterable[Event]) -> None:
        """Tell of events now; `write` keeps them."""
        for event in events:
            told = self._harmless(event)
            self._unwritten.append((self._clock.now(), told))
            self._tell(told)
            for listener in self._listeners:
                listener(told)

    def conceal(self, agent: str, text: str) -> str:
        """Return a text that an agent showed without the secrets it was given."""
        return conceal(text, self.secrets(agent))

    def discreet(self, outcome: Outcome) -> Outcome:
        """Return an outcome that tells no secrets; its event loses them when it is recorded."""
        hidden = self.secrets(outcome.event.agent)
        receipt = outcome.receipt
        if receipt is not None:
            receipt = replace(receipt, evidence=conceal(receipt.evidence, hidden))
        return replace(outcome, failure=conceal(outcome.failure, hidden), receipt=receipt)

    def _harmless(self, event: Event) -> Event:
        hidden = self.secrets(event.agent)
        if not hidden:
            return event
        is_record = event.type in RECORDS and event.detail != ""
        detail = _record(event.detail, hidden) if is_record else _screen(event.detail, hidden)
        return replace(event, message=conceal(event.message, hidden), detail=detail)

    def harmless(self, alert: Alert) -> Alert:
        """Return an alert without the secrets its agent was given."""
        hidden = self.secrets(alert.agent)
        if not hidden:
            return alert
        text, screen = conceal(alert.text, hidden), _screen(alert.screen, hidden)
        return replace(alert, text=text, screen=screen)

    def keep_alerts(self, alerts: Iterable[OpenAlert], over: Iterable[str]) -> None:
        """Have alerts kept as they are now, and those that are over forgotten; see `write`."""
        for key in over:
            self._alerts.pop(key, None)
            self._over.add(key)
        for alert in alerts:
            self._alerts[alert.key] = alert
            self._over.discard(alert.key)

    def write(self, memory: Memory) -> None:
        """Write what happened since the last time, in one transaction; keep it if that fails."""
        self.memory = memory
        if self.lost and time.monotonic() < self._again_at and not self._is_the_end():
            return
        try:
            happened = [*self._gap(), *self._unwritten]
            self._journal.write(happened, memory, self._alerts.values(), self._over)
        except GascityError as problem:  # a full disk must not end the supervision
            self._lose(problem)
        else:
            self.lost = ""
            self._given_up = 0
            self._unwritten, self._alerts, self._over = [], {}, set()

    def hurry(self) -> None:
        """Try to write at once, also where that just failed: somebody waits for it."""
        self._again_at = 0.0

    def patience(self) -> float:
        """Return how long until what could not be written is tried again, or more is let go."""
        if not self.lost and not self._untidy:
            return math.inf
        return max((self._again_at if self.lost else self._tidy_at) - time.monotonic(), 0.0)

    def tidy(self) -> None:
        """Let the oldest events go, a few at a time, if it is time for that."""
        daemon, now = self._city.daemon, time.monotonic()
        if now < self._tidy_at or self.lost:
            return
        rest = REST
        try:
            more = self._journal.trim(self._clock.now(), daemon.keep_events, daemon.keep_megabytes)
        except GascityError:  # somebody writes: it has time
            more, rest = True, PAUSE
        self._untidy = more
        self._tidy_at = now + (rest if more else TIDIED)

    def _lose(self, problem: GascityError) -> None:
        """The journal cannot be written: say so once, and keep what there is room for."""
        if not self.lost:
            self.record([Event(EventType.JOURNAL_LOST, message=problem.message)])
        self.lost = problem.message
        self._again_at = time.monotonic() + PAUSE
        self._given_up += max(len(self._unwritten) - MOST_UNTOLD, 0)
        self._unwritten = self._unwritten[-MOST_UNTOLD:]

    def _gap(self) -> list[Happening]:
        """Return what the journal has to know of events there was no room for."""
        if not self._given_up:
            return []
        told = f"{self._given_up} events before this one could not be kept"
        return [(self._unwritten[0][0], Event(EventType.JOURNAL_LOST, message=told))]

    def _is_the_end(self) -> bool:
        return any(event.type is EventType.CONTROLLER_STOPPED for _, event in self._unwritten[-1:])

    def secrets(self, agent: str) -> tuple[str, ...]:
        """Return the secret values that an agent of this name was given."""
        return self._given.get(agent, ())

    def _tell(self, event: Event) -> None:
        with contextlib.suppress(OSError, ValueError):  # a closed terminal must not end it
            self._report(event)


def _screen(text: str, hidden: Sequence[str]) -> str:
    return "\n".join(conceal_rows(text.split("\n"), hidden))


def _record(text: str, hidden: Sequence[str]) -> str:
    """Return the record of a dialog without secrets, which JSON may spell in its own way."""
    said = {
        key: conceal_rows(value, hidden)
        if isinstance(value, list)
        else conceal(value, hidden)
        if isinstance(value, str)
        else value
        for key, value in json.loads(text).items()
    }
    return json.dumps(said, ensure_ascii=False)
