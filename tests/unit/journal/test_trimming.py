"""The oldest events go: by age, and for room; never from the middle, never for long."""

from __future__ import annotations

import os
import sqlite3
import time
from itertools import pairwise

import pytest

from gascity.core.actions import Event, EventType
from gascity.core.memory import Memory
from gascity.errors import GascityError
from gascity.journal.bus import Bus
from gascity.journal.message import LARGEST
from gascity.journal.store import Journal
from gascity.journal.trimming import KEPT, MEGABYTE, used

DAY = 86400.0
ROOM = 1000  # megabytes: enough


def fill(journal: Journal, *times: float, size: int = 0) -> None:
    event = Event(EventType.SESSION_STARTED, detail="x" * size)
    journal.write([(at, event) for at in times], Memory())


def kept(journal: Journal) -> list[int]:
    return [entry.number for page in journal.events.every() for entry in page.entries]


def trim_all(journal: Journal, now: float, keep: float, megabytes: int = ROOM) -> int:
    """Trim until nothing is left to do; return how many calls that took."""
    calls = 1
    while journal.trim(now, keep, megabytes):
        calls += 1
        assert calls < 10_000
    return calls


def test_what_is_too_old_goes_and_the_rest_stays(journal: Journal) -> None:
    fill(journal, 1.0, 2.0, 50.0, 60.0)

    trim_all(journal, now=100.0, keep=55.0)

    assert kept(journal) == [3, 4]
    page = journal.events.page(0)
    assert (page.first, page.last, page.misses) == (3, 4, True)


def test_numbers_that_are_kept_have_no_gap_even_if_the_clock_jumped(journal: Journal) -> None:
    fill(journal, 10.0, 900.0, 11.0, 12.0)

    trim_all(journal, now=100.0, keep=50.0)

    assert kept(journal) == [2, 3, 4]


def test_for_room_the_oldest_go_and_the_file_gets_smaller(journal: Journal, path: str) -> None:
    for start in range(0, 2000, 100):
        fill(journal, *(float(n) for n in range(start, start + 100)), size=2000)
    before = used(journal._db)
    assert before > 4 * MEGABYTE

    trim_all(journal, now=2000.0, keep=DAY, megabytes=2)

    left = kept(journal)
    assert left == list(range(left[0], 2001))
    assert MEGABYTE < used(journal._db) <= 2 * MEGABYTE
    journal.close()
    assert os.path.getsize(path) < 2 * MEGABYTE + 300 * 4096


def test_the_last_events_are_kept_however_large(journal: Journal) -> None:
    for n in range(KEPT + 20):
        fill(journal, float(n), size=30_000)

    trim_all(journal, now=1000.0, keep=DAY, megabytes=1)

    assert kept(journal) == list(range(21, KEPT + 21))


def test_large_messages_go_a_few_at_a_time(journal: Journal, path: str) -> None:
    """To let fifty of them go at once would hold a controller up for a second."""
    with Bus(path) as bus:
        for _ in range(KEPT + 12):
            bus.post("INFO", "x" * LARGEST)
    gone = [journal.events.page(0, limit=1).first]
    while journal.trim(time.time(), DAY, 1):
        gone.append(journal.events.page(0, limit=1).first)

    assert gone[-1] == 13
    assert max(after - before for before, after in pairwise(gone)) <= 5


def test_messages_go_with_the_events_of_their_age(journal: Journal, path: str) -> None:
    fill(journal, 1.0)
    with Bus(path) as bus:
        bus.post("INFO", "now")
        fill(journal, 2.0)

        trim_all(journal, now=time.time(), keep=DAY)

        assert kept(journal) == [2, 3]
        trim_all(journal, now=time.time() + 2 * DAY, keep=DAY)
        assert bus.post("INFO", "later") == 4


def test_a_call_does_a_part_and_says_that_there_is_more(journal: Journal) -> None:
    fill(journal, *([1.0] * 50_000))

    calls = trim_all(journal, now=DAY, keep=1.0)

    assert kept(journal) == []
    assert calls > 1


def test_whoever_writes_is_not_waited_for(journal: Journal, path: str) -> None:
    fill(journal, 1.0)
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")

    with pytest.raises(GascityError, match="another process holds it"):
        journal.trim(DAY, 1.0, ROOM)

    other.execute("ROLLBACK")
    other.close()
    assert kept(journal) == [1]
    assert journal._db.execute("PRAGMA busy_timeout").fetchone() == (250,)
    trim_all(journal, DAY, 1.0)
    assert kept(journal) == []


def test_the_log_of_writes_does_not_grow_without_bounds(journal: Journal, path: str) -> None:
    for n in range(300):
        fill(journal, float(n), size=100_000)
        journal.trim(float(n), 10.0, ROOM)

    assert os.path.getsize(f"{path}-wal") < 8 * MEGABYTE
    assert os.path.getsize(path) < 8 * MEGABYTE
