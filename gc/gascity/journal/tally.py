"""How many events of each type there ever were.

Old events are let go, and a counter that a monitor reads must not fall then: so they are counted
when they go, in the same transaction. The table is made when it is first needed; a journal without
it has let nothing go since it could be counted.
"""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Mapping

TABLE = "CREATE TABLE IF NOT EXISTS event_gone (type TEXT PRIMARY KEY, count INTEGER NOT NULL)"


def note(db: sqlite3.Connection, upto: int) -> None:
    """Count the events up to this number, which go now. Part of the caller's transaction."""
    db.execute(TABLE)
    db.execute(
        "INSERT INTO event_gone SELECT type, count(*) FROM event WHERE number <= ? GROUP BY type"
        " ON CONFLICT (type) DO UPDATE SET count = count + excluded.count",
        (upto,),
    )


def totals(db: sqlite3.Connection, renamed: Mapping[str, str]) -> dict[str, int]:
    """Return the number of events by type, those that went counted; old names by their new ones."""
    counted: Counter[str] = Counter()
    tables = ["event"]
    if db.execute("SELECT 1 FROM sqlite_master WHERE name = 'event_gone'").fetchone():
        tables.append("event_gone")
    try:
        db.execute("BEGIN")  # both tables as they were at one moment
        for table in tables:
            what = "count(*)" if table == "event" else "sum(count)"
            rows = db.execute(f"SELECT type, {what} FROM {table} GROUP BY type")  # noqa: S608  our own names
            for kind, count in rows:
                counted[renamed.get(str(kind), str(kind))] += int(count)
    finally:
        if db.in_transaction:
            db.execute("ROLLBACK")
    return dict(counted)
