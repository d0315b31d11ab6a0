"""The queue of messages in the journal: kept until delivered, expired or taken back.

A message is marked as on its way before anything is typed. One that is found so marked by a new
controller may have arrived: it is never sent a second time.
"""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator

from gascity.core.nudges import NudgeState, QueuedNudge
from gascity.errors import GascityError, NotFound, UsageError

TABLE = """
CREATE TABLE nudge (
    number   INTEGER PRIMARY KEY AUTOINCREMENT,
    agent    TEXT NOT NULL,
    session  TEXT NOT NULL,
    text     TEXT NOT NULL,
    raw      INTEGER NOT NULL,
    run      TEXT NOT NULL,
    at       REAL NOT NULL,
    expires  REAL NOT NULL,
    state    TEXT NOT NULL,
    evidence TEXT NOT NULL,
    attempts INTEGER NOT NULL
)
"""
SHOWN = 100  # messages that are over and still listed
MOST_PENDING = 1000  # for one agent
MOST_KEPT = 1000  # messages, of which those that are over are kept; and all first ones
_LARGEST = 2**63 - 1  # number that SQLite knows
COLUMNS = "number, agent, session, text, at, expires, raw, run, state, evidence, attempts"
_OPEN = (NudgeState.PENDING, NudgeState.SENDING)


class NudgeQueue:
    """The queue of one city. Used by the thread that opened the database."""

    def __init__(self, database: sqlite3.Connection) -> None:
        self._db = database

    def add(
        self,
        agent: str,
        session: str,
        text: str,
        *,
        at: float,
        expires_at: float,
        raw: bool = False,
        run: str = "",
    ) -> QueuedNudge:
        """Keep a message for an agent."""
        with _errors():
            (waiting,) = self._db.execute(
                "SELECT count(*) FROM nudge WHERE session = ? AND state = ?",
                (session, NudgeState.PENDING),
            ).fetchone()
            if waiting >= MOST_PENDING:
                raise UsageError(
                    f"{waiting} messages wait for {agent} already",
                    hint="`gc nudges` lists them, `gc nudges cancel` takes one back",
                )
            clean = text.encode("utf-8", "replace").decode()
            row = (agent, session, clean, raw, run, at, expires_at, NudgeState.PENDING, "", 0)
            added = self._db.execute(
                "INSERT INTO nudge"
                " (agent, session, text, raw, run, at, expires, state, evidence, attempts)"
                " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                row,
            )
            number = added.lastrowid or 0
            self._db.execute(
                "DELETE FROM nudge WHERE number <= ? AND state NOT IN (?, ?) AND run = ''",
                (number - MOST_KEPT, *_OPEN),
            )
        return QueuedNudge(number, agent, session, clean, at, expires_at, raw, run)

    def open(self) -> list[QueuedNudge]:
        """Return what is not over, the oldest first."""
        with _errors():
            rows = self._db.execute(
                f"SELECT {COLUMNS} FROM nudge WHERE state IN (?, ?) ORDER BY number",  # noqa: S608  our own names
                _OPEN,
            )
            return [_nudge(row) for row in rows]

    def waiting(self) -> list[int]:
        """Return the numbers of those that wait."""
        with _errors():
            rows = self._db.execute(
                "SELECT number FROM nudge WHERE state = ? ORDER BY number", (NudgeState.PENDING,)
            )
            return [number for (number,) in rows]

    def runs(self) -> set[str]:
        """Return the incarnations that a message was kept for."""
        with _errors():
            rows = self._db.execute("SELECT DISTINCT run FROM nudge WHERE run != ''")
            return {run for (run,) in rows}

    def recent(self) -> list[QueuedNudge]:
        """Return what is not over, and the last of what is, the oldest first."""
        with _errors():
            rows = self._db.execute(
                f"SELECT {COLUMNS} FROM nudge WHERE state NOT IN (?, ?)"  # noqa: S608  our own names
                " ORDER BY number DESC LIMIT ?",
                (*_OPEN, SHOWN),
            )
            over = [_nudge(row) for row in rows]
        return sorted([*over, *self.open()], key=lambda nudge: nudge.number)

    def counts(self) -> dict[str, int]:
        """Return how many messages that are kept are in which state."""
        with _errors():
            rows = self._db.execute("SELECT state, count(*) FROM nudge GROUP BY state")
            return {str(state): int(count) for state, count in rows}

    def take(self, number: int) -> bool:
        """Mark a message as on its way; False when it is over, because it was taken back."""
        with _errors():
            changed = self._db.execute(
                "UPDATE nudge SET state = ? WHERE number = ? AND state IN (?, ?)",
                (NudgeState.SENDING, number, *_OPEN),
            )
        return bool(changed.rowcount)

    def mark(
        self, number: int, state: NudgeState, evidence: str = "", *, attempts: int = 0
    ) -> None:
        """Note what has become of a message."""
        with _errors():
            self._db.execute(
                "UPDATE nudge SET state = ?, evidence = ?, attempts = attempts + ?"
                " WHERE number = ?",
                (state, evidence.encode("utf-8", "replace").decode(), attempts, number),
            )

    def cancel(self, number: int) -> None:
        """Take a message back. Raises NotFound, or UsageError when it is too late for that."""
        found = None
        with _errors():
            if abs(number) <= _LARGEST:
                changed = self._db.execute(
                    "UPDATE nudge SET state = ? WHERE number = ? AND state = ?",
                    (NudgeState.CANCELLED, number, NudgeState.PENDING),
                )
                if changed.rowcount:
                    return
                found = self._db.execute(
                    "SELECT state FROM nudge WHERE number = ?", (number,)
                ).fetchone()
        if found is None:
            raise NotFound(f"there is no message {number}", hint="`gc nudges` lists them")
        raise UsageError(f"message {number} cannot be taken back: it is {found[0]}")


@contextlib.contextmanager
def _errors() -> Iterator[None]:
    try:
        yield
    except (sqlite3.Error, ValueError) as problem:
        raise GascityError(f"the queue of messages cannot be used now: {problem}") from problem


def _nudge(row: tuple[int, str, str, str, float, float, int, str, str, str, int]) -> QueuedNudge:
    number, agent, session, text, at, expires, raw, run, state, evidence, attempts = row
    return QueuedNudge(
        number,
        agent,
        session,
        text,
        at,
        expires,
        bool(raw),
        run,
        NudgeState(state),
        evidence,
        attempts,
    )
