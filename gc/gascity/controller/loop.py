"""The controller: observe, plan, act, journal, again and again.

One thread owns everything here and never makes a blocking call: it reads messages, and workers
write them. A message wakes the loop, the loop has the providers looked at (`looks`), an answer
makes a tick, and a tick makes deeds (`deeds`). A tick leaves alone what is being done to, and what
was done to after the look at it began, because that look is older than the deed.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace

from gascity.controller.act import Hands
from gascity.controller.clock import Clock
from gascity.controller.deeds import news
from gascity.controller.demand import UNCOUNTED
from gascity.controller.inbox import Inbox
from gascity.controller.looks import HASTE, news_of
from gascity.controller.messages import (
    Acted,
    Asked,
    Changed,
    Counted,
    Happened,
    Heard,
    Leave,
    Looked,
    Message,
    Read,
    Reloaded,
    Taken,
    Unwatched,
    Wake,
)
from gascity.controller.observe import seen_sessions
from gascity.controller.pace import Pace
from gascity.controller.parts import Parts
from gascity.controller.reload import Origin, Reloads
from gascity.controller.requests import Requests
from gascity.controller.slowness import TickBudget
from gascity.core.actions import Event, EventType, Remind, SessionAction
from gascity.core.alerts import Alert
from gascity.core.case import Scene
from gascity.core.changes import changed_sessions
from gascity.core.memory import Memory
from gascity.core.model import City, Desired
from gascity.core.observed import CITY_ID, Observed, SessionState, Unseen
from gascity.core.plan import plan
from gascity.core.views import AgentView
from gascity.journal.store import Journal
from gascity.session.delivery import let_typing_end
from gascity.session.provider import SessionProvider

TYPING = 5.0  # the exit waits this long for words that are typed and not submitted ...
HEARD = 0.5  # ... and this long to hear what became of them


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
        origin: Origin | None = None,
    ) -> None:
        """Work for `city`; with an `origin`, it is read again when its files change."""
        self.city = city
        self.memory: Memory = journal.remembered()
        self.views: tuple[AgentView, ...] = ()
        self.leaving = ""
        self._clock = clock or Clock()
        self.standstills = self._clock.standstills
        self.journal = journal
        self._inbox = Inbox()
        parts = Parts(city, providers, journal, hands, report, self._clock, self.post)
        self._parts = parts
        self.providers: Mapping[str, SessionProvider] = parts.providers
        self.postbox, self.deeds, self.standing = parts.postbox, parts.deeds, parts.standing
        self._chronicle, self._looks, self.alarms = parts.chronicle, parts.looks, parts.alarms
        self.screens = self._screens = parts.screens
        self._demand = parts.demand
        self._requests = Requests(self)
        self.reloads = Reloads(origin, self, self._chronicle, self.alarms)
        self._closing = False
        self.scene: Scene | None = None
        self._news = False
        self._budget = TickBudget(lambda: self.city.daemon.tick_budget)
        self._pace = Pace()
        self._wake_at: float | None = None
        self._patrol_at = 0.0

    # --- from other threads

    def post(self, message: Message) -> None:
        """Hand the loop a message; safe from any thread and from a signal handler."""
        self._inbox.put(message)

    def conceal(self, agent: str, text: str) -> str:
        """Return what an agent showed without the secrets it was given."""
        return self._chronicle.conceal(agent, text)

    def tell(self, event: Event) -> None:
        """Have an event written down; safe from any thread."""
        self.post(Happened(event))

    # --- the loop

    def run(self) -> str:
        """Run until told to leave; return why."""
        self._parts.watch()
        self.reloads.begin()
        self._record([Event(EventType.CONTROLLER_STARTED)])
        self._say(*self.postbox.open())
        while not self.leaving:
            self._receive(self._patience())
            self._mind_the_time()
            if self._news and self._tick_rest() <= 0:
                self._tick()
            self._looks.begin()
            self._write()
        self._let_typing_end()
        self._record([Event(EventType.CONTROLLER_STOPPED, message=self.leaving)])
        self._write()
        self.reloads.close()
        self._parts.close()
        return self.leaving

    def _let_typing_end(self) -> None:
        let_typing_end(TYPING)
        until = time.monotonic() + HEARD
        while self.deeds.typing() and time.monotonic() < until:
            self._receive(HEARD)

    def _receive(self, patience: float) -> None:
        for message in self._inbox.take(patience):
            self._handle(message)

    def _patience(self) -> float:
        """Return how long nothing needs doing, if nobody writes."""
        times = [self._patrol_at, *self._timers()]
        looks = self._looks.patience()
        patience = min(min(times) - self._clock.now(), self.deeds.patience())
        patience = min(patience, self._chronicle.patience(), self.alarms.patience())
        patience = patience if looks is None else min(patience, looks)
        return max(min(patience, self._tick_rest()) if self._news else patience, 0.0)

    def _tick_rest(self) -> float:
        return 0.0 if self._closing else self._pace.rest()

    def _timers(self) -> list[float]:
        timers = [*self.deeds.timers(), *self._requests.deadlines(), *self.postbox.next_end()]
        return timers if self._wake_at is None else [*timers, self._wake_at]

    def _mind_the_time(self) -> None:
        now = self._clock.now()
        if now >= self._patrol_at:
            self._patrol(now)
        if any(timer <= now for timer in self._timers()):
            self._wake_at = None
            self.deeds.end_rests(now)
            self._requests.expire()
            self._record(self.postbox.expire(now))
            self._looks.want()
        for looked in self._looks.silent():
            self._looked(looked)
        for acted in self.deeds.overdue():
            self._acted(acted)
        self._chronicle.tidy()

    def _handle(self, message: Message) -> None:
        match message:
            case Wake():
                self._looks.want()
            case Looked():
                self._looked(message)
            case Acted():
                self._acted(message)
            case Counted():
                self._counted(message)
            case Happened() | Taken():
                self._told(message)
            case Read() | Heard():
                self._screens.take(message)
                self._news = True
            case Changed() | Unwatched() | Reloaded():
                self.reloads.hear(message)
                self._news = True
            case Leave(why):
                self.leaving = why
            case Asked():
                self._requests.take(message)

    def _told(self, message: Happened | Taken) -> None:
        if isinstance(message, Happened):
            self._record([message.event])
        else:
            self.alarms.taken(message.keys)

    # --- what requests may see and do

    def now(self) -> float:
        """Return the time on the controller's clock."""
        return self._clock.now()

    def look_again(self) -> None:
        """Have a new look at everything."""
        self._looks.want()

    def close_the_city(self) -> None:
        """End every session from now on, start nothing more, and leave when all is gone."""
        self._closing = True
        self.reloads.close()
        self._looks.pace = HASTE
        self.deeds.refuse_starts()
        self._looks.want()

    def sessions(self) -> dict[str, SessionState]:
        """Return this city's sessions as last seen."""
        found = seen_sessions(self._looks.seen)
        mine = self.city.desired.city_id
        return {name: state for name, state in found.items() if state.meta.get(CITY_ID) == mine}

    def unseen(self) -> dict[str, str]:
        """Return the providers that did not answer, with the reason."""
        return self._looks.silence()

    def take_city(self, city: City, opened: Mapping[str, SessionProvider]) -> None:
        """Keep another city from now on; `opened` are the providers that come with it."""
        # Who changed is looked at before anything is done: somebody may have come meanwhile.
        self.deeds.touch(changed_sessions(self.city, city))
        self.city = city
        self._parts.take(city, opened)
        self._patrol_at = 0.0

    def remember(self, memory: Memory, events: Iterable[Event] = ()) -> None:
        """Take a change of memory that a person asked for, and keep it."""
        self.memory = memory
        self._record(events)
        self._chronicle.hurry()

    # --- observe

    def _patrol(self, now: float) -> None:
        self._patrol_at = now + self.city.daemon.patrol_interval
        self._looks.want()
        self._demand.ask(self.city.desired.pools)
        self._record(self.postbox.look())
        self.reloads.patrol()
        if not self.reloads.is_reading:
            self._parts.retire(self.city, self.memory)

    def _counted(self, counted: Counted) -> None:
        if self._demand.take(counted.pool, counted.size):
            self._looks.want()
        self._say((), self._demand.complaints(counted))
        if counted.size is not None:
            self.alarms.settle(f"{UNCOUNTED}{counted.pool}")

    def _looked(self, looked: Looked) -> None:
        for agent, secrets in looked.given.items():
            self._chronicle.learn(agent, secrets)
        was_lost = isinstance(self._looks.seen.get(looked.provider), Unseen)
        if not self._looks.take(looked):
            return
        self._record(news_of(looked, was_lost=was_lost))
        self._news = True

    # --- plan

    def _tick(self) -> None:
        began = time.monotonic()
        self._news = False
        self._pace.spend()
        now = self._clock.now()
        desired, observed = self._desired(), self._observed(now)
        result = plan(desired, observed, self.memory, now, self.scene.plan if self.scene else None)
        self._looks.planned(observed.busy)
        self.scene = Scene(desired, observed, result, now)
        self.memory, self.views, self._wake_at = result.memory, result.views, result.wake_at
        self.standing.take(result.views, now, result.memory)
        self._record(result.events)
        self.alarms.stand(result, ending=self._closing)
        self._write()  # what was counted is kept before it is acted on
        actions: list[SessionAction] = []
        for action in result.actions:
            if isinstance(action, Remind):
                self._record(self.postbox.remind(action, now))
            else:
                actions.append(action)
        if self._closing:
            self.deeds.begin_the_end(actions)
        else:
            self.deeds.begin(self.postbox.send(actions))
        self._requests.after_tick()
        if self._closing and self._all_is_gone():
            self.leaving = "the city was stopped"
            self._requests.after_tick()
        self._record(self._budget.judge(time.monotonic() - began, len(result.views)))

    def _desired(self) -> Desired:
        wanted = self.city.desired
        return replace(wanted, ending=True) if self._closing else wanted

    def _observed(self, now: float) -> Observed:
        self.deeds.reconsider()
        busy = self.deeds.occupied(self._looks.began, now)
        if self.deeds.outran_a_look():
            self._looks.want()
        sessions = self.sessions()
        self._say(*self.postbox.greet(sessions, busy, now))
        return self._parts.observed(sessions, busy, now, closing=self._closing)

    def _all_is_gone(self) -> bool:
        waits = self.deeds.in_hand() or self.deeds.outran_a_look()
        return not (waits or self.sessions() or self.unseen())

    # --- act

    def _acted(self, acted: Acted) -> None:
        memory = self.deeds.end(acted, self.memory, self._clock.now())
        if memory is not None:
            untold, self.memory = news(acted.outcomes, self.memory), memory
            self._screens.touch(acted.session)
            for outcome in untold:
                self._say(*self.postbox.done(self._chronicle.discreet(outcome)))
        self._looks.want()

    def _say(self, events: Iterable[Event], alerts: Iterable[Alert]) -> None:
        self._record(events)
        for alert in alerts:
            self.alarms.alarm(alert)

    # --- journal

    def _record(self, events: Iterable[Event]) -> None:
        self._chronicle.record(events)

    def _write(self) -> None:
        self.alarms.tell()
        self._chronicle.write(self.memory)
