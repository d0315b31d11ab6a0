"""`.gc/city.db`: events and what the plan must remember, in one SQLite file.

Several processes may write. A tick's events and memory go in as one transaction, so that after a
kill at any instant they agree. A file that is damaged or newer than this program is an error with
a way out, never a silent fresh start: it holds why things are as they are.
"""

from __future__ import annotations

import contextlib
import json
import os
import sqlite3
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, fields

from gascity.core.actions import Event, EventType
from gascity.core.memory import AgentMemory, Memory
from gascity.errors import GascityError
from gascity.journal.nudges import TABLE, NudgeQueue

SCHEMA = 2
PATIENCE = 0.25  # for another process to finish writing; the loop must not wait longer
_TABLES = f"""
CREATE TABLE event (
    number  INTEGER PRIMARY KEY AUTOINCREMENT,
    at      REAL NOT NULL,
    type    TEXT NOT NULL,
    agent   TEXT NOT NULL,
    session TEXT NOT NULL,
    run     TEXT NOT NULL,
    message TEXT NOT NULL,
    detail  TEXT NOT NULL DEFAULT ''
);
CREATE TABLE agent_memory (session TEXT PRIMARY KEY, body TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE pool_memory (name TEXT PRIMARY KEY, size INTEGER NOT NULL) WITHOUT ROWID;
{TABLE};
"""
_SINCE_1 = f"ALTER TABLE event ADD COLUMN detail TEXT NOT NULL DEFAULT ''; {TABLE}"


@dataclass(frozen=True, slots=True)
class Entry:
    """An event as the journal keeps it."""

    number: int
    at: float
    event: Event


class Journal:
    """The journal of one city. Used by the thread that opened it."""

    def __init__(self, path: str) -> None:
        self._path = path
        existed = os.path.exists(path)
        try:
            self._db = sqlite3.connect(path, timeout=PATIENCE, isolation_level=None)
            if not existed:
                os.chmod(path, 0o600)
            self._db.execute("PRAGMA journal_mode = WAL")
            self._db.execute("PRAGMA synchronous = NORMAL")
            self._prepare()
        except sqlite3.OperationalError as problem:  # full, read-only, in use: it may pass
            raise GascityError(
                f"{self._path} cannot be opened now: {problem}",
                hint="is the disk full? The agents are not affected",
            ) from problem
        except sqlite3.DatabaseError as problem:
            raise self._damaged(str(problem)) from problem
        self.behind = ""  # why the last words could not be written
        self._saved = Memory()
        self.nudges = NudgeQueue(self._db)

    def close(self) -> None:
        """Let the file go."""
        self._db.close()

    def record(self, at: float, events: Iterable[Event], memory: Memory) -> None:
        """Write a tick's events and what is remembered after it, together or not at all."""
        rows = [(at, *map(_clean, _texts(e))) for e in events]
        if not rows and memory == self._saved:
            return
        try:
            self._db.execute("BEGIN IMMEDIATE")
            self._db.executemany(
                "INSERT INTO event (at, type, agent, session, run, message, detail)"
                " VALUES (?, ?, ?, ?, ?, ?, ?)",
                rows,
            )
            self._save(memory)
            self._db.execute("COMMIT")
        except sqlite3.OperationalError as problem:  # locked, full, read-only: it may pass
            self._roll_back()
            self.behind = f"{self._path} cannot be written now: {problem}"
            raise GascityError(self.behind) from problem
        except (sqlite3.Error, ValueError) as problem:
            self._roll_back()
            self.behind = f"{self._path} cannot be used: {problem}"
            raise self._damaged(str(problem)) from problem
        self.behind = ""
        self._saved = memory

    def _roll_back(self) -> None:
        with contextlib.suppress(sqlite3.Error):
            if self._db.in_transaction:
                self._db.execute("ROLLBACK")

    def remembered(self) -> Memory:
        """Return what is remembered of the city."""
        try:
            agents = {
                session: _agent_memory(json.loads(body))
                for session, body in self._db.execute("SELECT session, body FROM agent_memory")
            }
            sizes = dict(self._db.execute("SELECT name, size FROM pool_memory"))
        except (sqlite3.DatabaseError, ValueError, TypeError, AttributeError) as problem:
            raise self._damaged(str(problem)) from problem
        self._saved = Memory(agents, sizes)
        return self._saved

    def entries(self, *, after: int = 0, limit: int = 1000) -> Iterator[Entry]:
        """Yield events in order, those numbered above `after`."""
        rows = self._db.execute(
            "SELECT number, at, type, agent, session, run, message, detail FROM event"
            " WHERE number > ? ORDER BY number LIMIT ?",
            (after, limit),
        )
        for number, at, kind, *texts in rows:
            yield Entry(number, at, Event(EventType(kind), *texts))

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

    def _prepare(self) -> None:
        (version,) = self._db.execute("PRAGMA user_version").fetchone()
        if version > SCHEMA:
            raise GascityError(
                f"{self._path} was written by a newer gc (format {version}, this one knows"
                f" {SCHEMA})",
                hint="use the newer gc, or move the file away to begin without its history",
            )
        if version == SCHEMA:
            return
        self._db.execute("BEGIN IMMEDIATE")
        (version,) = self._db.execute("PRAGMA user_version").fetchone()
        if version != SCHEMA:
            for statement in (_SINCE_1 if version == 1 else _TABLES).split(";"):
                self._db.execute(statement)
            self._db.execute(f"PRAGMA user_version = {SCHEMA}")
        self._db.execute("COMMIT")

    def _damaged(self, why: str) -> GascityError:
        return GascityError(
            f"{self._path} cannot be used: {why}",
            hint="move it away to begin without its history; the agents are not affected",
        )


def _texts(event: Event) -> tuple[str, ...]:
    return (event.type, event.agent, event.session, event.run, event.message, event.detail)


def _clean(text: str) -> str:
    """Return the text with what is no Unicode replaced: an agent may print anything."""
    return text.encode("utf-8", "replace").decode()


def _agent_memory(body: dict[str, object]) -> AgentMemory:
    """Read what an older or equal version wrote: unknown keys are left out."""
    known = {field.name for field in fields(AgentMemory)}
    values = {
        key: tuple(value) if isinstance(value, list) else value
        for key, value in body.items()
        if key in known
    }
    return AgentMemory(**values)  # type: ignore[arg-type]  # written by `_save` from the same class
