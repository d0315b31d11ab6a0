"""The durable memory: complete, shared, and never silently reset."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from gascity.core.actions import Event, EventType
from gascity.core.memory import AgentMemory, Memory
from gascity.errors import GascityError
from gascity.journal.store import Journal

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


@pytest.mark.parametrize("content", [b"this is no database" * 100, b"\0" * 4096 + b"x"])
def test_a_damaged_file_is_an_error_with_a_way_out(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "city.db"
    path.write_bytes(content)

    with pytest.raises(GascityError, match="cannot be used") as caught:
        Journal(str(path))

    assert "move it away" in caught.value.hint
    assert path.read_bytes() == content


def test_a_file_that_cannot_be_opened_now_is_not_called_damaged(tmp_path: Path) -> None:
    path = tmp_path / "city.db"
    path.mkdir()

    with pytest.raises(GascityError, match="cannot be opened now") as caught:
        Journal(str(path))

    assert "move it away" not in caught.value.hint


def test_a_file_of_a_newer_version_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "city.db"
    db = sqlite3.connect(path)
    db.execute("PRAGMA user_version = 99")
    db.close()

    with pytest.raises(GascityError, match="newer gc"):
        Journal(str(path))


WRITER = """
import sys
from gascity.core.actions import Event, EventType
from gascity.core.memory import Memory
from gascity.journal.store import Journal
journal = Journal(sys.argv[1])
journal.remembered()
number = 0
while number < int(sys.argv[2]):
    number += 1
    event = Event(EventType.SESSION_STARTED, message=f"{sys.argv[3]}-{number}")
    journal.record(number, [event] * 2, Memory())
    if number == 1: print("going", flush=True)
"""


def test_several_processes_write_without_gaps_or_doubles(tmp_path: Path) -> None:
    path = str(tmp_path / "city.db")
    Journal(path).close()
    writers = [
        subprocess.Popen(
            [sys.executable, "-c", WRITER, path, "50", str(n)], stdout=subprocess.DEVNULL
        )
        for n in range(3)
    ]
    assert [writer.wait(60) for writer in writers] == [0, 0, 0]

    journal = Journal(path)
    numbers = [entry.number for entry in journal.entries()]
    journal.close()
    assert numbers == list(range(1, 301))


def test_a_kill_at_any_instant_leaves_whole_transactions(tmp_path: Path) -> None:
    path = str(tmp_path / "city.db")
    writer = subprocess.Popen(
        [sys.executable, "-c", WRITER, path, "1000000", "w"], stdout=subprocess.PIPE
    )
    assert writer.stdout is not None
    writer.stdout.readline()
    os.kill(writer.pid, signal.SIGKILL)
    writer.wait()
    writer.stdout.close()

    journal = Journal(path)
    entries = list(journal.entries(limit=10_000_000))
    journal.close()
    assert entries
    assert len(entries) % 2 == 0
