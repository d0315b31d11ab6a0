"""The witness can fail: it tells of a double, of an end without a reason, and of lost events."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest
from tests.chaos.sight import Foreign, Process, doubles, living, process
from tests.chaos.witness import Ledger, Watch
from tests.chaos.world import World

from gascity.testing.eventually import eventually

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the witness reads /proc")
LIMIT = 60.0

Spawn = Callable[[str], Process]


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


@pytest.fixture
def spawn(world: World) -> Iterator[Spawn]:
    """Start programs as agents run them; all of them end with the test."""
    started: list[subprocess.Popen[bytes]] = []

    def start(agent: str) -> Process:
        words = ["sleep", f"{world.key}010001"]
        started.append(subprocess.Popen(words, env={"GC_AGENT": agent, "PATH": "/usr/bin:/bin"}))
        pid = started[-1].pid
        eventually(lambda: [one for one in living(world.key) if one.pid == pid])
        found = process(pid)
        assert found is not None
        return found

    yield start
    for one in started:
        one.kill()
        one.wait()


@pytest.fixture
def watch(world: World) -> Iterator[Watch]:
    made = Watch(world)
    yield made
    made.close()


def test_two_programs_of_one_agent_are_a_double(world: World, spawn: Spawn) -> None:
    first, other, second = spawn("a"), spawn("b"), spawn("a")

    (pair,) = doubles(living(world.key))

    assert {one.process for one in pair} == {first, second}
    assert other not in {one.process for one in pair}


def test_an_end_without_a_reason_is_told_at_once(world: World, spawn: Spawn, watch: Watch) -> None:
    one, excused = spawn("a"), spawn("b")
    watch.look()
    world.killed.add(excused)
    excused.signal(9)
    one.signal(9)

    with pytest.raises(AssertionError, match="a living agent was ended") as caught:
        watch.hold(LIMIT)

    assert f"pid={one.pid}," in str(caught.value)
    assert f"pid={excused.pid}," not in str(caught.value)


def test_a_foreign_session_that_ended_is_told_unless_its_server_did(
    world: World, spawn: Spawn, watch: Watch
) -> None:
    server, hers, his, dead = spawn("s"), spawn("f"), spawn("g"), spawn("t")
    world.killed |= {hers, his, dead}
    dead.signal(9)
    eventually(lambda: not dead.lives())
    world.foreign = {
        "hers": Foreign("hers", "$1", hers, server),
        "his": Foreign("his", "$2", his, dead),
    }
    his.signal(9)
    hers.signal(9)

    with pytest.raises(AssertionError, match=r"a foreign session was ended.*hers") as caught:
        watch.hold(LIMIT)

    assert "his" not in str(caught.value)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ("DELETE FROM event WHERE number = 2", "gap"),
        ("DELETE FROM event WHERE number = 3", "gone"),
        ("UPDATE event SET agent = 'b' WHERE number = 1", "gone"),
    ],
)
def test_an_event_that_is_lost_or_different_is_told(world: World, change: str, told: str) -> None:
    world.state.mkdir()
    with closing(sqlite3.connect(world.database, isolation_level=None)) as database:
        database.execute("CREATE TABLE event (number, type, agent, run)")
        database.executemany("INSERT INTO event VALUES (?, 'x', 'a', '')", [(1,), (2,), (3,)])
        before = Ledger(world)
        before.is_whole()
        database.execute(change)
    after = Ledger(world)

    with pytest.raises(AssertionError, match=told):
        after.follows(before)
