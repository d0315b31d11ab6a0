"""Searching a journal for damage: for the controller before it is used, and for `gc doctor`."""

from __future__ import annotations

import contextlib
import sqlite3
import time
import urllib.parse

from gascity.journal import schema
from gascity.journal.trouble import damaged, explained

_STEPS = 10_000  # of SQLite's machine between two looks at the clock
_PATIENCE = 5.0  # seconds for another process to finish writing


def search(db: sqlite3.Connection, path: str, *, within: float) -> None:
    """Search an open file for damage, but not for longer than that; raises GascityError."""
    deadline = time.monotonic() + within
    with explained(path):
        db.set_progress_handler(lambda: time.monotonic() > deadline, _STEPS)
        try:
            (found,) = db.execute("PRAGMA quick_check(1)").fetchone()
        except sqlite3.OperationalError as problem:
            if problem.sqlite_errorname != "SQLITE_INTERRUPT":
                raise
            found = "ok"
        finally:
            db.set_progress_handler(None, 0)
    if found != "ok":
        raise damaged(path, " ".join(str(found).split()))


def examine(path: str, *, within: float) -> None:
    """See that a file can be read and written, and change nothing; raises GascityError."""
    with explained(path):
        place = f"file:{urllib.parse.quote(path)}?mode=rw"
        db = sqlite3.connect(place, uri=True, timeout=_PATIENCE, isolation_level=None)
        with contextlib.closing(db):
            schema.version(db, path)
            search(db, path, within=within)
            db.execute("BEGIN IMMEDIATE")
            db.execute("ROLLBACK")
