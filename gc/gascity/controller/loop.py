"""The controller: observe, plan, act, journal, again and again.

One thread owns everything here and never makes a blocking call: it reads messages, and workers
write them. A message wakes the loop, the loop asks the providers, their answers make a tick. Two
things keep a tick honest: a session that something is being done to is left out of it, and so is
one to which something was done after the look began, because that look is older than the deed.
"""

from __future__ import annotations

import queue
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import partial

from gascity.controller import demand
from gascity.controller.act import Hands
from gascity.controller.clock import Clock
from gascity.controller.deeds import Deeds, only_stops
from gascity.controller.looks import Looks
from gascity.controller.messages import Acted, Asked, Counted, Leave, Looked, Message, Wake
from gascity.controller.observe import seen_sessions
from gascity.controller.requests import Requests
from gascity.controller.workers import Workers
from gascity.core.actions import Alert, Event, EventType, SessionAction
from gascity.core.memory import Memory
from gascity.core.model import City, Desired, PoolSpec, declared
from gascity.core.observed import CITY_ID, Observed, Seen, SessionState, Unseen
from gascity.core.plan import plan
from gascity.core.views import AgentView
from gascity.errors import GascityError
from gascity.journal.store import Journal
from gascity.patrol.sinks import send
from gascity.session.provider import SessionProvider


class Controller:
    """Keeps one city as it should be, until told to leave."""

    def __init__(
        self,
        city: City,
        providers: Mapping[str, SessionProvider],
        journal: Journal,
        hands: Hands,
        *,
        report: Callable[[Event], None],
        clock: Clock | None = None,
    ) -> None:
        self.city = city
        self.memory: Memory = journal.remembered()
        self.views: tuple[AgentView, ...] = ()
        self.closing = False
        self._providers = providers
        self._journal = journal
        self._ambient = dict(hands.home.ambient)
        self._report = report
        self._clock = clock or Clock()
        self._inbox: queue.SimpleQueue[Message] = queue.SimpleQueue()
        self._workers = Workers()
        self._requests = Requests(self)
        self._looks = Looks(providers, list(declared(city.desired)), self.post, self.now)
        self._due = True
        self._deeds = Deeds(hands, self._workers, self.post)
        self._demand: dict[str, int] = {}
        self._wake_at: float | None = None
        self._patrol_at = 0.0
        self._leaving = ""
        self._journal_lost = False
        self._untold: list[Event] = []

    # --- from other threads

    def post(self, message: Message) -> None:
        """Hand the loop a message; safe from any thread and from a signal handler."""
        self._inbox.put(message)

    def wake(self) -> None:
        """Have the loop look soon."""
        self.post(Wake())

    # --- the loop

    def run(self) -> str:
        """Run until told to leave; return why."""
        watches = [provider.watch(self.wake) for provider in self._providers.values()]
        self._record([Event(EventType.CONTROLLER_STARTED)])
        while not self._leaving:
            self._receive()
            now = self._clock.now()
            if now >= self._patrol_at:
                self._patrol(now)
            self._due = self._due or any(timer <= now for timer in self._timers())
            for looked in self._looks.silent():
                self._looked(looked)
            if self._due and not self._looks.under_way and self._looks.rest() <= 0:
                self._due = False
                self._looks.begin()
            self._tell()
        self._record([Event(EventType.CONTROLLER_STOPPED, message=self._leaving)])
        self._tell()
        for watch in watches:
            watch.close()
        return self._leaving

    def now(self) -> float:
        """Return the time on the controller's clock."""
        return self._clock.now()

    def leave(self, why: str) -> None:
        """End the loop after the present message."""
        self._leaving = why

    def look_again(self) -> None:
        """Have a new look before anything else is decided."""
        self._due = True

    def sessions(self) -> dict[str, SessionState]:
        """Return this city's sessions as last seen."""
        found = seen_sessions(self._looks.seen)
        mine = self.city.desired.city_id
        return {name: state for name, state in found.items() if state.meta.get(CITY_ID) == mine}

    def unseen(self) -> dict[str, str]:
        """Return the providers that did not answer, with the reason."""
        return {
            name: seen.reason for name, seen in self._looks.seen.items() if isinstance(seen, Unseen)
        }

    def in_hand(self) -> Mapping[str, str]:
        """Return what is being done right now, by session."""
        return self._deeds.under_way

    def submit(self, job: Callable[[], None]) -> None:
        """Have a worker do something that blocks."""
        self._workers.submit(job)

    def provider(self, name: str) -> SessionProvider:
        """Return a provider by name."""
        return self._providers[name]

    # --- messages

    def _receive(self) -> None:
        try:
            message = self._inbox.get(timeout=self._patience())
        except queue.Empty:
            return
        while True:
            self._handle(message)
            try:
                message = self._inbox.get_nowait()
            except queue.Empty:
                return

    def _timers(self) -> list[float]:
        timers = [*self._deeds.timers(), *self._requests.deadlines()]
        return timers if self._wake_at is None else [*timers, self._wake_at]

    def _patience(self) -> float:
        """Return how long nothing needs doing, if nobody writes."""
        if self._looks.under_way:  # only an answer, or the lack of one, brings it further
            return max(self._looks.time_left(), 0.0)
        if self._due:
            return max(self._looks.rest(), 0.0)
        return max(min([self._patrol_at, *self._timers()]) - self._clock.now(), 0.0)

    def _handle(self, message: Message) -> None:
        match message:
            case Wake():
                self._due = True
            case Looked():
                self._looked(message)
            case Acted():
                self._acted(message)
            case Counted(pool, size):
                if size is not None:
                    self._demand[pool] = size
                self._due = True
            case Leave(why):
                self._leaving = why
            case Asked():
                self._requests.take(message)

    # --- observe

    def _patrol(self, now: float) -> None:
        self._patrol_at = now + self.city.daemon.patrol_interval
        self._due = True
        for pool in self.city.desired.pools:
            if pool.check:
                self._workers.submit(self._counting(pool))

    def _counting(self, pool: PoolSpec) -> Callable[[], None]:
        def job() -> None:
            self.post(Counted(pool.name, demand.ask(pool, self._ambient)))

        return job

    def _looked(self, looked: Looked) -> None:
        was_lost = isinstance(self._looks.seen.get(looked.provider), Unseen)
        complete = self._looks.take(looked)
        self._note_outage(looked.provider, was_lost=was_lost)
        if complete:
            self._tick()

    def _note_outage(self, provider: str, *, was_lost: bool) -> None:
        match self._looks.seen.get(provider):
            case Unseen(reason) if not was_lost:
                self._record([Event(EventType.PROVIDER_LOST, message=f"{provider}: {reason}")])
            case Seen() if was_lost:
                self._record([Event(EventType.PROVIDER_BACK, message=f"{provider} answers again")])
            case _:
                pass

    # --- plan

    def _tick(self) -> None:
        now = self._clock.now()
        result = plan(self._desired(), self._observed(now), self.memory, now)
        if not self.closing:
            self.memory = result.memory
            self.views = result.views
        self._wake_at = result.wake_at
        self._record(result.events)
        self._tell()  # what was counted is kept before it is acted on
        actions = [action for action in result.actions if not isinstance(action, Alert)]
        self._deeds.begin(map(_for_the_end, actions) if self.closing else actions)
        for alert in result.actions:
            if isinstance(alert, Alert):
                self._alert(alert)
        self._requests.after_tick()

    def _desired(self) -> Desired:
        wanted = self.city.desired
        return Desired(wanted.city, wanted.city_id) if self.closing else wanted

    def _observed(self, now: float) -> Observed:
        busy = self._deeds.occupied(self._looks.began, now)
        self._due = self._due or self._deeds.outran_the_look()
        return Observed(
            dict(self._looks.seen), dict(self._demand), only_stops(busy) if self.closing else busy
        )

    # --- act

    def _acted(self, acted: Acted) -> None:
        self.memory = self._deeds.end(acted, self.memory, self._clock.now())
        self._record(outcome.event for outcome in acted.outcomes)
        self._due = True

    def _alert(self, alert: Alert) -> None:
        self._record([Event(EventType.ALERT_RAISED, alert.agent, message=alert.text)])
        settings = self.city.alerts
        if settings.command:
            self._workers.submit(
                partial(send, settings, alert, city=self.city.name, root=self.city.root)
            )

    # --- journal

    def _record(self, events: Iterable[Event]) -> None:
        self._untold += events

    def _tell(self) -> None:
        """Write down what happened since the last time, in one transaction, and report it."""
        told, self._untold = self._untold, []
        try:
            self._journal.record(self._clock.now(), told, self.memory)
            self._journal_lost = False
        except GascityError as problem:  # a full disk must not end the supervision
            if not self._journal_lost:
                told.append(Event(EventType.JOURNAL_LOST, message=problem.message))
            self._journal_lost = True
        for event in told:
            self._report(event)

    def remember(self, memory: Memory, events: Iterable[Event] = ()) -> None:
        """Take a change of memory that a person asked for, and keep it."""
        self.memory = memory
        self._record(events)


def _for_the_end(action: SessionAction) -> SessionAction:
    """A city that is stopped has no orphans: say why its sessions end."""
    return replace(action, why="the city is being stopped")
