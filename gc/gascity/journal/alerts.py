"""The troubles a person was told of and that are not known to be over.

One line for each `key`: the same trouble told again changes its line. An alert that is closed is
forgotten here; the events keep that it was raised.
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

    def close(self, key: str) -> bool:
        """The trouble is over; tell whether it was open."""
        with explained(self._path):
            closed = self._db.execute("DELETE FROM alert WHERE key = ?", (_clean(key),))
        return bool(closed.rowcount)

    def open(self) -> list[OpenAlert]:
        """Return what is open, the oldest first."""
        with explained(self._path):
            rows = self._db.execute(f"SELECT {COLUMNS} FROM alert ORDER BY since, key")  # noqa: S608  our own names
            return [
                OpenAlert(key, agent, text, float(since), float(last), int(times))
                for key, agent, text, since, last, times in rows
            ]


def _clean(text: str) -> str:
    return text.encode("utf-8", "replace").decode()
