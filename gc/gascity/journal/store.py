"""`.gc/city.db`: events, messages, alerts and what the plan must remember, in one SQLite file.

Several processes may write. A tick's events, alerts and memory go in as one transaction, so that
after a kill at any instant they agree. A file that is damaged or newer than this program is an
error with a way out, never a silent fresh start: it holds why things are as they are.
"""

from __future__ import annotations

import contextlib
import json
import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, fields
from typing import Any

from gascity.core.actions import Event
from gascity.core.memory import FRESH, AgentMemory, Memory
from gascity.errors import GascityError
from gascity.journal import damage, schema, trimming
from gascity.journal.alerts import AlertBook, OpenAlert
from gascity.journal.events import Entry, EventLog
from gascity.journal.nudges import NudgeQueue
from gascity.journal.trouble import explained

PATIENCE = 0.25  # for another process to finish writing; the loop must not wait longer
ASKED = 0.001  # seconds between two questions whether it has
LATE = 0.02  # seconds that count of such a pause: who was stopped for longer was not alone in it
CHECKED = 0.25  # seconds for which a file is searched for damage before it is used

Happening = tuple[float, Event]  # with the time at which it happened


class Journal:
    """The journal of one city. Used by the thread that opened it.

    `behind` says why the last words could not be written. `written` is called after each write that
    holds events, with the number of the last one; by then it is on disk.
    """

    def __init__(
        self,
        path: str,
        *,
        patience: float = PATIENCE,
        written: Callable[[int], None] | None = None,
    ) -> None:
        self._path = path
        self._patience = patience
        self._written = written
        self.behind = ""
        with explained(path):
            self._db = schema.connect(path, patience)
        self._saved = Memory()
        self.nudges = NudgeQueue(self._db)
        self.alerts = AlertBook(self._db, path)
        self.events = EventLog(self._db, path)

    def close(self) -> None:
        """Let the file go."""
        with contextlib.suppress(sqlite3.Error):
            self._db.close()

    def look_over(self, *, within: float = CHECKED) -> None:
        """Search the file for damage, but not for longer than that; make an old one able to shrink.

        Raises GascityError. What lies beyond the time is found when it is read.
        """
        damage.search(self._db, self._path, within=within)
        self._let_it_shrink()

    def record(self, at: float, events: Iterable[Event], memory: Memory) -> None:
        """Write what happened at that time and what is remembered after it; see `write`."""
        self.write([(at, event) for event in events], memory)

    def write(
        self,
        happened: Iterable[Happening],
        memory: Memory,
        alerts: Iterable[OpenAlert] = (),
        closed: Iterable[str] = (),
    ) -> None:
        """Write a tick's events, alerts and what is remembered after it, all or nothing.

        `alerts` are kept as they are now, `closed` are the keys of those that are over.
        Raises GascityError, and then nothing of it is in the file.
        """
        rows = [(at, *map(_clean, _texts(event))) for at, event in happened]
        alerts, closed = list(alerts), list(closed)
        if not rows and not alerts and not closed and memory == self._saved:
            return
        with self._noted(), explained(self._path), self._transaction():
            self._db.executemany(
                "INSERT INTO event (at, type, agent, session, run, message, detail)"
                " VALUES (?, ?, ?, ?, ?, ?, ?)",
                rows,
            )
            (number,) = self._db.execute("SELECT last_insert_rowid()").fetchone()
            self.alerts.close(closed)
            self.alerts.keep(alerts)
            self._save(memory)
        self._saved = memory
        if rows and self._written is not None:
            self._written(number)

    def remembered(self) -> Memory:
        """Return what is remembered of the city."""
        with explained(self._path):
            agents = {
                str(session): _agent_memory(str(session), json.loads(body))
                for session, body in self._db.execute("SELECT session, body FROM agent_memory")
            }
            sizes = {
                str(name): int(size)
                for name, size in self._db.execute("SELECT name, size FROM pool_memory")
            }
        self._saved = Memory(agents, sizes)
        return self._saved

    def entries(self, *, after: int = 0, limit: int = 1000) -> Iterator[Entry]:
        """Yield events in order, those numbered above `after`; large ones make it fewer."""
        yield from self.events.page(after, limit=limit).entries

    def trim(self, now: float, keep: float, megabytes: int) -> bool:
        """Let events go that are older than `keep` seconds or too many; see `trimming`.

        Tells whether there is more to do. Raises GascityError when it cannot be done now.
        """
        with explained(self._path):
            return trimming.trim(self._db, now, keep, megabytes)

    @contextlib.contextmanager
    def _noted(self) -> Iterator[None]:
        try:
            yield
        except GascityError as problem:
            self.behind = problem.message
            raise
        self.behind = ""

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[None]:
        try:
            self._begin()
            yield
            self._db.execute("COMMIT")
        except BaseException:  # whatever it is: nothing of it stays, and it is raised again
            with contextlib.suppress(sqlite3.Error):
                if self._db.in_transaction:
                    self._db.execute("ROLLBACK")
            raise

    def _begin(self) -> None:
        """Begin to write as soon as nobody else does.

        SQLite asks a dozen times in this while, and loses against many who post without a pause.
        Who has it may stand still with the whole machine, and then has to be given time again.
        """
        left = self._patience
        self._db.execute("PRAGMA busy_timeout = 0")
        try:
            while True:
                try:
                    self._db.execute("BEGIN IMMEDIATE")
                    return
                except sqlite3.OperationalError as problem:
                    if "BUSY" not in problem.sqlite_errorname or left <= 0:
                        raise
                before = time.monotonic()
                time.sleep(ASKED)  # another process has it
                left -= min(time.monotonic() - before, LATE)
        finally:
            self._db.execute(f"PRAGMA busy_timeout = {round(self._patience * 1000)}")

    def _save(self, memory: Memory) -> None:
        changed = [
            (_clean(session), json.dumps(asdict(agent)))
            for session, agent in memory.agents.items()
            if self._saved.agents.get(session) != agent
        ]
        gone = [(session,) for session in self._saved.agents if session not in memory.agents]
        self._db.executemany("INSERT OR REPLACE INTO agent_memory VALUES (?, ?)", changed)
        self._db.executemany("DELETE FROM agent_memory WHERE session = ?", gone)
        if memory.pools != self._saved.pools:
            self._db.execute("DELETE FROM pool_memory")
            self._db.executemany("INSERT INTO pool_memory VALUES (?, ?)", memory.pools.items())

    def _let_it_shrink(self) -> None:
        """Have a file of an earlier gc give its free pages back from now on.

        That rewrites it once; where there is no room for it, it stays as large as it was.
        """
        with contextlib.suppress(sqlite3.Error):
            (mode,) = self._db.execute("PRAGMA auto_vacuum").fetchone()
            if mode != trimming.INCREMENTAL:
                self._db.execute("PRAGMA auto_vacuum = INCREMENTAL")
                self._db.execute("VACUUM")


def _texts(event: Event) -> tuple[str, ...]:
    return (event.type, event.agent, event.session, event.run, event.message, event.detail)


def _clean(text: str) -> str:
    """Return the text with what is no Unicode replaced: an agent may print anything."""
    return text.encode("utf-8", "replace").decode()


def _agent_memory(session: str, body: object) -> AgentMemory:
    """Read what an older or equal version wrote: unknown keys are left out.

    Raises ValueError for a value that none of them can have written.
    """
    if not isinstance(body, dict):
        raise ValueError(f"the memory of {session} is no object")  # noqa: TRY004  told as damage
    values: dict[str, Any] = {}  # Any: each is checked against its field
    for field in fields(AgentMemory):
        if field.name not in body:
            continue
        value = body[field.name]
        if not _fits(value, getattr(FRESH, field.name)):
            raise ValueError(f"{field.name} of {session} is {value!r:.60}")
        values[field.name] = tuple(value) if isinstance(value, list) else value
    return AgentMemory(**values)


def _fits(value: object, default: object) -> bool:
    """Tell whether a value can stand where a fresh memory has this default."""
    if isinstance(default, tuple):
        return isinstance(value, list) and all(_fits(each, 0.0) for each in value)
    if default is None or isinstance(default, float):
        return isinstance(value, int | float) or (value is None and default is None)
    return type(value) is type(default)
