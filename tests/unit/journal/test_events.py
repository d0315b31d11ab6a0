"""Reading events: pages, filters, and what is told of numbers that are gone."""

from __future__ import annotations

import sqlite3

import pytest

from gascity.core.actions import Event, EventType
from gascity.core.memory import Memory
from gascity.journal.events import Entry, Wanted
from gascity.journal.store import Journal

KINDS = (EventType.SESSION_STARTED, EventType.SESSION_CRASHED, EventType.AGENT_HELD)
AGENTS = ("crew-1", "crew-12", "crew-1x", "crew", "rigs/crew-2", "crew-")


@pytest.fixture
def filled(journal: Journal) -> Journal:
    """Return a journal with eighteen events, one a second."""
    events = [Event(kind, agent) for kind in KINDS for agent in AGENTS]
    journal.write([(float(n), event) for n, event in enumerate(events, 1)], Memory())
    return journal


def found(journal: Journal, wanted: Wanted) -> list[int]:
    return [entry.number for page in journal.events.every(0, wanted) for entry in page.entries]


@pytest.mark.parametrize(
    ("wanted", "numbers"),
    [
        (Wanted(), list(range(1, 19))),
        (Wanted(types=("agent.held",)), list(range(13, 19))),
        (Wanted(types=("session.",)), list(range(1, 13))),
        (Wanted(types=("session",)), []),
        (Wanted(types=("*",)), []),
        (Wanted(types=("agent.", "session.crashed")), list(range(7, 19))),
        (Wanted(agents=("crew",)), [4, 10, 16]),
        (Wanted(pools=("crew",)), [1, 2, 7, 8, 13, 14]),
        (Wanted(pools=("c[r]ew", "*")), []),
        (Wanted(agents=("crew",), pools=("rigs/crew",), types=("agent.",)), [16, 17]),
        (Wanted(since=17.0), [17, 18]),
    ],
)
def test_only_what_is_wanted_is_read(filled: Journal, wanted: Wanted, numbers: list[int]) -> None:
    assert found(filled, wanted) == numbers


def test_a_page_tells_up_to_where_all_has_been_seen(filled: Journal) -> None:
    wanted = Wanted(agents=("crew",))

    first = filled.events.page(0, wanted, limit=2)
    second = filled.events.page(first.upto, wanted, limit=2)

    assert [entry.number for entry in first.entries] == [4, 10]
    assert first.upto == 10
    assert [entry.number for entry in second.entries] == [16]
    assert second.upto == 18


def test_the_newest_come_in_their_order(filled: Journal) -> None:
    page = filled.events.newest(3, Wanted(types=("session.",)))

    assert [entry.number for entry in page.entries] == [10, 11, 12]
    assert page.upto == 18
    after = filled.events.newest(3, after=17)
    assert [entry.number for entry in after.entries] == [18]


def test_many_pages_hold_every_event_once(journal: Journal) -> None:
    journal.write([(1.0, Event(EventType.SESSION_STARTED))] * 1700, Memory())

    assert found(journal, Wanted()) == list(range(1, 1701))


def test_a_reader_that_was_too_slow_is_told_what_the_first_number_kept_is(filled: Journal) -> None:
    filled.trim(20.0, 10.0, 100)

    page = filled.events.page(3)

    assert page.misses
    assert (page.first, page.entries[0].number) == (10, 10)
    assert not filled.events.page(9).misses


def test_an_empty_journal_misses_nothing_and_is_told_from_a_trimmed_one(journal: Journal) -> None:
    page = journal.events.page(0)

    assert (page.first, page.last, page.misses, page.anew) == (1, 0, False, False)
    journal.record(1.0, [Event(EventType.SESSION_STARTED)] * 3, Memory())
    journal.trim(100.0, 1.0, 100)
    page = journal.events.page(0)
    assert (page.first, page.last, page.misses, page.entries) == (4, 3, True, ())


def test_a_number_that_was_never_reached_means_another_journal(filled: Journal) -> None:
    page = filled.events.page(500, limit=2)

    assert page.anew
    assert [entry.number for entry in page.entries] == [1, 2]


def test_a_type_of_a_newer_gc_is_kept_as_it_is(journal: Journal) -> None:
    journal._db.execute(
        "INSERT INTO event VALUES (1, 5.0, 'moon.landed', 'a', 's', 'r', 'm', '', '', '')"
    )

    assert list(journal.entries()) == [Entry(1, 5.0, "moon.landed", "a", "s", "r", "m")]
    assert journal.events.types() == {"moon.landed"}
    assert found(journal, Wanted(types=("moon.",))) == [1]


def test_a_reader_does_not_hold_up_the_writer(filled: Journal, path: str) -> None:
    reader = Journal(path)
    pages = reader.events.every()
    next(pages)

    filled.record(30.0, [Event(EventType.SESSION_STARTED)], Memory())
    busy = filled._db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]

    assert busy == 0
    reader.close()


def test_reading_works_while_somebody_writes(filled: Journal, path: str) -> None:
    writer = sqlite3.connect(path, isolation_level=None)
    writer.execute("BEGIN IMMEDIATE")
    writer.execute("DELETE FROM event")

    assert len(found(filled, Wanted())) == 18
    writer.execute("ROLLBACK")
    writer.close()


@pytest.mark.parametrize("column", ["at", "type", "agent", "number"])
def test_what_is_asked_for_does_not_need_the_whole_table(filled: Journal, column: str) -> None:
    (plan,) = filled._db.execute(
        f"EXPLAIN QUERY PLAN SELECT * FROM event WHERE {column} = ?", ("x",)
    ).fetchall()

    assert plan[3].startswith("SEARCH")
