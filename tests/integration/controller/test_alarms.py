"""Alarms: from a trouble to the journal and to people, and its end."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from tests.integration.controller.stage import Bench, Running, agent, risen, up
from tests.living import lives

from gascity.controller import alarms as alarming
from gascity.controller import chronicle as chronicles
from gascity.controller.alarms import Alarms
from gascity.controller.chronicle import Chronicle
from gascity.controller.clock import Clock
from gascity.controller.messages import Happened, Message, Taken
from gascity.core.actions import Event, EventType
from gascity.core.alerts import Alert
from gascity.core.memory import AgentMemory, Memory
from gascity.core.model import AlertSettings, City, Desired, PoolSpec
from gascity.core.plan import Plan
from gascity.journal.store import Journal
from gascity.testing.eventually import eventually

MEMORY = Memory({"s": AgentMemory(run="r")})


class Hasty(Clock):
    """A clock that can be set ahead."""

    ahead = 0.0

    def now(self) -> float:
        return super().now() + self.ahead


class Story:
    """Alarms over a real journal whose disk can be full."""

    def __init__(self, folder: Path, command: str = "") -> None:
        self.folder = folder
        self.journal = Journal(str(folder / "city.db"))
        self.posted: list[Message] = []
        self.city = City(
            "c", str(folder), Desired("c", "id", ()), alerts=AlertSettings(command=command)
        )
        self.clock = Clock()
        self.begin()

    def begin(self) -> None:
        self.chronicle = Chronicle(self.city, {}, self.journal, lambda _event: None, self.clock)
        self.alarms = Alarms(self.city, {}, self.journal, self.chronicle, self.posted.append)

    def write(self) -> None:
        posted, self.posted[:] = list(self.posted), []
        for message in posted:
            if isinstance(message, Happened):
                self.chronicle.record([message.event])
            elif isinstance(message, Taken):
                self.alarms.taken(message.keys)
        self.alarms.tell()
        self.chronicle.write(MEMORY)

    def alarm(self, *alerts: Alert) -> None:
        for alert in alerts:
            self.alarms.alarm(alert)
        self.write()

    def stand(self, *troubles: Alert) -> None:
        self.alarms.stand(Plan((), (), MEMORY, (), None, troubles=troubles), ending=False)
        self.write()

    def open(self) -> list[str]:
        return sorted(alert.key for alert in self.journal.alerts.open())

    def written(self) -> list[str]:
        self.write()
        return self.open()

    def kinds(self) -> list[str]:
        return [entry.type for page in self.journal.events.every() for entry in page.entries]

    def fill_the_disk(self) -> None:
        (pages,) = self.journal._db.execute("PRAGMA page_count").fetchone()
        self.journal._db.execute(f"PRAGMA max_page_count = {pages}")
        for number in range(100):
            text = f"{number:<500}"
            self.chronicle.record([Event(EventType.SESSION_STARTED, message=text)])
            self.write()

    def make_room(self) -> None:
        self.journal._db.execute("PRAGMA max_page_count = 1000000")


@pytest.fixture
def make_story(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], Story]]:
    monkeypatch.setattr(chronicles, "PAUSE", 0.0)  # every write is tried
    made: list[Story] = []

    def make(command: str) -> Story:
        made.append(Story(tmp_path, command))
        return made[-1]

    yield make
    for story in made:
        story.alarms.close()
        story.journal.close()


@pytest.fixture
def story(make_story: Callable[[str], Story]) -> Story:
    return make_story("")


def test_an_alert_is_open_in_the_journal_with_its_event(story: Story) -> None:
    story.fill_the_disk()
    alert = Alert("k", "mayor", "look at it")
    story.alarm(alert)
    story.alarm(alert)
    assert story.journal.alerts.open() == []
    story.make_room()
    story.write()

    (kept,) = (one for one in story.journal.alerts.open() if one.key == "k")
    assert kept.times == 2
    assert story.kinds().count(EventType.ALERT_RAISED) == 2  # this one, and the journal itself


def test_an_alert_is_closed_when_its_trouble_is_over(story: Story) -> None:
    one, other = Alert("one", "mayor", "look"), Alert("other", "mayor", "look")
    story.alarm(one, other)

    story.alarms.settle("one", "never told")
    story.write()
    assert story.open() == ["other"]
    story.alarm(one)
    assert story.open() == ["one", "other"]
    assert story.kinds().count(EventType.ALERT_RESOLVED) == 1


def test_what_comes_and_goes_while_nothing_can_be_written_is_as_it_is_then(story: Story) -> None:
    comes, goes = Alert("comes", "mayor", "look"), Alert("goes", "mayor", "look")
    story.alarm(goes)
    story.fill_the_disk()
    for alert in (comes, goes):
        story.alarm(alert)
        story.alarms.settle(alert.key)
        story.write()
    story.alarm(comes)
    story.make_room()
    story.write()
    story.write()  # by now it is known that the journal can be written

    assert story.open() == ["comes"]


def test_a_journal_that_cannot_be_written_is_a_trouble_until_it_can(
    make_story: Callable[[str], Story],
) -> None:
    story = make_story("cat >> told")
    story.fill_the_disk()
    told = story.folder / "told"
    (line,) = eventually(lambda: told.read_text().splitlines() if told.exists() else [])
    assert json.loads(line)["key"] == "journal"

    story.make_room()
    story.write()
    story.write()

    eventually(lambda: len(told.read_text().splitlines()) == 2)
    assert json.loads(told.read_text().splitlines()[1])["event"] == "resolved"
    assert story.open() == []


def test_messages_that_may_not_have_arrived_are_over_with_one_that_did(story: Story) -> None:
    story.alarm(
        Alert("nudge:1", "mayor", "look"),
        Alert("nudge:2", "mayor", "look"),
        Alert("nudge:3", "clerk", "look"),
        Alert("quarantine:mayor", "mayor", "look"),
    )

    story.chronicle.record([Event(EventType.NUDGE_SUBMITTED, "mayor")])
    story.write()

    assert story.open() == ["nudge:3", "quarantine:mayor"]


def test_what_is_told_of_who_left_the_city_is_over(story: Story) -> None:
    pool = PoolSpec("crew", 0, 1, (agent("crew-1"),), check="false")
    city = replace(story.city, desired=Desired("c", "id", (agent("mayor"),), (pool,)))
    story.alarms.take(city)
    story.alarm(
        Alert("nudge:1", "mayor", "look"),
        Alert("nudge:2", "crew-1", "look"),
        Alert("pool:crew", "", "look"),
        Alert("city", "", "look"),
    )
    story.stand()
    assert story.open() == ["city", "nudge:1", "nudge:2", "pool:crew"]

    story.alarms.take(replace(city, desired=Desired("c", "id", (agent("mayor"),))))
    story.stand()

    assert story.open() == ["city", "nudge:1"]


def test_a_message_of_long_ago_troubles_nobody(story: Story) -> None:
    clock = story.clock = Hasty()
    story.city = replace(story.city, desired=Desired("c", "id", (agent("mayor"),)))
    story.begin()
    story.alarm(Alert("nudge:1", "mayor", "look"), Alert("city", "", "look"))

    clock.ahead = story.city.daemon.keep_events + 1
    story.stand()

    assert story.open() == ["city"]


def test_a_trouble_that_lasts_is_open_in_the_journal_however_old_it_is(story: Story) -> None:
    clock = story.clock = Hasty()
    story.begin()
    trouble = Alert("quarantine:s", "mayor", "look")
    for day in range(35):
        clock.ahead = day * 86_400.0
        story.stand(trouble)
    assert story.kinds() == [EventType.ALERT_RAISED]

    story.journal.trim(clock.now(), story.city.daemon.keep_events, 100)

    assert story.open() == ["quarantine:s"]


def test_a_new_controller_sees_the_city_with_its_own_eyes(story: Story) -> None:
    story.alarm(
        Alert("files", "", "look"),
        Alert("sink:webhook", "", "look"),
        Alert("nudge:1", "mayor", "look"),
        Alert("auth:s", "mayor", "look"),
    )

    story.begin()
    story.write()
    assert story.open() == ["auth:s", "nudge:1"]
    story.alarms.stand(Plan((), (), MEMORY, (), None), ending=False)
    story.chronicle.record([Event(EventType.NUDGE_SUBMITTED, "mayor")])
    story.write()

    assert story.open() == []


def test_a_city_that_is_stopped_has_no_trouble_and_says_nothing_of_it(
    make_story: Callable[[str], Story],
) -> None:
    story = make_story("cat >> told")
    told = story.folder / "told"

    def events() -> list[str]:
        lines = told.read_text().splitlines() if told.exists() else []
        return [json.loads(line)["event"] for line in lines]

    story.alarm(Alert("auth:s", "mayor", "look"), Alert("files", "", "look"))
    eventually(lambda: events() == ["raised", "raised"])
    story.alarms.stand(Plan((), (), MEMORY, (), None), ending=True)
    story.write()
    story.alarms.close()

    assert story.open() == []
    assert events() == ["raised", "raised"]


def test_a_sink_that_fails_is_a_trouble_until_it_works_again(
    make_story: Callable[[str], Story],
) -> None:
    story = make_story("test ! -e broken || exit 7; cat >> told")
    (story.folder / "broken").touch()
    story.alarm(Alert("city", "", "look"))

    eventually(lambda: story.written() == ["city", "sink:command"])
    assert story.kinds().count(EventType.ALERT_UNDELIVERED) == 1
    (story.folder / "broken").unlink()
    story.alarm(Alert("files", "", "look"))

    eventually(lambda: story.written() == ["city", "files"])
    assert story.kinds().count(EventType.ALERT_DELIVERED) == 1


def test_what_nobody_took_is_not_told_and_comes_when_a_way_works_again(
    make_story: Callable[[str], Story],
) -> None:
    story = make_story("test ! -e broken || exit 7; cat >> told")
    (story.folder / "broken").touch()
    story.alarm(Alert("auth:s", "mayor", "log in"))
    eventually(lambda: story.written() == ["auth:s", "sink:command"])
    assert not any(one["told"] for one in story.alarms.document())
    (story.folder / "broken").unlink()
    story.alarm(Alert("files", "", "look"))

    def heard() -> list[str]:
        story.write()
        told = story.folder / "told"
        lines = told.read_text().splitlines() if told.exists() else []
        return [json.loads(line)["key"] for line in lines if '"raised"' in line]

    eventually(lambda: {"auth:s", "files"} <= set(heard()))
    assert len(heard()) == len(set(heard()))
    eventually(lambda: story.written() and all(one["told"] for one in story.alarms.document()))


def test_where_nobody_is_named_nobody_was_told_until_somebody_is(story: Story) -> None:
    story.alarm(Alert("auth:s", "mayor", "log in"))
    assert [one["told"] for one in story.alarms.document()] == [False]

    story.alarms.take(replace(story.city, alerts=AlertSettings(command="cat >> told")))

    eventually(lambda: story.written() and story.alarms.document()[0]["told"])


def test_a_program_that_is_still_telling_ends_with_the_controller(
    make_story: Callable[[str], Story], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(alarming, "LAST_WORDS", 0.1)
    story = make_story("echo $$ > pid; exec sleep 1000")
    story.alarm(Alert("auth:s", "mayor", "log in"))
    file = story.folder / "pid"
    pid = int(eventually(lambda: file.read_text() if file.exists() else ""))

    story.alarms.close()

    eventually(lambda: not lives(pid))


def test_a_quarantine_outlives_the_stop_of_its_city(story: Story) -> None:
    story.alarm(Alert("quarantine:s", "mayor", "too often"), Alert("auth:t", "clerk", "log in"))
    story.alarms.stand(Plan((), (), MEMORY, (), None), ending=True)
    story.write()

    assert story.open() == ["quarantine:s"]


def test_another_city_file_may_name_other_people(make_story: Callable[[str], Story]) -> None:
    story = make_story("cat >> old")
    story.alarms.take(replace(story.city, alerts=AlertSettings(command="cat >> new")))
    story.alarm(Alert("city", "", "look"))

    eventually((story.folder / "new").exists)
    assert not (story.folder / "old").exists()


def test_a_provider_that_answers_again_is_no_trouble(bench: Bench) -> None:
    bench.clock = clock = Hasty()
    running = bench.run(agent("a"))
    eventually(up(running, "a"))
    bench.world.unreachable = "it is away"
    eventually(lambda: running.told(EventType.PROVIDER_LOST))
    clock.ahead = 31.0
    journal = Journal(str(bench.folder / "city.db"))
    eventually(lambda: [one.key for one in journal.alerts.open()] == ["provider:fake"])

    bench.world.unreachable = ""

    eventually(lambda: not journal.alerts.open())
    journal.close()


def test_a_locked_journal_is_told(bench: Bench) -> None:
    running = bench.run(agent("mayor"))
    eventually(up(running, "mayor"))
    other = sqlite3.connect(bench.folder / "city.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    bench.world.crash("gc-c-mayor", code=3)

    eventually(
        lambda: [e for e in running.told(EventType.ALERT_RAISED) if "written down" in e.message]
    )
    other.execute("ROLLBACK")
    other.close()
    eventually(lambda: running.told(EventType.ALERT_RESOLVED))


def hanging(bench: Bench, timeout: float) -> Running:
    """Return a controller whose alert is with a program that does not end."""
    bench.alerts = AlertSettings(command="cat >> told; exec sleep 1000", timeout=timeout)
    running = bench.run(agent("bad"), agent("good"))
    for _ in range(3):
        eventually(risen(bench, running, "bad"))
        bench.world.crash("gc-c-bad", code=3)
    eventually((bench.folder / "told").exists)
    return running


def test_a_sink_that_hangs_delays_nobody(bench: Bench) -> None:
    running = hanging(bench, timeout=1000.0)

    bench.world.crash("gc-c-good", code=3)

    eventually(lambda: bench.world.starts.count("gc-c-good") == 2 and up(running, "good")())
    assert not running.told(EventType.ALERT_UNDELIVERED)


def test_a_sink_that_hangs_is_told(bench: Bench) -> None:
    running = hanging(bench, timeout=1.0)

    (told,) = eventually(lambda: running.told(EventType.ALERT_UNDELIVERED))
    assert told.message.startswith("alerts do not get through by command: ")
    eventually(lambda: "sink:command" in {a["key"] for a in running.ask("status")["alerts"]})
