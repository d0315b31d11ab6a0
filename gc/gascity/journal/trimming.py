"""Letting the oldest events go: those that are too old, and those for which there is no room.

Alerts that are as old go with them. Only ever from the front, so that the numbers kept have no
gaps. A call takes a few milliseconds and says whether there is more to do: it runs between two
looks of a controller that must stay quick. Whoever writes at the same time is never waited for.
"""

from __future__ import annotations

import contextlib
import sqlite3
import time

from gascity.journal import alerts, tally

BUDGET = 0.005  # seconds of deleting in one call, about
BATCH = 100  # events that go in one transaction because they are too old ...
ROOM = 50  # ... and because there is no room, where one may hold a whole screen
KEPT = 100  # the last events are never given up for room
HEAVY = 500_000  # bytes of texts that go in one: to let a megabyte go takes milliseconds
PAGES = 64  # given back to the disk in one call ...
SLACK = 256  # ... of those that are free beyond this: the next events need some
MEGABYTE = 1_000_000
INCREMENTAL = 2  # SQLite's number for a file that can be made smaller bit by bit


def trim(db: sqlite3.Connection, now: float, keep: float, megabytes: int) -> bool:
    """Delete what is older than `keep` seconds, and the oldest while the rest takes more room.

    Tells whether there is more to do. Raises sqlite3.Error, as when somebody else is writing.
    """
    (patience,) = db.execute("PRAGMA busy_timeout").fetchone()
    db.execute("PRAGMA busy_timeout = 0")
    try:
        return _trim(db, now - keep, megabytes * MEGABYTE)
    finally:
        if db.in_transaction:
            db.execute("ROLLBACK")
        db.execute(f"PRAGMA busy_timeout = {patience}")


def used(db: sqlite3.Connection) -> int:
    """Return how many bytes of the file are in use."""
    return (_number(db, "page_count") - _number(db, "freelist_count")) * _number(db, "page_size")


def _trim(db: sqlite3.Connection, oldest: float, most: int) -> bool:
    until = time.monotonic() + BUDGET
    alerts.let_go(db, oldest)
    deleted = more = _delete_some(db, oldest, most)
    while more and time.monotonic() < until:
        more = _delete_some(db, oldest, most)
    can_shrink = _number(db, "auto_vacuum") == INCREMENTAL
    free = _number(db, "freelist_count") - SLACK if can_shrink else 0
    if free > 0:
        # As a script, for of a single statement without columns Python takes one step: one page.
        db.executescript(f"PRAGMA incremental_vacuum({min(free, PAGES)})")
    if deleted or free > 0:
        db.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()
    return more or free > PAGES


def _delete_some(db: sqlite3.Connection, oldest: float, most: int) -> bool:
    """Delete a batch; tell whether anything was deleted."""
    rows = _first(db)
    end = 0
    for number, at in rows:
        if isinstance(at, int | float) and at >= oldest:
            break
        end = number
    if end == 0 and rows and used(db) > most:
        (last,) = db.execute("SELECT max(number) FROM event").fetchone()
        end = min(rows[:ROOM][-1][0], last - KEPT)
    if not rows or end < rows[0][0]:
        return False
    db.execute("BEGIN IMMEDIATE")
    tally.note(db, end)
    db.execute("DELETE FROM event WHERE number <= ?", (end,))
    db.execute("COMMIT")
    return True


def _first(db: sqlite3.Connection) -> list[tuple[int, object]]:
    """Return numbers and times of the first events: a batch, or so many as hold enough bytes."""
    asked = (
        "SELECT number, at, length(CAST(message AS BLOB)) + length(CAST(detail AS BLOB))"
        " FROM event ORDER BY number LIMIT ?"
    )
    found: list[tuple[int, object]] = []
    held = 0
    with contextlib.closing(db.execute(asked, (BATCH,))) as rows:  # a read left open is in the way
        for number, at, size in rows:
            found.append((number, at))
            held += size
            if held >= HEAVY:
                break
    return found


def _number(db: sqlite3.Connection, name: str) -> int:
    return int(db.execute(f"PRAGMA {name}").fetchone()[0])
