"""The shape of `.gc/city.db`, and how a file of an earlier gc gets it.

A change of the shape is one transaction: after a kill at any instant the file is of the old shape
or the new one. A file of a newer gc, or of another program, is refused and left as it is.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import time

from gascity.errors import GascityError
from gascity.journal import alerts, nudges
from gascity.journal.trouble import damaged

SCHEMA = 5
AGAIN = 0.01  # seconds before a file is opened again that somebody is making
LARGEST_LOG = 4 * 1024 * 1024  # bytes that the -wal file keeps after it was written back
_EVENTS = """
CREATE TABLE event (
    number  INTEGER PRIMARY KEY AUTOINCREMENT,
    at      REAL NOT NULL,
    type    TEXT NOT NULL,
    agent   TEXT NOT NULL,
    session TEXT NOT NULL,
    run     TEXT NOT NULL,
    message TEXT NOT NULL,
    detail  TEXT NOT NULL DEFAULT ''
)
"""
_INDICES = """
CREATE INDEX event_at ON event (at);
CREATE INDEX event_type ON event (type);
CREATE INDEX event_agent ON event (agent)
"""
MESSAGE = "type GLOB '[A-Z]*'"
"""Which rows are messages of the bus; the others are events."""
_FROM_4 = f"""
ALTER TABLE event ADD COLUMN project TEXT NOT NULL DEFAULT '';
ALTER TABLE event ADD COLUMN task TEXT NOT NULL DEFAULT '';
CREATE INDEX event_message ON event (run) WHERE {MESSAGE}
"""
_MEMORY = """
CREATE TABLE agent_memory (session TEXT PRIMARY KEY, body TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE pool_memory (name TEXT PRIMARY KEY, size INTEGER NOT NULL) WITHOUT ROWID
"""
_NEW = f"{_EVENTS};{_INDICES};{_MEMORY};{nudges.TABLE};{alerts.TABLE};{alerts.FROM_3};{_FROM_4}"
_FROM_1 = f"ALTER TABLE event ADD COLUMN detail TEXT NOT NULL DEFAULT ''; {nudges.TABLE}"
_FROM_2 = f"{_INDICES};{alerts.TABLE}"
_READ = (
    "SELECT number, at, type, agent, session, run, message, detail, project, task FROM event",
    "SELECT session, body FROM agent_memory",
    "SELECT name, size FROM pool_memory",
    f"SELECT {nudges.COLUMNS} FROM nudge",  # noqa: S608  our own names
    f"SELECT {alerts.COLUMNS} FROM alert",  # noqa: S608  our own names
)
RENAMED = {
    "start_failed": "session.start_failed",
    "stop_failed": "session.stop_failed",
    "drain_failed": "session.drain_failed",
    **{
        old: old.replace("_", ".", 1)
        for old in (
            "controller_started",
            "controller_stopped",
            "session_started",
            "session_adopted",
            "session_crashed",
            "session_stopped",
            "session_draining",
            "session_undrained",
            "agent_quarantined",
            "agent_released",
            "agent_held",
            "provider_lost",
            "provider_back",
            "journal_lost",
            "alert_raised",
            "dialog_answered",
            "dialog_failed",
            "nudge_queued",
            "nudge_submitted",
            "nudge_refused",
            "nudge_unverified",
            "nudge_expired",
            "nudge_cancelled",
        )
    },
}
"""What events were called before format 3. A controller of that time may still be writing."""


def connect(path: str, patience: float) -> sqlite3.Connection:
    """Return a connection to a file of today's shape, made or changed if need be.

    Raises GascityError for a file of a newer gc or of another program, and whatever SQLite says.
    """
    deadline = time.monotonic() + patience
    while True:
        try:
            return _connect(path, patience)
        except sqlite3.OperationalError as problem:
            # Of several that make a file at once SQLite turns some away, however patient they are.
            if "BUSY" not in problem.sqlite_errorname or time.monotonic() > deadline:
                raise
        time.sleep(AGAIN)  # another process upgrades it


def _connect(path: str, patience: float) -> sqlite3.Connection:
    with contextlib.suppress(FileExistsError):
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    db = sqlite3.connect(path, timeout=patience, isolation_level=None)
    try:
        _prepare(db, path)
    except BaseException:  # whatever it is: the file is let go, and it is raised again
        db.close()
        raise
    return db


def _prepare(db: sqlite3.Connection, path: str) -> None:
    _refuse_strangers(db, path)
    db.execute("PRAGMA auto_vacuum = INCREMENTAL")  # before anything is in it, or it has no effect
    db.execute("PRAGMA journal_mode = WAL")
    db.execute("PRAGMA synchronous = NORMAL")
    db.execute(f"PRAGMA journal_size_limit = {LARGEST_LOG}")
    if version(db, path) != SCHEMA:
        db.execute("BEGIN IMMEDIATE")
        try:
            _change(db, path)
            db.execute("COMMIT")
        except BaseException:  # whatever it is: the old shape stays, and it is raised again
            with contextlib.suppress(sqlite3.Error):
                db.execute("ROLLBACK")
            raise
    for statement in _READ:
        db.execute(f"{statement} LIMIT 0")


def _refuse_strangers(db: sqlite3.Connection, path: str) -> None:
    """Raise GascityError for a file of another program or a newer gc, before anything is changed.

    Other programs number their formats in the same place, so a number proves nothing. It is read
    last: somebody may be making the file, and gives it tables and number at once.
    """
    tables = {name for (name,) in db.execute("SELECT name FROM sqlite_master")}
    found = version(db, path)
    if tables and (not found or tables.isdisjoint({"event", "agent_memory"})):
        raise damaged(path, "it is a database of another program")


def version(db: sqlite3.Connection, path: str) -> int:
    """Return the format of a file; raises GascityError for one of a newer gc."""
    (found,) = db.execute("PRAGMA user_version").fetchone()
    if found > SCHEMA:
        raise GascityError(
            f"{path} was written by a newer gc (format {found}, this one knows {SCHEMA})",
            hint="use the newer gc, or move the file away to begin without its history",
        )
    return int(found)


def _change(db: sqlite3.Connection, path: str) -> None:
    found = version(db, path)
    scripts = (_FROM_1, _FROM_2, alerts.FROM_3, _FROM_4)[found - 1 :] if found else (_NEW,)
    for statement in ";".join(scripts).split(";"):
        db.execute(statement)
    if found in (1, 2):
        db.executemany(
            "UPDATE event SET type = ? WHERE type = ?", [(new, old) for old, new in RENAMED.items()]
        )
    db.execute(f"PRAGMA user_version = {SCHEMA}")
