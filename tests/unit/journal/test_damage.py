"""A file that cannot be used is told in a sentence with a way out, and never reset."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from gascity.core.actions import Event, EventType
from gascity.core.memory import AgentMemory, Memory
from gascity.errors import GascityError
from gascity.journal.alerts import OpenAlert
from gascity.journal.schema import SCHEMA
from gascity.journal.store import Journal

EVENT = Event(EventType.SESSION_STARTED, "mayor", "s", "r", "wanted", "x" * 500)


def filled(path: str, count: int = 2000) -> None:
    journal = Journal(path)
    journal.write([(1.0, EVENT)] * count, Memory({"s": AgentMemory(run="r")}, {"crew": 2}))
    journal.nudges.add("a", "s", "hello", at=1.0, expires_at=2.0)
    journal.alerts.keep([OpenAlert("k", "a", "t", 1.0, 1.0)])
    journal.close()


def use_all(path: str) -> None:
    """Do everything with a journal that a city does."""
    journal = Journal(path)
    try:
        journal.look_over()
        journal.remembered()
        for page in journal.events.every():
            assert page.entries
        journal.nudges.recent()
        journal.alerts.open()
        journal.record(5.0, [EVENT], Memory({"s": AgentMemory(run="other")}, {"crew": 5}))
        journal.trim(1e9, 1.0, 1)
    finally:
        journal.close()


def told(path: str) -> GascityError:
    with pytest.raises(GascityError) as caught:
        use_all(path)
    assert path in caught.value.message or "queue of messages" in caught.value.message
    assert "\n" not in caught.value.message
    return caught.value


def change(statement: str) -> Callable[[str], None]:
    def do(path: str) -> None:
        db = sqlite3.connect(path)
        db.execute(statement)
        db.commit()
        db.close()

    return do


def overwrite(path: str) -> None:
    """Put rubbish over pages in the middle."""
    with open(path, "r+b") as file:
        file.seek(os.path.getsize(path) // 8192 * 4096)
        file.write(b"\xa5" * 4096 * 4)


def shorten(path: str) -> None:
    os.truncate(path, os.path.getsize(path) // 2)


DAMAGES = {
    "shortened": shorten,
    "a page overwritten": overwrite,
    "rubbish": lambda path: Path(path).write_bytes(b"this is no database" * 1000) and None,
    "zeros": lambda path: Path(path).write_bytes(b"\0" * 4096 + b"x") and None,
    "no events": change("DROP TABLE event"),
    "no alerts": change("DROP TABLE alert"),
    "no column": change("ALTER TABLE nudge DROP COLUMN evidence"),
    "a time that is text": change("UPDATE event SET at = 'noon' WHERE number = 1000"),
    "a time beyond all calendars": change("UPDATE event SET at = 1e300 WHERE number = 1000"),
    "an agent that is bytes": change("UPDATE event SET agent = x'ff00' WHERE number = 1000"),
    "no Unicode": change("UPDATE event SET agent = CAST(x'ff00' AS TEXT) WHERE number = 1000"),
    "memory that is no JSON": change("UPDATE agent_memory SET body = '{'"),
    "memory that is a list": change("UPDATE agent_memory SET body = '[]'"),
    "memory of another kind": change('UPDATE agent_memory SET body = \'{"restarts": "x"}\''),
    "a size that is text": change("UPDATE pool_memory SET size = 'many'"),
    "a message in no state": change("UPDATE nudge SET state = 'flying'"),
    "an alert without a time": change("UPDATE alert SET since = 'noon'"),
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_damage_is_told_and_the_file_kept(path: str, damage: Callable[[str], None]) -> None:
    filled(path)
    damage(path)
    size = os.path.getsize(path)

    problem = told(path)

    assert "cannot be used" in problem.message
    assert os.path.getsize(path) == size


def test_the_way_out_works_with_what_is_left_beside_it(path: str) -> None:
    filled(path)
    overwrite(path)
    problem = told(path)
    assert "move it away" in problem.hint
    Path(f"{path}-wal").write_bytes(b"left over" * 1000)

    os.rename(path, f"{path}.bad")

    fresh = Journal(path)
    fresh.record(1.0, [EVENT], Memory())
    assert [entry.number for entry in fresh.entries()] == [1]
    fresh.close()
    assert os.path.getsize(f"{path}.bad") > 1_000_000


def test_a_folder_in_its_place_is_named_as_one(path: str) -> None:
    os.mkdir(path)

    assert "it is a folder" in told(path).message


def test_a_missing_folder_is_a_clear_error(tmp_path: Path) -> None:
    assert "No such file" in told(str(tmp_path / "nowhere" / "city.db")).message


@pytest.mark.parametrize("number", [0, 1, 4, SCHEMA])
def test_the_database_of_another_program_is_left_alone(path: str, number: int) -> None:
    """Also one that numbers its formats as this one does."""
    db = sqlite3.connect(path)
    db.execute("CREATE TABLE photos (x)")
    db.execute(f"PRAGMA user_version = {number}")
    db.close()

    before = Path(path).read_bytes()

    assert "another program" in told(path).message

    assert Path(path).read_bytes() == before


def test_a_file_somebody_holds_is_no_damage(path: str) -> None:
    filled(path)
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("PRAGMA locking_mode = EXCLUSIVE")
    other.execute("BEGIN IMMEDIATE")
    other.execute("DELETE FROM event WHERE number = 1")

    problem = told(path)

    assert "another process holds it" in problem.message
    assert "move it away" not in problem.hint
    other.execute("ROLLBACK")
    other.close()


def test_a_full_disk_is_told_and_nothing_is_lost_or_doubled(journal: Journal) -> None:
    journal.record(1.0, [EVENT], Memory())
    (pages,) = journal._db.execute("PRAGMA page_count").fetchone()
    journal._db.execute(f"PRAGMA max_page_count = {pages}")

    with pytest.raises(GascityError, match="the disk is full") as caught:
        journal.record(2.0, [EVENT] * 100, Memory())

    assert "make room" in caught.value.hint
    journal._db.execute("PRAGMA max_page_count = 1000000")
    journal.record(3.0, [EVENT] * 100, Memory())
    assert [entry.number for entry in journal.entries()] == list(range(1, 102))


USE = """
import ctypes, os, sys
if os.geteuid() == 0 and len(sys.argv) == 2:  # root may do everything: go on without that
    for capability in (1, 2):  # CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH
        assert ctypes.CDLL(None).prctl(24, capability, 0, 0, 0) == 0  # PR_CAPBSET_DROP
    os.execv(sys.executable, [sys.executable, __file__, sys.argv[1], "as a user"])
from gascity.core.memory import Memory
from gascity.errors import GascityError, explain
from gascity.journal.schema import SCHEMA
from gascity.journal.store import Journal
try:
    journal = Journal(sys.argv[1])
    journal.record(1.0, [], Memory(pools={"crew": 1}))
except GascityError as problem:
    sys.stdout.write(explain(problem))
"""


@pytest.mark.parametrize("which", ["", "-wal", "-shm"])
@pytest.mark.parametrize("mode", [0o000, 0o444], ids=["unreadable", "unwritable"])
def test_a_file_that_may_not_be_used_is_told_with_where_to_look(
    tmp_path: Path, path: str, which: str, mode: int
) -> None:
    holder = Journal(path)
    holder.record(1.0, [EVENT], Memory())
    os.chmod(path + which, mode)
    script = tmp_path / "use.py"
    script.write_text(USE, "utf-8")

    done = subprocess.run(
        [sys.executable, str(script), path], capture_output=True, text=True, check=False
    )

    holder.close()
    assert not done.stderr
    assert done.stdout.startswith(f"error: {path} cannot be used")
    assert "who may write" in done.stdout
