"""Every type of event there is, caused once and found in the journal."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from tests.integration.controller.stage import CITY, Bench, Running, agent, risen, up
from tests.integration.controller.test_screens import DEMO, arrows_and_enter, dialog
from tests.integration.controller.town import Town, entry

from gascity.core.actions import EventType
from gascity.core.model import AlertSettings, OnDrift, SessionConfig
from gascity.core.observed import AGENT, CITY_ID, CONFIG_HASH, RUN
from gascity.errors import ProviderUnavailable
from gascity.journal.store import Journal
from gascity.screens.rules import RuleBook
from gascity.session.receipts import Delivery, Receipt
from gascity.testing.eventually import eventually
from gascity.testing.fake import FakeProvider

Scenario = Callable[[Bench], Running]
SCENARIOS: dict[EventType, Scenario] = {}
FROM_FILES = {EventType.CITY_RELOADED, EventType.CITY_REJECTED}
LED = {EventType.CONTROLLER_LEADING}  # by a process of its own: see test_leading


def causes(*kinds: EventType) -> Callable[[Scenario], Scenario]:
    """Say which events a scenario causes."""

    def note(scenario: Scenario) -> Scenario:
        SCENARIOS.update(dict.fromkeys(kinds, scenario))
        return scenario

    return note


def journalled(path: Path) -> set[str]:
    journal = Journal(str(path))
    try:
        return {entry.type for entry in journal.entries(limit=10_000)}
    finally:
        journal.close()


@pytest.mark.parametrize("kind", [kind for kind in EventType if kind not in FROM_FILES | LED])
def test_it_happens_and_is_kept(kind: EventType, bench: Bench) -> None:
    SCENARIOS[kind](bench)

    eventually(lambda: kind in journalled(bench.folder / "city.db"))


@pytest.mark.parametrize("kind", sorted(FROM_FILES))
def test_a_city_file_that_changes_is_kept_as_an_event(kind: EventType, tmp_path: Path) -> None:
    town = Town(tmp_path)
    town.write(entry("a"))
    town.run()
    try:
        change = "nonsense" if kind is EventType.CITY_REJECTED else entry("b")
        town.write(entry("a"), change)

        eventually(lambda: kind in journalled(town.root / ".gc/city.db"))
    finally:
        town.end()


@causes(
    EventType.CONTROLLER_STARTED,
    EventType.CONTROLLER_STOPPED,
    EventType.SESSION_STARTED,
    EventType.SESSION_CRASHED,
    EventType.SESSION_STOPPED,
)
def a_life(bench: Bench) -> Running:
    running = bench.run(agent("a"))
    eventually(up(running, "a"))
    bench.world.crash("gc-c-a", code=1)
    eventually(lambda: bench.world.starts.count("gc-c-a") == 2)
    running.ask("stop")
    bench.end()
    return running


@causes(EventType.CONTROLLER_SLOW)
def a_budget_nobody_keeps(bench: Bench) -> Running:
    bench.daemon = replace(bench.daemon, tick_budget=1e-9)
    return bench.run(agent("a"))


@causes(EventType.RUNS_LOST)
def a_file_where_the_records_go(bench: Bench) -> Running:
    (bench.folder / "runs").write_text("in the way")
    return bench.run(agent("a"))


@causes(EventType.SESSION_ADOPTED)
def a_session_that_runs_already(bench: Bench) -> Running:
    meta = {CITY_ID: CITY, AGENT: "a", CONFIG_HASH: "f", RUN: "r1"}
    bench.world.create("gc-c-a", SessionConfig("true", "/", meta=meta))
    return bench.run(agent("a"))


@causes(EventType.SESSION_PENDING)
def a_session_that_waits_for_a_machine(bench: Bench) -> Running:
    bench.world.pending["gc-c-a"] = "no machine is free"
    return bench.run(agent("a"))


@causes(EventType.SESSION_FOREIGN)
def a_stranger(bench: Bench) -> Running:
    bench.world.create("gc-c-guest", SessionConfig("true", "/"))
    return bench.run()


@causes(EventType.SESSION_DRAINING, EventType.SESSION_UNDRAINED)
def a_drain_taken_back(bench: Bench) -> Running:
    running = bench.run(agent("a"))
    eventually(up(running, "a"))
    running.ask("drain", agents=["a"])
    eventually(lambda: running.told(EventType.SESSION_DRAINING))
    running.ask("undrain", agents=["a"])
    return running


class Deaf(FakeProvider):
    """Takes no metadata once it runs."""

    def set_meta(self, name: str, key: str, value: str, *, timeout: float) -> None:
        raise ProviderUnavailable("it is deaf")


@causes(EventType.DRAIN_FAILED)
def a_drain_that_cannot_be_asked_for(bench: Bench) -> Running:
    running = bench.run(agent("a"))
    eventually(up(running, "a"))
    bench.end()
    bench.make = Deaf
    return bench.run(agent("a", fingerprint="other", on_drift=OnDrift.DRAIN))


@causes(EventType.START_FAILED)
def a_start_that_fails(bench: Bench) -> Running:
    bench.world.failing["gc-c-a"] = "does not want to"
    return bench.run(agent("a"))


@causes(EventType.HOOKS_FAILED)
def settings_that_cannot_be_read(bench: Bench) -> Running:
    (bench.folder / ".claude").mkdir()
    (bench.folder / ".claude" / "settings.local.json").write_text("{,}")
    return bench.run(agent("a", backend="claude", hooks=True, work_dir=str(bench.folder)))


@causes(EventType.STOP_FAILED)
def a_stop_that_fails(bench: Bench) -> Running:
    running = bench.run(agent("a"))
    eventually(up(running, "a"))
    bench.end()
    bench.world.stuck.add("gc-c-a")
    return bench.run(agent("a", suspended=True))


@causes(
    EventType.AGENT_QUARANTINED,
    EventType.AGENT_RELEASED,
    EventType.ALERT_RAISED,
    EventType.ALERT_RESOLVED,
)
def a_crash_loop_and_a_reset(bench: Bench) -> Running:
    running = bench.run(agent("a"))
    for _ in range(3):
        eventually(risen(bench, running, "a"))
        bench.world.crash("gc-c-a", signal=9)
    eventually(lambda: running.states() == {"a": "quarantined"})
    running.ask("reset", agents=["a"])
    return running


@causes(EventType.ALERT_UNDELIVERED, EventType.ALERT_DELIVERED)
def a_sink_that_fails_and_works_again(bench: Bench) -> Running:
    bench.alerts = AlertSettings(command="test -e mended", repeat_after=0.0)
    running = a_crash_loop_and_a_reset(bench)
    eventually(lambda: running.told(EventType.ALERT_UNDELIVERED))
    (bench.folder / "mended").touch()
    for _ in range(3):
        eventually(risen(bench, running, "a"))
        bench.world.crash("gc-c-a", signal=9)
    return running


@causes(EventType.AGENT_MUTED, EventType.AGENT_UNMUTED)
def a_person_who_has_heard_enough(bench: Bench) -> Running:
    running = bench.run(agent("a"))
    running.ask("mute", agents=["a"], seconds=60)
    running.ask("unmute", agents=["a"])
    return running


@causes(EventType.AGENT_HELD)
def a_person_who_stops_an_agent(bench: Bench) -> Running:
    running = bench.run(agent("a"))
    eventually(up(running, "a"))
    running.ask("stop_agents", agents=["a"])
    return running


@causes(EventType.AGENT_DRIFTED)
def a_changed_configuration(bench: Bench) -> Running:
    running = bench.run(agent("a"))
    eventually(up(running, "a"))
    bench.end()
    return bench.run(agent("a", fingerprint="other"))


@causes(EventType.AGENT_IDLE)
def an_idle_agent(bench: Bench) -> Running:
    return bench.run(agent("a", idle_timeout=0.1))


@causes(EventType.CITY_BRAKED)
def a_mass_death(bench: Bench) -> Running:
    names = [f"a{n}" for n in range(4)]
    running = bench.run(*(agent(name) for name in names))
    eventually(up(running, *names))
    with bench.world.changed:
        for name in names:
            bench.world.crash(f"gc-c-{name}", signal=9)
    return running


@causes(EventType.PROVIDER_LOST, EventType.PROVIDER_BACK)
def an_outage(bench: Bench) -> Running:
    running = bench.run(agent("a"))
    eventually(up(running, "a"))
    bench.world.unreachable = "a cable is out"
    bench.world.wake()
    eventually(lambda: running.told(EventType.PROVIDER_LOST))
    bench.world.unreachable = ""
    bench.world.wake()
    return running


@causes(EventType.JOURNAL_LOST)
def a_journal_that_is_held(bench: Bench) -> Running:
    running = bench.run(agent("a"))
    eventually(up(running, "a"))
    other = sqlite3.connect(bench.folder / "city.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    bench.world.crash("gc-c-a", code=1)
    eventually(lambda: running.told(EventType.JOURNAL_LOST))
    other.execute("ROLLBACK")
    other.close()
    return running


def talking(bench: Bench, *, rows: list[str]) -> Running:
    bench.screens = RuleBook({"demo": DEMO})
    running = bench.run(agent("a", backend="demo"))
    eventually(lambda: "gc-c-a" in bench.world.sessions)
    bench.world.sessions["gc-c-a"].shown = rows
    return running


@causes(EventType.DIALOG_ANSWERED)
def a_dialog(bench: Bench) -> Running:
    running = talking(bench, rows=["> "])
    session = bench.world.sessions["gc-c-a"]
    session.reacts = arrows_and_enter
    session.shown = dialog(1)
    return running


@causes(EventType.DIALOG_FAILED)
def a_dialog_that_does_not_listen(bench: Bench) -> Running:
    running = talking(bench, rows=["> "])
    bench.world.sessions["gc-c-a"].shown = dialog(1)
    return running


@causes(EventType.NUDGE_QUEUED, EventType.NUDGE_SUBMITTED)
def a_message(bench: Bench) -> Running:
    running = talking(bench, rows=["> "])
    running.ask("queue_nudge", agents=["a"], text="hello")
    return running


@causes(EventType.NUDGE_EXPIRED, EventType.NUDGE_CANCELLED)
def messages_that_come_to_nothing(bench: Bench) -> Running:
    running = talking(bench, rows=["> do it", "✻ working… (esc to interrupt)"])
    eventually(lambda: running.states() == {"a": "working"})
    number = running.ask("queue_nudge", agents=["a"], text="no")["number"]
    running.ask("cancel_nudge", number=number)
    running.ask("queue_nudge", agents=["a"], text="soon", expires=0.05)
    return running


class Refusing(FakeProvider):
    """Takes no message."""

    def nudge(
        self, name: str, text: str, *, timeout: float, wait: bool = False, raw: bool = False
    ) -> Receipt:
        return Receipt(Delivery.REFUSED, "not now", text)


class Doubtful(FakeProvider):
    """Cannot say whether a message arrived."""

    def nudge(
        self, name: str, text: str, *, timeout: float, wait: bool = False, raw: bool = False
    ) -> Receipt:
        return Receipt(Delivery.UNVERIFIED, "nothing proves it", text, 1)


@causes(EventType.NUDGE_REFUSED)
def a_message_that_is_refused(bench: Bench) -> Running:
    bench.make = Refusing
    return a_message(bench)


@causes(EventType.NUDGE_UNVERIFIED)
def a_message_in_doubt(bench: Bench) -> Running:
    bench.make = Doubtful
    return a_message(bench)
