"""Which troubles are open, and what a person is told of them.

A trouble is told when it begins and when it is over, once each; what nobody took is sent again when
somebody may. One that comes and goes is not told again before `repeat_after`; of more than
`per_minute`, the rest become one word. Troubles of an agent that is muted are kept and not told;
they are when the muting ends, if they still last. Nothing here knows a clock or a sink: the caller
says what time it is, and sends.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, replace

from gascity.core.actions import Event, EventType
from gascity.core.alerts import Alert, Severity, is_planned, whose
from gascity.core.model import AlertSettings
from gascity.core.spans import span
from gascity.patrol.notice import Notice, NoticeKind

MINUTE = 60.0
HOUR = 3600.0  # after which a trouble that lasts is kept anew: what is old is let go
MOST = 1000  # troubles that are open at a time; the oldest is forgotten for one more
NAMED = 5  # of those that are told in one word
_RANK = {Severity.CRITICAL: 0, Severity.WARNING: 1, Severity.INFO: 2}
_NOTHING_MUTED: Mapping[str, float] = {}


@dataclass(frozen=True, slots=True)
class Case:
    """An open trouble: its first and last time, and how often it came.

    One that is `sent` is on its way to a person; one that was taken by somebody is `told`.
    """

    alert: Alert
    since: float
    last: float
    times: int = 1
    told: bool = False
    sent: bool = False


@dataclass(frozen=True, slots=True)
class News:
    """What changed since the last time: cases to keep, keys of those that are over, and events."""

    kept: tuple[Case, ...]
    over: frozenset[str]
    events: tuple[Event, ...]


class Desk:
    """The troubles of one city. `harmless` takes the secrets out of what is told."""

    def __init__(
        self,
        city: str,
        settings: AlertSettings,
        harmless: Callable[[Alert], Alert],
        taken_up: Iterable[Case] = (),
    ) -> None:
        self.wake_at: float | None = None
        self.use(city, settings)
        self._harmless = harmless
        self._open = {case.alert.key: case for case in taken_up}
        self._said: dict[str, Alert] = {}  # as it came, with whatever secrets it holds
        self._told_at = {key: case.last for key, case in self._open.items() if case.told}
        self._spent: deque[float] = deque()
        self._recoveries: list[Case] = []
        self._changed: set[str] = set()
        self._over: set[str] = set()
        self._events: list[Event] = []

    def use(self, city: str, settings: AlertSettings) -> None:
        """Tell by the settings of another city file from now on."""
        self._city = city
        self._settings = settings

    @property
    def cases(self) -> list[Case]:
        """What is open, the oldest first."""
        return sorted(self._open.values(), key=lambda case: (case.since, case.alert.key))

    def stand(self, troubles: Iterable[Alert], blind: Collection[str], now: float) -> None:
        """Take the troubles of a plan; those of the plan before that it does not tell of are over.

        Of whatever is `blind` there may be more.
        """
        found = {alert.key: alert for alert in troubles}
        for alert in found.values():
            known = self._open.get(alert.key)
            kept = known is not None and now < known.last + HOUR
            if not kept or self._said.get(alert.key) != alert:
                self._take(alert, now, again=False)
        gone = [key for key in self._open if is_planned(key) and key not in found]
        self.settle(*(key for key in gone if whose(key) not in blind), now=now)

    def alarm(self, alert: Alert, now: float) -> None:
        """Take a trouble that no plan knows of; it lasts until it is settled."""
        self._take(alert, now, again=True)

    def settle(self, *keys: str, now: float, quiet: bool = False) -> None:
        """These troubles are over, if they were open; that is not told when it is `quiet`."""
        for key in keys:
            case = self._open.pop(key, None)
            if case is None:
                continue
            self._said.pop(key, None)
            self._changed.discard(key)
            self._over.add(key)
            alert = case.alert
            lasted = span(now - case.since)
            words = f"over after {lasted}: {alert.text}"
            self._events.append(Event(EventType.ALERT_RESOLVED, alert.agent, message=words))
            if (case.told or case.sent) and not quiet:
                self._recoveries.append(replace(case, last=now))

    def of(self, agent: str, beginning: str) -> list[str]:
        """Return the keys of an agent's open troubles that begin like that."""
        cases = self._open.values()
        found = [case.alert for case in cases if case.alert.agent == agent]
        return [alert.key for alert in found if alert.key.startswith(beginning)]

    def news(self) -> News:
        """Return what changed since the last time it was asked."""
        kept = tuple(self._open[key] for key in sorted(self._changed) if key in self._open)
        told = News(kept, frozenset(self._over), tuple(self._events))
        self._changed, self._over, self._events = set(), set(), []
        return told

    def round(self, now: float, muted: Mapping[str, float] = _NOTHING_MUTED) -> list[Notice]:
        """Return what a person has to be told now; `wake_at` is when to ask again.

        `muted` are agents of which nobody wants to hear, with the time at which that ends.
        """
        hushed = {agent: until for agent, until in muted.items() if until > now}
        over = [case for case in self._recoveries if case.alert.agent not in hushed]
        self._recoveries = []
        over = over if self._settings.recovery else []
        due, later = self._due(now, hushed)
        room = self._room(now)
        if room == 0 and (due or over):
            self._recoveries = over
            self.wake_at = min([self._spent[0] + MINUTE, *later])
            return []
        self.wake_at = min(later, default=None)
        notices = self._notices(due, over, room, now)
        for case in due:
            self._open[case.alert.key] = replace(case, sent=True)
            self._told_at[case.alert.key] = now
        self._spent.extend(now for _ in notices)
        return notices

    def taken(self, keys: Iterable[str]) -> None:
        """Somebody took what was said of these troubles."""
        for key in keys:
            case = self._open.get(key)
            if case is not None and case.sent and not case.told:
                self._open[key] = replace(case, told=True)
                self._changed.add(key)

    def send_again(self, but: Collection[str] = ()) -> None:
        """Have all said once more that nobody took: somebody may now. Some may be on their way."""
        for key, case in self._open.items():
            if case.sent and not case.told and key not in but:
                self._open[key] = replace(case, sent=False)
                self._told_at.pop(key, None)

    def _take(self, alert: Alert, now: float, *, again: bool) -> None:
        key = alert.key
        self._said[key] = alert
        told = self._harmless(alert)
        known = self._open.get(key)
        if known is not None:
            times = known.times + again
            self._open[key] = replace(known, alert=told, last=now, times=times)
        else:
            if len(self._open) >= MOST:
                oldest = next(iter(self._open))
                del self._open[oldest]
                self._over.add(oldest)
            self._open[key] = self._begun(told, now)
            self._over.discard(key)
            self._events.append(
                Event(EventType.ALERT_RAISED, told.agent, message=told.text, detail=told.screen)
            )
        self._changed.add(key)

    def _begun(self, alert: Alert, now: float) -> Case:
        """Return a case that begins; one whose end was not told yet goes on as told."""
        ended = [case for case in self._recoveries if case.alert.key == alert.key]
        self._recoveries = [case for case in self._recoveries if case not in ended]
        told, sent = any(case.told for case in ended), any(case.sent for case in ended)
        return Case(alert, now, now, told=told, sent=sent)

    def _due(self, now: float, hushed: Mapping[str, float]) -> tuple[list[Case], list[float]]:
        """Return what is to be told now, the worst first, and when more will be."""
        least = _RANK[Severity(self._settings.least)]
        self._told_at = {
            key: at
            for key, at in self._told_at.items()
            if key in self._open or now < at + self._settings.repeat_after
        }
        due, later = [], []
        for case in self._open.values():
            alert = case.alert
            if case.told or case.sent or _RANK[alert.severity] > least:
                continue
            before = self._told_at.get(alert.key)
            at = now if before is None else before + self._settings.repeat_after
            at = max(at, hushed.get(alert.agent, 0.0))
            if at <= now:
                due.append(case)
            else:
                later.append(at)
        due.sort(key=lambda case: (_RANK[case.alert.severity], case.since, case.alert.key))
        return due, later

    def _room(self, now: float) -> int | None:
        """Return how many may be told now; None for any number."""
        while self._spent and self._spent[0] + MINUTE <= now:
            self._spent.popleft()
        most = self._settings.per_minute
        return max(most - len(self._spent), 0) if most else None

    def _notices(
        self, due: list[Case], over: list[Case], room: int | None, now: float
    ) -> list[Notice]:
        single = [
            *(self._notice(NoticeKind.RESOLVED, case, now) for case in over),
            *(self._notice(NoticeKind.RAISED, case, now) for case in due),
        ]
        if room is None or len(single) <= room:
            return single
        single.sort(key=lambda one: (one.kind is not NoticeKind.RAISED, _RANK[one.severity]))
        return [*single[: room - 1], self._in_one_word(single[room - 1 :], now)]

    def _notice(self, kind: NoticeKind, case: Case, now: float) -> Notice:
        alert = case.alert
        over = kind is NoticeKind.RESOLVED
        text = f"over after {span(case.last - case.since)}: {alert.text}" if over else alert.text
        return Notice(
            kind=kind,
            city=self._city,
            key=alert.key,
            agent=alert.agent,
            severity=alert.severity,
            text=text,
            at=now,
            since=case.since,
            screen="" if over else alert.screen,
            about=(alert.key,),
        )

    def _in_one_word(self, rest: list[Notice], now: float) -> Notice:
        named = "; ".join(notice.text for notice in rest[:NAMED])
        more = f"; and {len(rest) - NAMED} more" if len(rest) > NAMED else ""
        return Notice(
            kind=NoticeKind.HELD_BACK,
            city=self._city,
            key="held-back",
            agent="",
            severity=min((notice.severity for notice in rest), key=lambda one: _RANK[one]),
            text=f"{len(rest)} more at once, `gc alerts` shows what is open: {named}{more}",
            at=now,
            since=now,
            about=tuple(key for notice in rest for key in notice.about),
        )
