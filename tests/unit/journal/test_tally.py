"""Events are counted for ever, also when they are let go."""

from __future__ import annotations

import sqlite3

import pytest

from gascity.core.actions import Event, EventType
from gascity.core.memory import Memory
from gascity.journal.store import Journal

STARTED, STOPPED = EventType.SESSION_STARTED, EventType.SESSION_STOPPED


def happen(journal: Journal, at: float, *kinds: EventType) -> None:
    journal.record(at, [Event(kind, "a") for kind in kinds], Memory())


def test_a_city_without_events_has_no_totals(journal: Journal) -> None:
    assert journal.events.totals() == {}
    assert journal.events.newest_at() is None


def test_what_is_let_go_still_counts(journal: Journal) -> None:
    happen(journal, 100.0, STARTED, STARTED, STOPPED)
    happen(journal, 200.0, STARTED)
    before = journal.events.totals()
    while journal.trim(250.0, 100.0, 1):
        pass
    after = journal.events.totals()
    happen(journal, 300.0, STOPPED)
    while journal.trim(1000.0, 10.0, 1):
        pass

    assert before == after == {"session.started": 3, "session.stopped": 1}
    assert list(journal.entries()) == []
    assert journal.events.totals() == {"session.started": 3, "session.stopped": 2}


def test_the_last_event_has_a_time(journal: Journal) -> None:
    happen(journal, 100.0, STARTED)
    happen(journal, 200.0, STARTED)

    assert journal.events.newest_at() == 200.0


def test_what_goes_is_counted_or_stays(journal: Journal, path: str) -> None:
    happen(journal, 100.0, STARTED)
    with sqlite3.connect(path) as other:
        other.execute("CREATE TABLE event_gone (x)")  # so that counting fails
    other.close()

    with pytest.raises(Exception, match="event_gone"):
        journal.trim(1000.0, 10.0, 1)
    assert len(list(journal.entries())) == 1


def test_messages_are_counted_by_their_state(journal: Journal) -> None:
    for _ in range(2):
        journal.nudges.add("a", "gc-a", "x", at=1.0, expires_at=2.0)
    journal.nudges.take(1)

    assert journal.nudges.counts() == {"pending": 1, "sending": 1}
