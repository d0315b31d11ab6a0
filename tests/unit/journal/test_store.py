"""The durable memory: complete, shared, and never silently reset."""

from __future__ import annotations

import contextlib
import sqlite3
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from gascity.core.actions import Event, EventType
from gascity.core.memory import AgentMemory, Memory
from gascity.journal.store import Journal
from gascity.testing.standstill import stood_still

EVENT = Event(EventType.SESSION_STARTED, "mayor", "s-mayor", "r1", "wanted by the city")
MEMORY = Memory(
    {"s-mayor": AgentMemory(run="r1", restarts=(1.5, 2.5), held="by hand", ended_at=3.0)},
    {"crew": 2},
)


def test_what_is_written_is_read_by_the_next_process(tmp_path: Path) -> None:
    path = str(tmp_path / "city.db")
    journal = Journal(path)
    journal.record(10.0, [EVENT], MEMORY)
    journal.close()

    again = Journal(path)

    assert again.remembered() == MEMORY
    assert [(entry.number, entry.at, entry.event) for entry in again.entries()] == [
        (1, 10.0, EVENT)
    ]
    again.close()


def test_an_agent_that_is_forgotten_is_forgotten_on_disk(tmp_path: Path) -> None:
    journal = Journal(str(tmp_path / "city.db"))
    journal.record(1.0, [], MEMORY)
    journal.record(2.0, [], Memory())

    assert journal.remembered() == Memory()
    journal.close()


def test_only_its_owner_can_read_it(tmp_path: Path) -> None:
    Journal(str(tmp_path / "city.db")).close()

    assert (tmp_path / "city.db").stat().st_mode & 0o077 == 0


def test_whoever_waits_for_events_is_called_once_they_are_on_disk(path: str) -> None:
    seen: list[list[int]] = []

    def look(number: int) -> None:
        other = Journal(path)
        seen.append([number, *(entry.number for entry in other.entries())])
        other.close()

    journal = Journal(path, written=look)
    journal.record(1.0, [EVENT, EVENT], MEMORY)
    journal.record(2.0, [], Memory())
    journal.record(3.0, [EVENT], Memory())
    journal.close()

    assert seen == [[2, 1, 2], [3, 1, 2, 3]]


def test_events_of_one_write_keep_their_own_times(journal: Journal) -> None:
    journal.write([(1.0, EVENT), (5.0, EVENT)], Memory())

    assert [entry.at for entry in journal.entries()] == [1.0, 5.0]


def test_who_holds_it_while_the_machine_stands_still_is_waited_for(
    path: str, journal: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    sleep = time.sleep

    with contextlib.ExitStack() as stack:
        meanwhile: list[Callable[[], object]] = [
            lambda: stack.enter_context(stood_still(5.0)),
            lambda: other.execute("COMMIT"),
        ]

        def pause(seconds: float) -> None:
            sleep(seconds)
            if meanwhile and threading.current_thread() is threading.main_thread():
                meanwhile.pop(0)()

        monkeypatch.setattr(time, "sleep", pause)
        journal.record(1.0, [EVENT], MEMORY)

    assert [entry.at for entry in journal.entries()] == [1.0]
    other.close()
