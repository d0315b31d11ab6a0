"""The troubles a person was told of and that are not known to be over.

One line for each `key`: the same trouble told again changes its line. An alert that is closed is
forgotten here; the events keep that it was raised. Of some troubles nobody learns that they are
over: what was last told long ago is let go, and so are the oldest when there are too many.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from dataclasses import dataclass

from gascity.core.actions import Alert
from gascity.journal.trouble import explained

TABLE = """
CREATE TABLE alert (
    key   TEXT PRIMARY KEY,
    agent TEXT NOT NULL,
    text  TEXT NOT NULL,
    since REAL NOT NULL,
    last  REAL NOT NULL,
    times INTEGER NOT NULL
) WITHOUT ROWID
"""
COLUMNS = "key, agent, text, since, last, times"
MOST = 1000  # alerts that are kept


@dataclass(frozen=True, slots=True)
class OpenAlert:
    """A trouble as it was last told. `since` and `last` are its first and last time."""

    key: str
    agent: str
    text: str
    since: float
    last: float
    times: int


class AlertBook:
    """The open alerts of one city. Used by the thread that opened the database."""

    def __init__(self, database: sqlite3.Connection, path: str) -> None:
        self._db = database
        self._path = path

    def note(self, raised: Iterable[tuple[float, Alert]]) -> None:
        """Open these alerts; one that is open already has come once more.

        Part of the caller's transaction, if there is one.
        """
        rows = [(_clean(a.key), _clean(a.agent), _clean(a.text), at, at) for at, a in raised]
        with explained(self._path):
            self._db.executemany(
                f"INSERT INTO alert ({COLUMNS}) VALUES (?, ?, ?, ?, ?, 1)"  # noqa: S608  our own names
                " ON CONFLICT (key) DO UPDATE SET agent = excluded.agent, text = excluded.text,"
                " last = excluded.last, times = times + 1",
                rows,
            )

    def close(self, keys: Iterable[str]) -> int:
        """These troubles are over; return how many of them were open.

        Part of the caller's transaction, if there is one.
        """
        rows = [(_clean(key),) for key in keys]
        with explained(self._path):
            return self._db.executemany("DELETE FROM alert WHERE key = ?", rows).rowcount

    def open(self) -> list[OpenAlert]:
        """Return what is open, the oldest first."""
        with explained(self._path):
            rows = self._db.execute(f"SELECT {COLUMNS} FROM alert ORDER BY since, key")  # noqa: S608  our own names
            return [
                OpenAlert(key, agent, text, float(since), float(last), int(times))
                for key, agent, text, since, last, times in rows
            ]


def let_go(db: sqlite3.Connection, oldest: float) -> None:
    """Forget what was last told before `oldest`, and all but the newest ones. Raises sqlite3.Error.

    Looks first: a delete has to wait for whoever writes, also where there is nothing to delete.
    """
    gone = db.execute(
        "SELECT key FROM alert WHERE last < ? OR key NOT IN"
        " (SELECT key FROM alert ORDER BY last DESC, key LIMIT ?)",
        (oldest, MOST),
    ).fetchall()
    if gone:
        db.executemany("DELETE FROM alert WHERE key = ?", gone)


def _clean(text: str) -> str:
    return text.encode("utf-8", "replace").decode()
