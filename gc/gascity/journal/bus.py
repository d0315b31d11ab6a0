"""The message bus: what agents, runs and people tell each other, durably, in the journal's table.

A message has a number when it is on the bus, one more than whatever came before it, and a kill at
any instant after that does not take it back. Any number of processes may post at once. Messages
are let go with the events of their age, so a reader goes on from the last number it knows, and a
page says what it misses.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from types import TracebackType
from typing import Self

from gascity.core.model import DaemonSettings
from gascity.errors import GascityError
from gascity.journal import schema, trimming
from gascity.journal.events import PAGE, EventLog, Page, Wanted
from gascity.journal.message import checked_body, checked_name, checked_type
from gascity.journal.trouble import explained
from gascity.journal.where import in_a_city

PATIENCE = 30.0  # seconds for others to finish writing; thousands may post at once
TIDIED = 64  # messages after which who posts lets old ones go ...
HEAVY = 64 * 1024  # ... or after each that has so many characters
LONGEST_LOG = 32 * 1024 * 1024  # bytes of the -wal file at which a poster sees to it
MOMENT = 100  # milliseconds that it waits for others then
MESSAGES = Wanted(messages=True)
FULL = "make room, and post it again: it is not on the bus"


@dataclass(frozen=True, slots=True)
class _Message:
    """A message that may be posted: everything in it has been checked."""

    kind: str
    body: str
    project: str
    task: str
    run: str
    author: str

    @property
    def row(self) -> tuple[str, ...]:
        return (self.kind, self.author, self.run, self.body, self.project, self.task)


class Bus:
    """The bus in one journal. Used by the thread that made it; close it, or use it in a `with`.

    The file is opened when it is first needed, made where there is none, and opened again when
    another one has taken its place. `kept` says for how many seconds the city of a journal keeps
    its messages, and how many megabytes: it may have no controller that lets old ones go.
    """

    def __init__(
        self,
        path: str,
        *,
        patience: float = PATIENCE,
        kept: Callable[[str], tuple[float, int] | None] = lambda _: None,
    ) -> None:
        self._path = path
        self._patience = patience
        self._kept = kept
        self._db: sqlite3.Connection | None = None
        self._file = (0, 0)
        self._log_path = f"{os.path.realpath(path)}-wal"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, _: type[BaseException] | None, __: BaseException | None, ___: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Let the file go; the next use opens it again."""
        if self._db is not None:
            with contextlib.suppress(sqlite3.Error):
                self._db.close()
            self._db = None

    def post(
        self,
        kind: str,
        body: str | bytes,
        *,
        project: str = "",
        task: str = "",
        run: str = "",
        author: str = "",
    ) -> int:
        """Put a message of this type on the bus; return its number, with which it is durable.

        Raises UsageError for a message that cannot be one, and GascityError when it cannot be
        written; then nothing of it is on the bus.
        """
        return self._post(_checked(kind, body, project, task, run, author), once=False)

    def post_once(
        self,
        kind: str,
        run: str,
        body: str | bytes,
        *,
        project: str = "",
        task: str = "",
        author: str = "",
    ) -> int:
        """Post it unless this run has a message of this type already; then return 0.

        However many processes try at once, one of them posts it. Raises as `post` does.
        """
        return self._post(_checked(kind, body, project, task, run, author), once=True)

    def lifecycle(self, run: str) -> set[str]:
        """Return the types of the messages of a run that are kept."""
        with self._explained(), self._database() as db:
            return _types(db, run)

    def page(self, after: int, wanted: Wanted = MESSAGES, *, limit: int = PAGE) -> Page:
        """Return the first wanted messages numbered above `after`; see `EventLog.page`."""
        with self._log() as log:
            return log.page(after, replace(wanted, messages=True), limit=limit)

    def newest(self, count: int, wanted: Wanted = MESSAGES, *, after: int = 0) -> Page:
        """Return the last `count` wanted messages numbered above `after`, in order."""
        with self._log() as log:
            return log.newest(count, replace(wanted, messages=True), after=after)

    def every(self, after: int = 0, wanted: Wanted = MESSAGES) -> Iterator[Page]:
        """Yield pages until there is nothing more."""
        page = self.page(after, wanted)
        yield page
        while page.upto < page.last:
            page = self.page(page.upto, wanted)
            yield page

    def _post(self, message: _Message, *, once: bool) -> int:
        with self._explained(), self._database() as db:
            try:
                db.execute("BEGIN IMMEDIATE")
                if once and message.kind in _types(db, message.run):
                    return 0
                added = db.execute(
                    "INSERT INTO event (at, type, agent, session, run, message, project, task)"
                    " VALUES (?, ?, ?, '', ?, ?, ?, ?)",
                    (time.time(), *message.row),  # now, that numbers and times rise together
                )
                db.execute("COMMIT")
            finally:
                if db.in_transaction:
                    db.execute("ROLLBACK")
        number = added.lastrowid or 0
        with contextlib.suppress(sqlite3.Error, OSError):  # it has time: the message is there
            if os.stat(self._log_path).st_size > LONGEST_LOG:
                _begin_the_log_anew(db, self._patience)
            if number % TIDIED == 0 or len(message.body) >= HEAVY:
                self._tidy(db)
        return number

    def _tidy(self, db: sqlite3.Connection) -> None:
        """Let old messages go: in a city it may be that no controller does, and elsewhere is none.

        Of a city that does not say how long it keeps them, none goes.
        """
        usual = DaemonSettings()
        elsewhere = (usual.keep_events, usual.keep_megabytes)
        limits = self._kept(self._path) if in_a_city(self._path) else elsewhere
        if limits is not None:
            trimming.trim(db, time.time(), *limits)

    @contextlib.contextmanager
    def _log(self) -> Iterator[EventLog]:
        with self._database() as db:
            yield EventLog(db, self._path)

    @contextlib.contextmanager
    def _database(self) -> Iterator[sqlite3.Connection]:
        """Yield the file that is there now; an error lets it go."""
        if self._db is None or _identity(self._path) != self._file:
            self.close()
            with explained(self._path):
                self._db = schema.connect(self._path, self._patience)
            self._file = _identity(self._path)
        try:
            yield self._db
        except (sqlite3.Error, GascityError):
            self.close()
            raise

    @contextlib.contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            with explained(self._path):
                yield
        except GascityError as problem:
            cause = problem.__cause__
            if getattr(cause, "sqlite_errorname", "").startswith("SQLITE_FULL"):
                raise GascityError(problem.message, hint=FULL) from cause
            raise


def _checked(
    kind: str, body: str | bytes, project: str, task: str, run: str, author: str
) -> _Message:
    names = (("project", project), ("task", task), ("run", run), ("author", author))
    return _Message(
        checked_type(kind), checked_body(body), *(checked_name(what, name) for what, name in names)
    )


def _types(db: sqlite3.Connection, run: str) -> set[str]:
    asked = f"SELECT DISTINCT type FROM event WHERE run = ? AND {schema.MESSAGE}"  # noqa: S608  our own names
    return {str(kind) for (kind,) in db.execute(asked, (run,))}


def _begin_the_log_anew(db: sqlite3.Connection, patience: float) -> None:
    """Write back what is in SQLite's log, so that it is written from its beginning again.

    SQLite does so when nobody writes; where many post at once, it would grow without end.
    """
    db.execute(f"PRAGMA busy_timeout = {MOMENT}")
    try:
        db.execute("PRAGMA wal_checkpoint(RESTART)").fetchall()
    finally:
        db.execute(f"PRAGMA busy_timeout = {round(patience * 1000)}")


def _identity(path: str) -> tuple[int, int]:
    """Return what tells the file at a path from another that takes its place."""
    try:
        found = os.stat(path)
    except OSError:
        return (0, 0)
    return found.st_dev, found.st_ino
