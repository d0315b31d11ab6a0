"""The way of events to a journal that cannot always be written."""

from __future__ import annotations

import math
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.integration.controller.stage import Bench, agent, up

from gascity.controller import chronicle as chronicles
from gascity.controller.chronicle import REST, Chronicle
from gascity.controller.clock import Clock
from gascity.core.actions import Event, EventType
from gascity.core.memory import AgentMemory, Memory
from gascity.core.model import City, DaemonSettings, Desired
from gascity.journal.store import Journal
from gascity.testing.eventually import eventually

MEMORY = Memory({"s": AgentMemory(run="r")})


class Story:
    """A chronicle over a real journal whose disk can be full."""

    def __init__(self, path: str) -> None:
        self.journal = Journal(path)
        self.told: list[Event] = []
        daemon = DaemonSettings(keep_events=3600.0, keep_megabytes=100)
        city = City("c", "/", Desired("c", "id", ()), daemon)
        self.chronicle = Chronicle(city, {}, self.journal, self.told.append, Clock())

    def happen(self, *messages: str) -> None:
        self.chronicle.record(
            [Event(EventType.SESSION_STARTED, message=f"{text:<500}") for text in messages]
        )
        self.chronicle.write(MEMORY)

    def fill_the_disk(self) -> None:
        (pages,) = self.journal._db.execute("PRAGMA page_count").fetchone()
        self.journal._db.execute(f"PRAGMA max_page_count = {pages}")

    def make_room(self) -> None:
        self.journal._db.execute("PRAGMA max_page_count = 1000000")

    def written(self) -> list[str]:
        return [
            entry.message.strip()
            for page in self.journal.events.every()
            for entry in page.entries
            if entry.type == EventType.SESSION_STARTED
        ]


@pytest.fixture
def story(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Story]:
    monkeypatch.setattr(chronicles, "PAUSE", 0.0)  # every write is tried
    made = Story(str(tmp_path / "city.db"))
    yield made
    made.journal.close()


def test_what_happens_while_the_disk_is_full_is_written_later_and_once(story: Story) -> None:
    story.happen("before")
    story.fill_the_disk()
    names = [str(n) for n in range(200)]
    for name in names:
        story.happen(name)
    kept_meanwhile = story.written()
    story.make_room()
    story.happen("after")

    full = names.index(next(name for name in names if name not in kept_meanwhile))
    assert kept_meanwhile == ["before", *names[:full]]
    assert story.written() == ["before", *names, "after"]
    entries = [entry for page in story.journal.events.every() for entry in page.entries]
    assert [entry.number for entry in entries] == list(range(1, len(entries) + 1))
    assert [entry.at for entry in entries] == sorted(entry.at for entry in entries)
    assert story.journal.remembered() == MEMORY


def test_that_the_journal_was_lost_is_told_once_and_stands_in_it_later(story: Story) -> None:
    story.fill_the_disk()
    story.happen(*map(str, range(100)))
    story.happen("more")
    story.make_room()
    story.happen("after")

    lost = [event for event in story.told if event.type is EventType.JOURNAL_LOST]
    assert len(lost) == 1
    assert "the disk is full" in lost[0].message
    kinds = [entry.type for entry in story.journal.entries()]
    assert kinds.count(EventType.JOURNAL_LOST) == 1


def test_no_event_of_an_agent_has_its_secrets(story: Story) -> None:
    spec = agent("mayor", env={"MAYORS_TOKEN": "hush-hush-hush"})
    story.chronicle.take(City("c", "/", Desired("c", "id", (spec,))))
    said = "pre_start of it failed (1): `login`: hush-hush-hush is no good"

    for kind in EventType:
        detail = "{}" if kind in chronicles.RECORDS else said
        story.chronicle.record([Event(kind, "mayor", message=said, detail=detail)])
    story.chronicle.write(MEMORY)

    assert "hush" not in repr(story.journal.entries()) + repr(story.told)


def test_what_there_is_no_room_for_in_memory_is_counted(
    story: Story, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chronicles, "MOST_UNTOLD", 50)
    story.fill_the_disk()
    story.happen(*map(str, range(100)))
    story.make_room()
    story.happen("after")

    assert story.written() == [*map(str, range(51, 100)), "after"]
    texts = [e.message for e in story.journal.entries() if e.type == EventType.JOURNAL_LOST]
    assert "51 events before this one" in texts[0]


def test_a_lost_journal_is_left_alone_for_a_moment_but_not_at_the_end(
    story: Story, monkeypatch: pytest.MonkeyPatch
) -> None:
    story.fill_the_disk()
    story.happen(*map(str, range(100)))
    monkeypatch.setattr(chronicles, "PAUSE", 3600.0)
    story.happen("more")
    story.make_room()
    story.happen("waits")
    assert story.written() == []

    story.chronicle.record([Event(EventType.CONTROLLER_STOPPED)])
    story.chronicle.write(MEMORY)

    assert story.written()[-2:] == ["more", "waits"]


def test_old_events_are_let_go_in_time(story: Story) -> None:
    old = [(1.0, Event(EventType.SESSION_STARTED, message="old"))]
    story.journal.write(old * 30, MEMORY)
    story.happen("new")

    story.chronicle.tidy()

    assert story.written() == ["new"]
    story.journal.write(old, MEMORY)
    story.chronicle.tidy()
    assert story.written() == ["new", "old"]


def test_where_there_is_more_to_let_go_it_is_done_soon(story: Story) -> None:
    old = [(1.0, Event(EventType.SESSION_STARTED, message="x" * 1_000_000))]
    for _ in range(20):
        story.journal.write(old, MEMORY)
    story.happen("new")
    assert story.chronicle.patience() == math.inf

    story.chronicle.tidy()

    assert len(story.written()) > 1
    assert story.chronicle.patience() <= REST
    eventually(lambda: tidied(story) == ["new"])
    eventually(lambda: tidied(story) and story.chronicle.patience() == math.inf)


def tidied(story: Story) -> list[str]:
    story.chronicle.tidy()
    return story.written()


def test_a_controller_keeps_up_with_large_messages_of_others(bench: Bench) -> None:
    path = str(bench.folder / "city.db")
    journal = Journal(path)
    old = [(1.0, Event(EventType.SESSION_STARTED, message="x" * 1_000_000))]
    for _ in range(30):
        journal.write(old, Memory())
    bench.daemon = DaemonSettings(patrol_interval=3600.0, shutdown_timeout=0.5)
    running = bench.run(agent("mayor"))
    eventually(up(running, "mayor"))

    eventually(lambda: journal.events.page(0).first > 30)
    journal.close()


def test_a_controller_lets_old_events_go_by_itself(bench: Bench) -> None:
    journal = Journal(str(bench.folder / "city.db"))
    journal.record(1.0, [Event(EventType.SESSION_STARTED, message="long ago")] * 500, Memory())

    running = bench.run(agent("mayor"))
    eventually(up(running, "mayor"))

    eventually(lambda: journal.events.page(0).first > 500)
    assert "long ago" not in {entry.message for entry in journal.entries()}
    journal.close()


def test_a_locked_journal_does_not_end_the_supervision(bench: Bench) -> None:
    running = bench.run(agent("mayor"))
    eventually(up(running, "mayor"))
    other = sqlite3.connect(bench.folder / "city.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    bench.world.crash("gc-c-mayor", code=3)

    eventually(lambda: bench.world.starts.count("gc-c-mayor") == 2 and up(running, "mayor")())

    eventually(lambda: running.told(EventType.JOURNAL_LOST))
    other.execute("ROLLBACK")
    other.close()
    journal = Journal(str(bench.folder / "city.db"))
    eventually(lambda: EventType.SESSION_CRASHED in {entry.type for entry in journal.entries()})
    numbers = [entry.number for entry in journal.entries()]
    assert numbers == list(range(1, len(numbers) + 1))
    journal.close()
