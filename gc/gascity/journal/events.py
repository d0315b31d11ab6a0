"""Reading events: the last ones, or page by page from a number on.

Numbers rise by one from event to event and are never used twice. The oldest events go in time, so
a page says what the first number kept is: a reader that was slower than that can tell. No read
lasts longer than a page, so none holds up the writer or the clearing of its log.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from gascity.core.actions import Event, EventType
from gascity.journal import tally
from gascity.journal.schema import RENAMED
from gascity.journal.trouble import explained

PAGE = 500
LARGEST = 2**63 - 1  # number that SQLite knows
_END = 253402300800.0  # the year 10000, which no calendar here knows
_COLUMNS = "number, at, type, agent, session, run, message, detail"


@dataclass(frozen=True, slots=True)
class Entry:
    """An event as the journal keeps it. `type` may be one that only a newer gc knows."""

    number: int
    at: float
    type: str
    agent: str = ""
    session: str = ""
    run: str = ""
    message: str = ""
    detail: str = ""

    @property
    def event(self) -> Event:
        """The event. Raises ValueError for a type that this gc does not know."""
        texts = (self.agent, self.session, self.run, self.message, self.detail)
        return Event(EventType(self.type), *texts)


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which events; an empty tuple stands for all.

    `types` are names, or beginnings that end with a dot. `agents` are names, and `pools` stand for
    all their members, whatever their numbers. `since` is a time.
    """

    types: tuple[str, ...] = ()
    agents: tuple[str, ...] = ()
    pools: tuple[str, ...] = ()
    since: float | None = None

    def condition(self) -> tuple[str, list[object]]:
        """Return what stands in the WHERE, and its values."""
        parts: list[str] = []
        values: list[object] = []
        if self.since is not None:
            parts.append("at >= ?")
            values.append(self.since)
        if self.types:
            parts.append(_any(f"type {'GLOB' if _begins(t) else '='} ?" for t in self.types))
            values += [_literal(t) + "*" if _begins(t) else t for t in self.types]
        if self.agents or self.pools:
            member = "(agent GLOB ? AND agent NOT GLOB ?)"
            parts.append(_any(["agent = ?"] * len(self.agents) + [member] * len(self.pools)))
            values += self.agents
            for pool in map(_literal, self.pools):
                values += [f"{pool}-[0-9]*", f"{pool}-*[^0-9]*"]
        return " AND ".join(parts) or "1", values


ALL = Wanted()


@dataclass(frozen=True, slots=True)
class Page:
    """Events in order. All wanted ones up to the number `upto` have been seen with it.

    `after` is the number they begin above, `first` the oldest number kept, `last` the newest there
    ever was. `anew` says that another journal has taken the place of the one that was asked about.
    """

    entries: tuple[Entry, ...]
    after: int
    upto: int
    first: int
    last: int
    anew: bool = False

    @property
    def misses(self) -> bool:
        """Whether events above `after` have been let go already."""
        return self.after + 1 < self.first


class EventLog:
    """The events of one city. Used by the thread that opened the database."""

    def __init__(self, database: sqlite3.Connection, path: str) -> None:
        self._db = database
        self._path = path

    def page(self, after: int, wanted: Wanted = ALL, *, limit: int = PAGE) -> Page:
        """Return the first wanted events numbered above `after`.

        When there was never one of that number, this is another journal: it begins at its first.
        """
        page = self._read(after, wanted, limit, "")
        return page if after <= page.last else replace(self._read(0, wanted, limit, ""), anew=True)

    def newest(self, count: int, wanted: Wanted = ALL, *, after: int = 0) -> Page:
        """Return the last `count` wanted events numbered above `after`, in order."""
        page = self._read(after, wanted, count, "DESC")
        return replace(page, entries=page.entries[::-1], upto=page.last)

    def every(self, after: int = 0, wanted: Wanted = ALL) -> Iterator[Page]:
        """Yield pages until there is nothing more."""
        page = self.page(after, wanted)
        yield page
        while page.upto < page.last:
            page = self.page(page.upto, wanted)
            yield page

    def agents(self) -> set[str]:
        """Return the names of all agents that an event is about."""
        return self._distinct("agent")

    def types(self) -> set[str]:
        """Return the types of all events kept."""
        return self._distinct("type")

    def totals(self) -> dict[str, int]:
        """Return how many events of each type there ever were, those let go counted."""
        with explained(self._path):
            return tally.totals(self._db, RENAMED)

    def newest_at(self) -> float | None:
        """Return when the last event happened; None where there is none."""
        entries = self.newest(1).entries
        return entries[0].at if entries else None

    def _distinct(self, column: str) -> set[str]:
        with explained(self._path):
            rows = self._db.execute(f"SELECT DISTINCT {column} FROM event")  # noqa: S608  our own names
            return {str(value) for (value,) in rows if value}

    def _read(self, after: int, wanted: Wanted, limit: int, order: str) -> Page:
        condition, values = wanted.condition()
        statement = (
            f"SELECT {_COLUMNS} FROM event WHERE number > ? AND {condition}"  # noqa: S608  our own names
            f" ORDER BY number {order} LIMIT ?"
        )
        values = [min(max(after, 0), LARGEST), *values, min(limit, LARGEST)]
        with explained(self._path):
            try:
                self._db.execute("BEGIN")
                first, last = self._span()
                entries = tuple(map(_entry, self._db.execute(statement, values)))
            finally:
                if self._db.in_transaction:
                    self._db.execute("ROLLBACK")
        upto = entries[-1].number if len(entries) >= limit else last
        return Page(entries, after, upto, first, last)

    def _span(self) -> tuple[int, int]:
        (first,) = self._db.execute("SELECT min(number) FROM event").fetchone()
        found = self._db.execute("SELECT seq FROM sqlite_sequence WHERE name = 'event'").fetchone()
        last = int(found[0]) if found else 0
        return last + 1 if first is None else int(first), last


def _entry(row: tuple[object, ...]) -> Entry:
    number, at, kind, *texts = row
    if not isinstance(number, int) or not isinstance(at, int | float) or not 0 <= at < _END:
        raise ValueError(f"event {number} has no time")
    if not isinstance(kind, str) or not all(isinstance(text, str) for text in texts):
        raise ValueError(f"event {number} is no text")
    return Entry(number, float(at), RENAMED.get(kind, kind), *map(str, texts))


def _any(conditions: Iterable[str]) -> str:
    return "(" + " OR ".join(conditions) + ")"


def _begins(kind: str) -> bool:
    """Tell whether a word stands for all types that begin so."""
    return kind.endswith(".")


def _literal(text: str) -> str:
    """Return the pattern that matches this text alone."""
    return "".join(f"[{c}]" if c in "*?[" else c for c in text)
