"""Events are numbered without gaps or doubles, whoever writes and however they end."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from itertools import pairwise

import pytest

from gascity.core.actions import Event, EventType
from gascity.core.memory import Memory
from gascity.errors import GascityError
from gascity.journal.alerts import OpenAlert
from gascity.journal.store import Journal

EVENT = Event(EventType.SESSION_STARTED)
WRITER = """
import sys
from gascity.core.actions import Event, EventType
from gascity.core.memory import Memory
from gascity.journal.store import Journal
journal = Journal(sys.argv[1], patience=30.0)
journal.remembered()
number = 0
while number < int(sys.argv[2]):
    number += 1
    event = Event(EventType.SESSION_STARTED, message=f"{sys.argv[3]}-{number}")
    journal.record(number, [event] * 2, Memory())
    print(number, flush=True)
"""


def writer(path: str, count: int, name: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", WRITER, path, str(count), name], stdout=subprocess.PIPE, text=True
    )


def numbers(path: str) -> list[int]:
    journal = Journal(path)
    found = [entry.number for page in journal.events.every() for entry in page.entries]
    journal.close()
    return found


def test_a_write_that_fails_leaves_no_gap(journal: Journal) -> None:
    journal.record(1.0, [EVENT], Memory())
    bad = Memory(pools={"crew": object()})  # type: ignore[dict-item]  # what cannot be written
    with pytest.raises(GascityError):
        journal.write([(2.0, EVENT)] * 3, bad, [OpenAlert("k", "a", "t", 2.0, 2.0)])

    journal.record(3.0, [EVENT], Memory())

    assert [(entry.number, entry.at) for entry in journal.entries()] == [(1, 1.0), (2, 3.0)]
    assert journal.alerts.open() == []


def test_numbers_go_on_after_everything_was_let_go(path: str) -> None:
    journal = Journal(path)
    journal.record(1.0, [EVENT] * 5, Memory())
    journal.trim(1000.0, 10.0, 100)
    assert list(journal.entries()) == []
    journal.close()

    again = Journal(path)
    again.record(2.0, [EVENT], Memory())

    assert [entry.number for entry in again.entries()] == [6]
    again.close()


def test_several_processes_write_without_gaps_or_doubles(path: str) -> None:
    Journal(path).close()
    writers = [writer(path, 50, str(n)) for n in range(3)]
    for each in writers:
        each.communicate(timeout=60)

    assert [each.returncode for each in writers] == [0, 0, 0]
    assert numbers(path) == list(range(1, 301))


def test_writers_that_are_killed_at_any_instant_leave_whole_writes(path: str) -> None:
    """What a writer has said to be written is there; of the rest, whole writes or nothing."""
    chance = random.Random(7)  # the instants are the machine's anyway
    said: dict[str, int] = {}
    for round_ in range(5):
        writers = {f"{round_}.{n}": writer(path, 1_000_000, f"{round_}.{n}") for n in range(2)}
        for each in writers.values():
            assert each.stdout is not None
            each.stdout.readline()
        time.sleep(chance.random() * 0.05)  # an instant, not a wait for anything
        for name, each in writers.items():
            os.kill(each.pid, signal.SIGKILL)
            lines = each.communicate()[0].split("\n")
            said[name] = max([1, *(int(line) for line in lines[:-1] if line)])

    journal = Journal(path)
    entries = [entry for page in journal.events.every() for entry in page.entries]
    journal.close()
    assert [entry.number for entry in entries] == list(range(1, len(entries) + 1))
    assert all(a.message == b.message for a, b in list(pairwise(entries))[::2])
    for name, last in said.items():
        kept = [e.message for e in entries if e.message.startswith(f"{name}-")][::2]
        assert kept == [f"{name}-{n}" for n in range(1, len(kept) + 1)]
        assert len(kept) >= last
