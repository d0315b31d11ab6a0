"""Reading events and the messages among them: the last ones, or page by page from a number on.

Numbers rise by one from event to event and are never used twice. The oldest events go in time, so
a page says what the first number kept is: a reader that was slower than that can tell. No read
lasts longer than a page, so none holds up the writer or the clearing of its log.
"""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from gascity.core.actions import Event, EventType
from gascity.journal import tally
from gascity.journal.message import KNOWN, is_type
from gascity.journal.schema import MESSAGE, RENAMED
from gascity.journal.trouble import explained

PAGE = 500
BYTES = 4 * 1024 * 1024  # of texts after which a page ends: a message may have a megabyte
OTHER = "OTHER"  # what messages of types that are nobody's but their author's are counted as
LARGEST = 2**63 - 1  # number that SQLite knows
_END = 253402300800.0  # the year 10000, which no calendar here knows
_COLUMNS = "number, at, type, agent, session, run, message, detail, project, task"


@dataclass(frozen=True, slots=True)
class Entry:
    """An event as the journal keeps it. `type` may be one that only a newer gc knows.

    A message of the bus has a type in capitals, its author as `agent` and its body as `message`.
    """

    number: int
    at: float
    type: str
    agent: str = ""
    session: str = ""
    run: str = ""
    message: str = ""
    detail: str = ""
    project: str = ""
    task: str = ""

    @property
    def is_message(self) -> bool:
        """Whether it is a message of the bus."""
        return is_type(self.type)

    @property
    def event(self) -> Event:
        """The event. Raises ValueError for a type that this gc does not know."""
        texts = (self.agent, self.session, self.run, self.message, self.detail)
        return Event(EventType(self.type), *texts)


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which events; an empty tuple stands for all.

    `types` are names, or beginnings that end with a dot. `agents` are names, and `pools` stand for
    all their members, whatever their numbers. `since` is a time. `messages` asks for the
    messages of the bus alone, or for none of them.
    """

    types: tuple[str, ...] = ()
    agents: tuple[str, ...] = ()
    pools: tuple[str, ...] = ()
    since: float | None = None
    projects: tuple[str, ...] = ()
    tasks: tuple[str, ...] = ()
    runs: tuple[str, ...] = ()
    messages: bool | None = None

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
        for column in ("project", "task", "run"):
            names: tuple[str, ...] = getattr(self, f"{column}s")
            if names:
                parts.append(f"{column} IN ({', '.join('?' * len(names))})")
                values += names
        if self.messages is not None:
            parts.append(MESSAGE if self.messages else f"NOT {MESSAGE}")
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
        page = self._read(after, wanted, count, "DESC", bytes_=LARGEST)
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
        """Return how many events of each type there ever were, those let go counted.

        Agents may make up types of messages without end: all but the known ones count as `OTHER`.
        """
        with explained(self._path):
            found = tally.totals(self._db, RENAMED)
        counted: Counter[str] = Counter()
        for kind, count in found.items():
            counted[OTHER if is_type(kind) and kind not in KNOWN else kind] += count
        return dict(counted)

    def newest_at(self) -> float | None:
        """Return when the last event happened; None where there is none."""
        entries = self.newest(1).entries
        return entries[0].at if entries else None

    def _distinct(self, column: str) -> set[str]:
        with explained(self._path):
            rows = self._db.execute(f"SELECT DISTINCT {column} FROM event")  # noqa: S608  our own names
            return {str(value) for (value,) in rows if value}

    def _read(
        self, after: int, wanted: Wanted, limit: int, order: str, bytes_: int = BYTES
    ) -> Page:
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
                entries, full = _some(self._db.execute(statement, values), limit, bytes_)
            finally:
                if self._db.in_transaction:
                    self._db.execute("ROLLBACK")
        upto = entries[-1].number if entries and full else last
        return Page(entries, after, upto, first, last)

    def _span(self) -> tuple[int, int]:
        (first,) = self._db.execute("SELECT min(number) FROM event").fetchone()
        found = self._db.execute("SELECT seq FROM sqlite_sequence WHERE name = 'event'").fetchone()
        last = int(found[0]) if found else 0
        return last + 1 if first is None else int(first), last


def _some(
    rows: Iterable[tuple[object, ...]], limit: int, size: int
) -> tuple[tuple[Entry, ...], bool]:
    """Return what makes a page, and whether there may be more."""
    found: list[Entry] = []
    for row in rows:
        found.append(_entry(row))
        size -= len(found[-1].message) + len(found[-1].detail)
        if size < 0:
            return tuple(found), True
    return tuple(found), len(found) >= limit


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
