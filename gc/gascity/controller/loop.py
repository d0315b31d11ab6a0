"""The controller: observe, plan, act, journal, again and again.

One thread owns everything here and never makes a blocking call: it reads messages, and workers
write them. A message wakes the loop, the loop asks the providers, their answers make a tick. Two
things keep a tick honest: a session that something is being done to is left out of it, and so is
one to which something was done after the look began, because that look is older than the deed.
"""

from __future__ import annotations

import queue
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import partial

from gascity.controller import demand
from gascity.controller.act import Hands, Outcome
from gascity.controller.clock import Clock
from gascity.controller.messages import Acted, Asked, Counted, Leave, Looked, Message, Wake
from gascity.controller.observe import TIMEOUT, look, seen_sessions
from gascity.controller.requests import Requests
from gascity.controller.workers import Workers
from gascity.core.actions import Alert, Drain, Event, EventType, SessionAction, Start, Stop, Undrain
from gascity.core.memory import Memory, after_failed_start, after_start, after_stop
from gascity.core.model import City, Desired, PoolSpec, declared
from gascity.core.observed import CITY_ID, Observation, Observed, Seen, SessionState, Unseen
from gascity.core.plan import plan
from gascity.core.views import AgentView
from gascity.errors import GascityError
from gascity.journal.store import Journal
from gascity.patrol.sinks import send
from gascity.session.provider import SessionProvider

PACE = 0.025  # looks this far apart keep a burst of news from becoming a burst of looks
RETRY_STOP = 5.0  # how long a session that would not end is left alone
DOING = {Start: "starting", Stop: "stopping", Drain: "draining", Undrain: "taking the drain back"}


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
        self._hands = hands
        self._report = report
        self._clock = clock or Clock()
        self._inbox: queue.SimpleQueue[Message] = queue.SimpleQueue()
        self._workers = Workers()
        self._lookers = Workers(few=len(providers))  # a look never queues behind a slow start
        self._requests = Requests(self)
        self._seen: dict[str, Observation] = {}
        self._asked_at: float | None = None
        self._unanswered: set[str] = set()
        self._looked_at = 0.0
        self._due = True
        self._busy: dict[str, str] = {}
        self._touched: dict[str, float] = {}
        self._resting: dict[str, float] = {}
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
            if self._asked_at is not None and time.monotonic() > self._asked_at + TIMEOUT + 1:
                self._give_up_on_silent_providers()
            if self._due and self._asked_at is None and self._rest() <= 0:
                self._ask()
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
        found = seen_sessions(self._seen)
        mine = self.city.desired.city_id
        return {name: state for name, state in found.items() if state.meta.get(CITY_ID) == mine}

    def unseen(self) -> dict[str, str]:
        """Return the providers that did not answer, with the reason."""
        return {name: seen.reason for name, seen in self._seen.items() if isinstance(seen, Unseen)}

    def in_hand(self) -> Mapping[str, str]:
        """Return what is being done right now, by session."""
        return self._busy

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
        timers = [*self._resting.values(), *self._requests.deadlines()]
        return timers if self._wake_at is None else [*timers, self._wake_at]

    def _patience(self) -> float:
        """Return how long nothing needs doing, if nobody writes."""
        if self._asked_at is not None:  # only an answer, or the lack of one, brings it further
            return max(self._asked_at + TIMEOUT + 1.1 - time.monotonic(), 0.0)
        if self._due:
            return max(self._rest(), 0.0)
        return max(min([self._patrol_at, *self._timers()]) - self._clock.now(), 0.0)

    def _rest(self) -> float:
        """Return how long until the next look may begin: at once after a quiet moment."""
        return self._looked_at + PACE - time.monotonic()

    def _handle(self, message: Message) -> None:
        match message:
            case Wake():
                self._due = True
            case Looked(provider, observation):
                self._looked(provider, observation)
            case Acted(session, outcomes):
                self._acted(session, outcomes)
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
            self.post(Counted(pool.name, demand.ask(pool, dict(self._hands.home.ambient))))

        return job

    def _ask(self) -> None:
        self._due = False
        self._asked_at = self._looked_at = time.monotonic()
        self._unanswered = set(self._providers)
        for name in self._providers:
            self._lookers.submit(self._asking(name))

    def _asking(self, name: str) -> Callable[[], None]:
        provider = self._providers[name]
        specs = [spec for spec in declared(self.city.desired) if spec.provider == name]

        def job() -> None:
            self.post(Looked(name, look(provider, specs, self._clock.now())))

        return job

    def _looked(self, provider: str, observation: Observation) -> None:
        if provider not in self._unanswered:
            return
        self._note_outage(provider, observation)
        self._seen[provider] = observation
        self._unanswered.discard(provider)
        if not self._unanswered:
            began, self._asked_at = self._asked_at or 0.0, None
            self._tick(began)

    def _give_up_on_silent_providers(self) -> None:
        for provider in sorted(self._unanswered):
            self._looked(provider, Unseen(f"it did not answer within {TIMEOUT:g} s"))

    def _note_outage(self, provider: str, observation: Observation) -> None:
        was_lost = isinstance(self._seen.get(provider), Unseen)
        match observation:
            case Unseen(reason) if not was_lost:
                self._record([Event(EventType.PROVIDER_LOST, message=f"{provider}: {reason}")])
            case Seen() if was_lost:
                self._record([Event(EventType.PROVIDER_BACK, message=f"{provider} answers again")])
            case _:
                pass

    # --- plan

    def _tick(self, began: float) -> None:
        now = self._clock.now()
        result = plan(self._desired(), self._observed(began, now), self.memory, now)
        if not self.closing:
            self.memory = result.memory
            self.views = result.views
        self._wake_at = result.wake_at
        self._record(result.events)
        self._tell()  # what was counted is kept before it is acted on
        self._dispatch(action for action in result.actions if not isinstance(action, Alert))
        for action in result.actions:
            if isinstance(action, Alert):
                self._alert(action)
        self._requests.after_tick()

    def _desired(self) -> Desired:
        wanted = self.city.desired
        return Desired(wanted.city, wanted.city_id) if self.closing else wanted

    def _observed(self, began: float, now: float) -> Observed:
        self._resting = {name: until for name, until in self._resting.items() if until > now}
        self._touched = {name: at for name, at in self._touched.items() if at >= began}
        busy = dict.fromkeys(self._touched, "something was done to it a moment ago")
        busy |= dict.fromkeys(self._resting, "it would not end; it is tried again soon")
        busy |= self._busy
        if self.closing:  # a start under way must not delay the end of the city
            busy = {name: what for name, what in busy.items() if what == DOING[Stop]}
        if self._touched:
            self._due = True
        return Observed(dict(self._seen), dict(self._demand), busy)

    # --- act

    def _dispatch(self, actions: Iterable[SessionAction]) -> None:
        chains: dict[str, list[SessionAction]] = {}
        for action in actions:
            chains.setdefault(action.session, []).append(action)
        if self.closing:
            chains = {
                name: [_for_the_end(action) for action in chain] for name, chain in chains.items()
            }
        for session, chain in chains.items():
            self._busy[session] = DOING[type(chain[-1])]
            self._workers.submit(self._acting(session, chain))

    def _acting(self, session: str, chain: list[SessionAction]) -> Callable[[], None]:
        def job() -> None:
            self.post(Acted(session, tuple(self._hands.carry_out(chain))))

        return job

    def _acted(self, session: str, outcomes: tuple[Outcome, ...]) -> None:
        self._busy.pop(session, None)
        self._touched[session] = time.monotonic()
        now = self._clock.now()
        for outcome in outcomes:
            self._learn(outcome, now)
        self._record([outcome.event for outcome in outcomes if _worth_telling(outcome)])
        self._due = True

    def _learn(self, outcome: Outcome, now: float) -> None:
        session = outcome.action.session
        match outcome.action:
            case Start(spec) if outcome.failure:
                self.memory = after_failed_start(self.memory, session, now=now, why=outcome.failure)
            case Start(spec):
                self.memory = after_start(
                    self.memory, session, run=outcome.run, provider=spec.provider
                )
            case Stop() if not outcome.failure:
                self.memory = after_stop(self.memory, session)
            case _ if outcome.failure:
                self._resting[session] = now + RETRY_STOP
            case _:
                pass

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


def _worth_telling(outcome: Outcome) -> bool:
    """Clearing away what already ended is no news."""
    return not (isinstance(outcome.action, Stop) and outcome.action.ended_run)
