"""Alarms: from the troubles of a plan, and those of the controller itself, to a person.

The desk knows what is open and what is to be told, the couriers carry it, and the chronicle keeps
it. A way to people that does not work is a trouble as well, told by the other ways.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Iterable, Mapping

from gascity.controller.chronicle import Chronicle
from gascity.controller.demand import UNCOUNTED
from gascity.controller.messages import Happened, Message, Taken
from gascity.controller.postbox import UNPROVEN
from gascity.core.actions import Event, EventType
from gascity.core.alerts import Alert, Severity, Trouble
from gascity.core.model import City, declared
from gascity.core.muting import muted_agents
from gascity.core.plan import Plan
from gascity.errors import GascityError
from gascity.journal.alerts import OpenAlert
from gascity.journal.store import Journal
from gascity.patrol.couriers import Couriers
from gascity.patrol.desk import Case, Desk
from gascity.patrol.sinks import sinks_of

SINK = "sink:"  # what the keys of ways to people begin with that do not work
LAST_WORDS = 2.0  # seconds that the exit waits for alerts to be handed over
_LEFT = (UNPROVEN, UNCOUNTED)  # how keys begin of what an agent or a pool leaves behind
_OWN = frozenset({"city", "files", "journal"})  # each controller finds these out for itself


class Alarms:
    """The alarms of one controller. Used by the loop's thread alone."""

    def __init__(
        self,
        city: City,
        ambient: Mapping[str, str],
        journal: Journal,
        chronicle: Chronicle,
        post: Callable[[Message], None],
    ) -> None:
        self._city = city
        self._ambient = ambient
        self._chronicle = chronicle
        self._now = chronicle.now
        self._post = post
        sinks = sinks_of(city.alerts, city.root, ambient)
        self._couriers = Couriers(sinks, self._report, lambda notice: post(Taken(notice.about)))
        self._muted: Mapping[str, float] = {}
        self._desk = Desk(city.name, city.alerts, chronicle.harmless, _taken_up(journal))
        left = [case.alert.key for case in self._desk.cases]
        own = [key for key in left if key in _OWN or key.startswith(SINK)]
        self._desk.settle(*own, now=self._now(), quiet=True)
        chronicle.listen(self._hear)

    def take(self, city: City) -> None:
        """Tell those whom another city file names from now on."""
        if city.alerts != self._city.alerts:
            others = self._couriers.change(sinks_of(city.alerts, city.root, self._ambient))
            self._desk.settle(*(f"{SINK}{name}" for name in others), now=self._now(), quiet=True)
            self._desk.send_again(self._couriers.waiting())
        self._desk.use(city.name, city.alerts)
        self._city = city

    def stand(self, plan: Plan, *, ending: bool) -> None:
        """Take the troubles of a plan.

        With a city that is being stopped they end, without a word; a quarantine outlives it.
        """
        now = self._now()
        self._muted = muted_agents(self._city, plan.memory)
        if ending:
            keys = [case.alert.key for case in self._desk.cases]
            over = [key for key in keys if not key.startswith(Trouble.QUARANTINE)]
            self._desk.settle(*over, now=now, quiet=True)
        else:
            self._desk.stand(plan.troubles, plan.blind, now)
            self._let_go(now)

    def alarm(self, alert: Alert) -> None:
        """Take a trouble that no plan knows of; it lasts until it is settled."""
        self._desk.alarm(alert, self._now())

    def taken(self, keys: Iterable[str]) -> None:
        """A person was told of these troubles."""
        self._desk.taken(keys)

    def settle(self, *keys: str) -> None:
        """These troubles are over, if there were such."""
        self._desk.settle(*keys, now=self._now())

    def tell(self) -> None:
        """Say what has to be said now, and have it kept; never waits for anybody."""
        self._mind_the_journal()
        notices = self._desk.round(self._now(), self._muted)
        news = self._desk.news()
        self._chronicle.record(news.events)
        self._chronicle.keep_alerts(map(_kept, news.kept), news.over)
        for notice in notices:
            self._couriers.send(notice)

    def patience(self) -> float:
        """Return how long nothing has to be said."""
        wake_at = self._desk.wake_at
        return math.inf if wake_at is None else max(wake_at - self._now(), 0.0)

    def document(self) -> list[dict[str, object]]:
        """Return what is open, for `gc status --json` and `gc alerts`."""
        now = self._now()
        hushed = {agent for agent, until in self._muted.items() if until > now}
        return [_kept(case).document(muted=case.alert.agent in hushed) for case in self._desk.cases]

    def close(self) -> None:
        """Give what is on its way a moment, and tell nothing more."""
        self._couriers.close(LAST_WORDS)

    def _let_go(self, now: float) -> None:
        """End what nobody would: of agents and pools that are gone, and messages of long ago."""
        found = [case for case in self._desk.cases if case.alert.key.startswith(_LEFT)]
        desired = self._city.desired
        if not found or desired.unresolved:  # of those who they are is not known
            return
        checks = {f"{UNCOUNTED}{pool.name}" for pool in desired.pools if pool.check}
        agents = {spec.name for spec in declared(desired)}
        oldest = now - self._city.daemon.keep_events
        for case in found:
            key, agent = case.alert.key, case.alert.agent
            lasts = case.last >= oldest and agent in agents if agent else key in checks
            if not lasts:
                self._desk.settle(key, now=now)

    def _report(self, sink: str, problem: str | None) -> None:
        """Tell the loop that a sink fails, or works again; called by its courier."""
        kind = EventType.ALERT_DELIVERED if problem is None else EventType.ALERT_UNDELIVERED
        text = (
            f"alerts get through by {sink} again"
            if problem is None
            else f"alerts do not get through by {sink}: {problem}"
        )
        self._post(Happened(Event(kind, message=text, detail=sink)))

    def _hear(self, event: Event) -> None:
        match event.type:
            case EventType.NUDGE_SUBMITTED:  # it takes messages again
                self.settle(*self._desk.of(event.agent, UNPROVEN))
            case EventType.ALERT_UNDELIVERED:
                key = f"{SINK}{event.detail}"
                self.alarm(Alert(key, "", event.message, severity=Severity.WARNING))
            case EventType.ALERT_DELIVERED:
                self.settle(f"{SINK}{event.detail}")
                self._desk.send_again(self._couriers.waiting())
            case _:
                pass

    def _mind_the_journal(self) -> None:
        lost = self._chronicle.lost
        if lost and not self._desk.of("", "journal"):
            self.alarm(Alert("journal", "", f"what happens is not written down for now: {lost}"))
        elif not lost:
            self.settle("journal")


def _kept(case: Case) -> OpenAlert:
    alert = case.alert
    return OpenAlert(
        alert.key,
        alert.agent,
        alert.text,
        case.since,
        case.last,
        case.times,
        alert.severity,
        told=case.told,
    )


def _taken_up(journal: Journal) -> list[Case]:
    """Return what an earlier controller left open."""
    with contextlib.suppress(GascityError):  # they become too old in time
        return [
            Case(
                Alert(one.key, one.agent, one.text, severity=one.severity),
                one.since,
                one.last,
                one.times,
                one.told,
            )
            for one in journal.alerts.open()
        ]
    return []
