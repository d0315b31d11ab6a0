"""A journal of an earlier gc keeps all it holds."""

from __future__ import annotations

import contextlib
import sqlite3
import subprocess
import sys

import pytest

from gascity.core.actions import Event, EventType
from gascity.core.alerts import Severity
from gascity.core.memory import AgentMemory, Memory
from gascity.errors import GascityError
from gascity.journal.alerts import OpenAlert
from gascity.journal.bus import Bus
from gascity.journal.schema import RENAMED, SCHEMA
from gascity.journal.store import Journal

FIRST = """
CREATE TABLE event (
    number INTEGER PRIMARY KEY AUTOINCREMENT, at REAL NOT NULL, type TEXT NOT NULL,
    agent TEXT NOT NULL, session TEXT NOT NULL, run TEXT NOT NULL, message TEXT NOT NULL
);
CREATE TABLE agent_memory (session TEXT PRIMARY KEY, body TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE pool_memory (name TEXT PRIMARY KEY, size INTEGER NOT NULL) WITHOUT ROWID;
INSERT INTO event VALUES (7, 5.0, 'session_started', 'a', 's', 'r', 'wanted');
INSERT INTO event VALUES (8, 6.0, 'start_failed', 'a', 's', 'r', 'no bread');
INSERT INTO event VALUES (9, 7.0, 'of_a_branch', 'a', 's', 'r', 'unheard of');
INSERT INTO agent_memory VALUES ('s', '{"run": "r", "total_restarts": 3, "unheard": 1}');
INSERT INTO pool_memory VALUES ('crew', 2);
PRAGMA user_version = 1;
"""
SECOND = """
ALTER TABLE event ADD COLUMN detail TEXT NOT NULL DEFAULT '';
CREATE TABLE nudge (
    number INTEGER PRIMARY KEY AUTOINCREMENT, agent TEXT NOT NULL, session TEXT NOT NULL,
    text TEXT NOT NULL, raw INTEGER NOT NULL, run TEXT NOT NULL, at REAL NOT NULL,
    expires REAL NOT NULL, state TEXT NOT NULL, evidence TEXT NOT NULL, attempts INTEGER NOT NULL
);
INSERT INTO nudge VALUES (1, 'a', 's', 'hello', 0, '', 5.0, 9.0, 'pending', '', 0);
PRAGMA user_version = 2;
"""
THIRD = """
UPDATE event SET type = 'session.started' WHERE number = 7;
UPDATE event SET type = 'session.start_failed' WHERE number = 8;
CREATE TABLE alert (
    key TEXT PRIMARY KEY, agent TEXT NOT NULL, text TEXT NOT NULL, since REAL NOT NULL,
    last REAL NOT NULL, times INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX event_at ON event (at);
CREATE INDEX event_type ON event (type);
CREATE INDEX event_agent ON event (agent);
INSERT INTO alert VALUES ('auth:s', 'a', 'not logged in', 3.0, 4.0, 2);
PRAGMA user_version = 3;
"""
FOURTH = """
ALTER TABLE alert ADD COLUMN severity TEXT NOT NULL DEFAULT 'critical';
ALTER TABLE alert ADD COLUMN told INTEGER NOT NULL DEFAULT 1;
PRAGMA user_version = 4;
"""


def make(path: str, *scripts: str) -> None:
    old = sqlite3.connect(path)
    old.execute("PRAGMA journal_mode = WAL")
    for script in scripts:
        old.executescript(script)
    old.close()


@pytest.mark.parametrize(
    "scripts",
    [(FIRST,), (FIRST, SECOND), (FIRST, SECOND, THIRD), (FIRST, SECOND, THIRD, FOURTH)],
    ids=["first", "second", "third", "fourth"],
)
def test_an_earlier_format_keeps_all_it_holds(path: str, scripts: tuple[str, ...]) -> None:
    make(path, *scripts)

    journal = Journal(path)

    started, failed, unheard = journal.entries()
    assert started.event == Event(EventType.SESSION_STARTED, "a", "s", "r", "wanted")
    assert (failed.number, failed.type) == (8, EventType.START_FAILED)
    assert unheard.type == "of_a_branch"
    assert journal.remembered() == Memory(
        {"s": AgentMemory(run="r", total_restarts=3)}, {"crew": 2}
    )
    journal.record(8.0, [Event(EventType.DIALOG_ANSWERED, detail="screens")], Memory())
    assert [(e.number, e.detail) for e in journal.entries(after=9)] == [(10, "screens")]
    assert [nudge.text for nudge in journal.nudges.open()] == ["hello"] * (len(scripts) > 1)
    told = OpenAlert("auth:s", "a", "not logged in", 3.0, 4.0, 2, Severity.CRITICAL, told=True)
    assert journal.alerts.open() == [told] * (len(scripts) > 2)
    with Bus(path) as bus:
        assert bus.page(0).entries == ()
        assert bus.post("FACT", "x", project="p", task="t", run="r") == 11
        assert bus.lifecycle("r") == {"FACT"}
    assert {(e.project, e.task) for e in journal.entries()} == {("", ""), ("p", "t")}
    shape = sorted(journal._db.execute("SELECT name, type FROM sqlite_master"))
    journal.close()
    fresh = Journal(f"{path}.fresh")
    assert shape == sorted(fresh._db.execute("SELECT name, type FROM sqlite_master"))
    fresh.close()


def test_a_controller_of_the_fourth_format_that_runs_on_can_still_write(path: str) -> None:
    make(path, FIRST, SECOND, THIRD, FOURTH)
    old = sqlite3.connect(path, isolation_level=None)
    insert = (
        "INSERT INTO event (at, type, agent, session, run, message, detail)"
        " VALUES (9.0, 'agent.held', 'a', 's', 'r', 'm', '')"
    )
    old.execute(insert)
    Journal(path).close()

    old.execute(insert)

    old.close()
    journal = Journal(path)
    assert [entry.number for entry in journal.entries(after=9)] == [10, 11]
    journal.close()


def test_every_new_name_is_one_of_todays() -> None:
    assert set(RENAMED.values()) <= {str(kind) for kind in EventType}
    assert len(set(RENAMED.values())) == len(RENAMED)


def test_a_change_of_format_that_fails_changes_nothing(path: str) -> None:
    make(path, FIRST, SECOND, "CREATE TABLE alert (key TEXT)")

    with pytest.raises(GascityError, match="table alert already exists"):
        Journal(path)

    old = sqlite3.connect(path)
    assert old.execute("PRAGMA user_version").fetchone() == (2,)
    assert old.execute("SELECT type FROM event WHERE number = 7").fetchone() == ("session_started",)
    assert old.execute("SELECT count(*) FROM sqlite_master WHERE type = 'index'").fetchone() == (0,)
    old.close()


def test_what_an_earlier_controller_still_writes_has_todays_name(journal: Journal) -> None:
    journal._db.execute(
        "INSERT INTO event VALUES (1, 5.0, 'session_crashed', 'a', 's', 'r', 'm', '', '', '')"
    )

    (entry,) = journal.entries()
    assert entry.type == EventType.SESSION_CRASHED


def test_a_file_of_a_newer_version_is_refused_and_left_alone(path: str) -> None:
    make(path, f"CREATE TABLE future (x); PRAGMA user_version = {SCHEMA + 1}")

    with pytest.raises(GascityError, match=f"newer gc .format {SCHEMA + 1}") as caught:
        Journal(path)

    assert "use the newer gc" in caught.value.hint
    db = sqlite3.connect(path)
    assert [name for (name,) in db.execute("SELECT name FROM sqlite_master")] == ["future"]
    db.close()


def test_an_old_file_can_shrink_once_a_controller_has_looked_it_over(path: str) -> None:
    make(path, FIRST, SECOND)
    journal = Journal(path)
    assert journal._db.execute("PRAGMA auto_vacuum").fetchone() == (0,)

    journal.look_over()

    assert journal._db.execute("PRAGMA auto_vacuum").fetchone() == (2,)
    journal.record(8.0, [Event(EventType.SESSION_STARTED)], Memory())
    assert [entry.number for entry in journal.entries()] == [7, 8, 9, 10]
    journal.close()


CHANGE = "import sys; from gascity.journal.store import Journal; Journal(sys.argv[1]).close()"


def test_a_change_of_format_that_is_killed_at_any_instant_loses_nothing(path: str) -> None:
    make(path, FIRST, SECOND)
    old = sqlite3.connect(path)
    rows = [(float(n), "session_started", str(n)) for n in range(20_000)]
    old.executemany("INSERT INTO event VALUES (NULL, ?, ?, 'a', 's', 'r', ?, '')", rows)
    old.commit()
    old.close()
    for n in range(6):
        change = subprocess.Popen([sys.executable, "-c", CHANGE, path])
        with contextlib.suppress(subprocess.TimeoutExpired):
            change.wait(0.1 + n * 0.03)  # an instant, not a wait for anything
        change.kill()
        change.wait()

    journal = Journal(path)
    found = [entry for page in journal.events.every(9) for entry in page.entries]
    journal.close()
    assert [entry.message for entry in found] == [str(n) for n in range(20_000)]
    assert {entry.type for entry in found} == {"session.started"}
