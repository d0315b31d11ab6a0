"""The troubles that are open: that a person should know of and that are not known to be over.

One line for each `key`. An alert that is closed is forgotten here; the events keep that it was
raised. Of some troubles nobody learns that they are over: what came long ago is let go, and so are
the oldest when there are too many.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from dataclasses import asdict, dataclass

from gascity.core.alerts import Severity
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
FROM_3 = """
ALTER TABLE alert ADD COLUMN severity TEXT NOT NULL DEFAULT 'critical';
ALTER TABLE alert ADD COLUMN told INTEGER NOT NULL DEFAULT 1
"""
COLUMNS = "key, agent, text, since, last, times, severity, told"
MOST = 1000  # alerts that are kept


@dataclass(frozen=True, slots=True)
class OpenAlert:
    """A trouble as it is known. `since` and `last` are its first and last time.

    `told` says whether a person was told of it.
    """

    key: str
    agent: str
    text: str
    since: float
    last: float
    times: int = 1
    severity: Severity = Severity.CRITICAL
    told: bool = False

    def document(self, *, muted: bool) -> dict[str, object]:
        """Return it for programs. Its keys are a promise."""
        return {**asdict(self), "severity": self.severity.value, "muted": muted}


class AlertBook:
    """The open alerts of one city. Used by the thread that opened the database."""

    def __init__(self, database: sqlite3.Connection, path: str) -> None:
        self._db = database
        self._path = path

    def keep(self, alerts: Iterable[OpenAlert]) -> None:
        """Keep these alerts as they are now.

        Part of the caller's transaction, if there is one.
        """
        rows = [
            (
                *(_clean(text) for text in (a.key, a.agent, a.text)),
                *(a.since, a.last, a.times, a.severity.value, int(a.told)),
            )
            for a in alerts
        ]
        with explained(self._path):
            self._db.executemany(
                f"INSERT OR REPLACE INTO alert ({COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",  # noqa: S608  our own names
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
                OpenAlert(
                    *(key, agent, text, float(since), float(last), int(times)),
                    severity=_severity(how),
                    told=bool(told),
                )
                for key, agent, text, since, last, times, how, told in rows
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


def _severity(word: str) -> Severity:
    """Return the severity; one that only a newer gc knows counts as the worst."""
    return Severity(word) if word in set(Severity) else Severity.CRITICAL
