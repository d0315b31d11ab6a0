"""The controller's loop over a fake world: real threads, a real journal, nothing else."""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar

import pytest
from tests.integration.controller.stage import CITY, Bench, agent, risen, up

from gascity.controller.clock import Clock
from gascity.controller.messages import Asked
from gascity.core.actions import Event, EventType
from gascity.core.model import (
    PoolSpec,
    SessionConfig,
    StartupHints,
)
from gascity.core.observed import CITY_ID, CONFIG_HASH, RUN, STARTING, SessionState
from gascity.core.standstill import Standstills
from gascity.errors import GascityError, ProviderUnavailable, StopTimedOut
from gascity.journal.store import Journal
from gascity.testing.eventually import eventually
from gascity.testing.fake import FakeProvider
from gascity.testing.standstill import stood_still


def test_a_city_comes_up_and_a_crash_is_healed(bench: Bench) -> None:
    running = bench.run(agent("mayor"), agent("smith"))
    eventually(up(running, "mayor", "smith"))

    bench.world.crash("gc-c-mayor", code=3)

    eventually(lambda: len(bench.world.starts) == 3 and up(running, "mayor")())
    assert [event.message for event in running.told(EventType.SESSION_CRASHED)] == [
        "exited with status 3"
    ]


def test_a_crash_loop_ends_in_quarantine_told_once(bench: Bench) -> None:
    running = bench.run(agent("mayor"))
    for _ in range(3):
        eventually(risen(bench, running, "mayor"))
        bench.world.crash("gc-c-mayor", signal=9)

    eventually(lambda: running.states() == {"mayor": "quarantined"})
    running.ask("status")
    assert len(running.told(EventType.AGENT_QUARANTINED)) == 1
    assert len(running.told(EventType.ALERT_RAISED)) == 1
    assert len(bench.world.starts) == 3


def test_a_quarantine_outlives_the_controller_and_a_restart_lifts_it(bench: Bench) -> None:
    running = bench.run(agent("mayor"))
    for _ in range(3):
        eventually(risen(bench, running, "mayor"))
        bench.world.crash("gc-c-mayor", signal=9)
    eventually(lambda: running.states() == {"mayor": "quarantined"})
    bench.end()

    second = bench.run(agent("mayor"))

    eventually(lambda: second.states() == {"mayor": "quarantined"})
    assert len(bench.world.starts) == 3
    second.ask("restart", agents=["mayor"])
    assert second.states() == {"mayor": "ready"}


def test_an_outage_starts_nothing(bench: Bench) -> None:
    running = bench.run(agent("mayor"))
    eventually(up(running, "mayor"))

    bench.world.unreachable = "the backend is asleep"
    eventually(lambda: running.states() == {"mayor": "unknown"})
    bench.world.unreachable = ""

    eventually(up(running, "mayor"))
    assert bench.world.starts == ["gc-c-mayor"]
    assert len(running.told(EventType.PROVIDER_LOST)) == 1
    assert len(running.told(EventType.PROVIDER_BACK)) == 1


class Sleepy(Clock):
    """The clock of a machine that sleeps at a word."""

    slept = Standstills()

    def sleep(self, seconds: float) -> None:
        began = self.now()
        self.slept = Standstills(((began, began + seconds),))
        self._offset += seconds

    def standstills(self) -> Standstills:
        return self.slept


def test_a_machine_that_slept_makes_nobody_idle(bench: Bench) -> None:
    bench.clock = clock = Sleepy()
    running = bench.run(agent("mayor", idle_timeout=600.0))
    eventually(up(running, "mayor"))

    clock.sleep(3600.0)
    bench.world.wake()

    assert running.states() == {"mayor": "ready"}
    assert bench.world.starts == ["gc-c-mayor"]
    assert running.told(EventType.AGENT_IDLE) == []


def test_a_start_that_the_machine_stood_still_in_goes_on(bench: Bench) -> None:
    release = threading.Event()
    bench.world.slow = {"gc-c-slow": release}
    running = bench.run(agent("slow"))
    eventually(lambda: "gc-c-slow" in bench.world.sessions)

    with stood_still(1000.0):
        bench.world.wake()
        running.ask("status")
        running.ask("status")
        release.set()

        eventually(up(running, "slow"))
        assert bench.world.starts == ["gc-c-slow"]
        assert running.told(EventType.START_FAILED) == []


def test_a_question_that_the_machine_stood_still_over_is_answered_when_it_can_be(
    bench: Bench,
) -> None:
    running = bench.run(agent("mayor"))
    eventually(up(running, "mayor"))
    release = threading.Event()
    bench.world.slow = {"gc-c-mayor": release}
    answers: list[object] = []
    running.controller.post(Asked("restart", {"agents": ["mayor"]}, answers.append))
    eventually(lambda: len(bench.world.starts) == 2)

    with stood_still(1000.0):
        bench.world.wake()
        running.ask("status")
        running.ask("status")
        release.set()

        eventually(lambda: answers)
        assert answers == [{"restarted": ["mayor"]}]


def test_a_slow_start_delays_nobody(bench: Bench) -> None:
    release = threading.Event()
    bench.world.slow = {f"gc-c-slow{n}": release for n in range(20)}
    running = bench.run(*(agent(f"slow{n}") for n in range(20)), agent("quick"))
    eventually(up(running, "quick"))

    bench.world.crash("gc-c-quick", code=1)

    eventually(lambda: bench.world.starts.count("gc-c-quick") == 2 and up(running, "quick")())
    assert running.states()["slow0"] == "starting"
    release.set()
    eventually(up(running, "slow0", "slow19"))


def test_the_city_can_be_stopped_while_an_agent_starts(bench: Bench) -> None:
    release = threading.Event()
    bench.world.slow = {"gc-c-slow": release}
    running = bench.run(agent("slow"))
    eventually(lambda: "gc-c-slow" in bench.world.sessions)
    threading.Timer(0.3, release.set).start()

    answer = running.ask("stop")

    assert answer == {"stopped": ["slow"]}
    assert bench.world.sessions == {}


def test_a_start_that_fails_waits_longer_each_time_and_says_why(bench: Bench) -> None:
    bench.world.failing = {"gc-c-mayor": "has no bread"}
    running = bench.run(agent("mayor"))

    eventually(lambda: running.states() == {"mayor": "quarantined"})

    assert len(running.told(EventType.START_FAILED)) == 3
    (view,) = running.ask("status")["agents"]
    assert "has no bread" in view["reason"]


def test_a_session_that_will_not_end_is_not_hammered(bench: Bench) -> None:
    running = bench.run(agent("mayor"))
    eventually(up(running, "mayor"))
    bench.world.stuck = {"gc-c-mayor"}

    with pytest.raises(StopTimedOut, match="mayor"):
        running.ask("stop_agents", agents=["mayor"])

    assert 1 <= len(running.told(EventType.STOP_FAILED)) <= 4


def test_an_agent_stopped_by_a_person_stays_down_under_the_next_controller(bench: Bench) -> None:
    running = bench.run(agent("mayor"), agent("smith"))
    eventually(up(running, "mayor", "smith"))
    running.ask("stop_agents", agents=["mayor"])
    bench.end()

    second = bench.run(agent("mayor"), agent("smith"))

    eventually(lambda: second.states() == {"mayor": "stopped", "smith": "ready"})
    assert sorted(bench.world.starts) == ["gc-c-mayor", "gc-c-smith"]
    second.ask("restart", agents=["mayor"])
    assert second.states() == {"mayor": "ready", "smith": "ready"}


def test_a_session_of_that_name_which_is_not_ours_is_left_alone(bench: Bench) -> None:
    theirs = SessionConfig("true", "/", meta={CITY_ID: "other", CONFIG_HASH: "x", RUN: "r"})
    bench.world.create("gc-c-mayor", theirs)

    running = bench.run(agent("mayor"))

    eventually(lambda: running.states() == {"mayor": "blocked"})
    assert running.ask("stop") == {"stopped": []}
    assert "gc-c-mayor" in bench.world.sessions


def test_changed_configuration_restarts_only_the_agent_it_concerns(bench: Bench) -> None:
    running = bench.run(agent("mayor"), agent("smith"))
    eventually(up(running, "mayor", "smith"))
    bench.end()

    second = bench.run(agent("mayor", fingerprint="g"), agent("smith"))
    eventually(lambda: len(bench.world.starts) == 3 and up(second, "mayor", "smith")())

    assert sorted(bench.world.starts) == ["gc-c-mayor", "gc-c-mayor", "gc-c-smith"]


def test_an_agent_waits_for_what_it_depends_on(bench: Bench) -> None:
    release = threading.Event()
    bench.world.slow = {"gc-c-mayor": release}
    running = bench.run(agent("smith", depends_on=("mayor",)), agent("mayor"))

    eventually(lambda: "gc-c-mayor" in bench.world.sessions)
    assert "gc-c-smith" not in bench.world.sessions

    release.set()
    eventually(up(running, "mayor", "smith"))


def test_unknown_questions_are_answered_too(bench: Bench) -> None:
    running = bench.run(agent("mayor"))

    for method, params in (("dance", {}), ("restart", {"agents": ["nobody"]}), ("restart", {})):
        with pytest.raises(GascityError):
            running.ask(method, **params)
    assert running.ask("ping")["city"] == "c"


def test_the_last_words_of_a_crash_are_kept(bench: Bench, tmp_path: Path) -> None:
    running = bench.run(agent("mayor"))
    eventually(up(running, "mayor"))
    bench.world.show("gc-c-mayor", "out of memory")
    (view,) = running.ask("status")["agents"]

    bench.world.crash("gc-c-mayor", code=1)

    kept = tmp_path / "runs" / view["run"] / "last-screen.txt"
    eventually(kept.exists)
    assert kept.read_text().strip() == "out of memory"


def test_a_question_that_makes_no_sense_does_not_end_the_controller(bench: Bench) -> None:
    running = bench.run(agent("mayor"), agent("smith"))
    eventually(up(running, "mayor", "smith"))

    for method, params in (
        ("nudge", {"agents": ["mayor", "smith"], "text": "hi"}),
        ("nudge", {"agents": ["mayor"]}),
        ("stop_agents", {"agents": [["mayor"]]}),
        ("restart", {"agents": "mayor"}),
    ):
        with pytest.raises(GascityError):
            running.ask(method, **params)

    assert running.states() == {"mayor": "ready", "smith": "ready"}


def test_a_report_that_cannot_be_written_does_not_end_the_controller(bench: Bench) -> None:
    running = bench.run(agent("mayor"))
    eventually(up(running, "mayor"))

    def closed_terminal(_: Event) -> None:
        raise BrokenPipeError

    running.controller._chronicle._report = closed_terminal
    bench.world.crash("gc-c-mayor", code=1)

    eventually(lambda: len(bench.world.starts) == 2 and up(running, "mayor")())


def test_stopping_an_agent_is_not_claimed_during_an_outage(bench: Bench) -> None:
    running = bench.run(agent("mayor"))
    eventually(up(running, "mayor"))
    bench.world.unreachable = "it sleeps"
    eventually(lambda: running.states() == {"mayor": "unknown"})
    threading.Timer(1.0, setattr, (bench.world, "unreachable", "")).start()

    running.ask("stop_agents", agents=["mayor"])

    assert bench.world.sessions == {}


def test_a_city_that_could_not_be_stopped_in_time_is_not_started_again(bench: Bench) -> None:
    running = bench.run(agent("mayor"), agent("smith"))
    eventually(up(running, "mayor", "smith"))
    bench.world.stuck = {"gc-c-mayor"}

    with pytest.raises(StopTimedOut, match="gc-c-mayor"):
        running.ask("stop")

    assert bench.world.starts.count("gc-c-smith") == 1
    assert len(running.told(EventType.STOP_FAILED)) <= 4
    bench.world.stuck = set()
    eventually(lambda: running.controller.leaving)
    assert bench.world.sessions == {}


def test_a_restart_followed_by_a_stop_leaves_nothing(bench: Bench) -> None:
    running = bench.run(agent("mayor"))
    eventually(up(running, "mayor"))
    running.controller.post(Asked("restart", {"agents": ["mayor"]}, lambda _: None))

    running.ask("stop")

    assert bench.world.sessions == {}


class SlowToLook(FakeProvider):
    """Answers a look late: what it says is old by then."""

    def observe(self, *, timeout: float) -> Mapping[str, SessionState]:
        seen = super().observe(timeout=timeout)
        threading.Event().wait(0.2)
        return seen


class StandsStill(FakeProvider):
    """Does not answer before it is let to; one that had no time left says so."""

    held: ClassVar[list[threading.Event]] = []

    def observe(self, *, timeout: float) -> Mapping[str, SessionState]:
        deadline = time.monotonic() + timeout
        for one in self.held:
            one.wait()
        if time.monotonic() >= deadline:
            raise ProviderUnavailable("it did not answer in time")
        return super().observe(timeout=timeout)


def test_a_provider_that_stood_still_with_the_machine_was_never_lost(bench: Bench) -> None:
    bench.make, release = StandsStill, threading.Event()
    running = bench.run(agent("mayor"))
    eventually(up(running, "mayor"))
    StandsStill.held = [release]
    bench.world.wake()
    running.ask("status")  # it waits for a look in vain: one is under way

    with stood_still(1000.0):
        bench.world.wake()
        running.ask("status")
        StandsStill.held = []
        release.set()

        eventually(up(running, "mayor"))
        assert running.told(EventType.PROVIDER_LOST) == []


def test_a_look_that_is_older_than_a_start_ends_nothing_too_early(bench: Bench) -> None:
    bench.make = SlowToLook
    running = bench.run(agent("mayor"))
    eventually(lambda: "gc-c-mayor" in bench.world.sessions)

    running.ask("stop")

    assert bench.world.sessions == {}
    assert bench.world.starts == ["gc-c-mayor"]


class Outage(FakeProvider):
    """Lets itself be looked at, but starts nothing while the world says so."""

    def start(self, name: str, config: SessionConfig, *, timeout: float) -> None:
        if self.world.failing.get("outage"):
            raise ProviderUnavailable("the API is away")
        super().start(name, config, timeout=timeout)


def test_a_provider_that_cannot_start_anything_is_not_the_fault_of_the_agent(bench: Bench) -> None:
    bench.make = Outage
    bench.world.failing["outage"] = "yes"
    running = bench.run(agent("mayor"))
    eventually(lambda: running.told(EventType.START_FAILED))

    bench.world.failing.clear()

    eventually(up(running, "mayor"))
    assert running.controller.memory.of("gc-c-mayor").failures == ()


def test_a_restart_of_a_pool_is_done_when_the_members_it_needs_are_up(bench: Bench) -> None:
    members = tuple(agent(f"crew-{n}", pool="crew") for n in (1, 2, 3))
    bench.pools = (PoolSpec("crew", 1, 3, members),)
    running = bench.run()
    eventually(up(running, "crew-1"))

    running.ask("restart", agents=["crew-1", "crew-2", "crew-3"])

    assert running.states() == {"crew-1": "ready"}
    assert bench.world.starts == ["gc-c-crew-1", "gc-c-crew-1"]


def test_a_restart_asked_for_before_the_first_look_is_not_lost(bench: Bench) -> None:
    first = bench.run(agent("mayor"))
    eventually(up(first, "mayor"))
    bench.end()

    second = bench.run(agent("mayor"))
    second.ask("restart", agents=["mayor"])

    assert bench.world.starts == ["gc-c-mayor", "gc-c-mayor"]


def test_a_start_that_was_cut_off_is_done_again(bench: Bench) -> None:
    spec = agent("mayor", hints=StartupHints(nudge="begin"))
    cut = SessionConfig(
        "true", "/", meta={CITY_ID: CITY, CONFIG_HASH: "f", RUN: "r0", STARTING: "r0"}
    )
    bench.world.create("gc-c-mayor", cut)

    running = bench.run(spec)

    eventually(lambda: len(bench.world.starts) == 2 and up(running, "mayor")())
    assert bench.world.sessions["gc-c-mayor"].received == ["begin"]
    assert running.ask("status")["agents"][0]["restarts"] == 0


def test_a_journal_that_cannot_be_written_does_not_end_the_supervision(
    bench: Bench, tmp_path: Path
) -> None:
    running = bench.run(agent("mayor"))
    eventually(up(running, "mayor"))
    other = sqlite3.connect(tmp_path / "city.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")

    bench.world.crash("gc-c-mayor", code=1)
    eventually(lambda: len(bench.world.starts) == 2)
    eventually(lambda: running.told(EventType.JOURNAL_LOST))
    other.execute("ROLLBACK")
    other.close()

    eventually(up(running, "mayor"))
    bench.end()
    journal = Journal(str(tmp_path / "city.db"))
    kinds = [entry.event.type for entry in journal.entries()]
    journal.close()
    assert kinds.count(EventType.SESSION_CRASHED) == 1
    assert kinds.count(EventType.SESSION_STARTED) == 2


def test_what_a_person_asked_for_is_not_claimed_before_it_is_written(
    bench: Bench, tmp_path: Path
) -> None:
    running = bench.run(agent("mayor"), agent("smith"))
    eventually(up(running, "mayor", "smith"))
    other = sqlite3.connect(tmp_path / "city.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")

    with pytest.raises(GascityError, match=r"mayor: stopped, but .* cannot be used now"):
        running.ask("stop_agents", agents=["mayor"])
    assert "gc-c-mayor" not in bench.world.sessions
    other.execute("ROLLBACK")
    other.close()

    assert running.ask("stop_agents", agents=["mayor"]) == {"stopped": ["mayor"]}


def test_words_that_are_no_unicode_do_not_end_the_controller(bench: Bench) -> None:
    bench.world.failing = {"gc-c-mayor": "said \udcff"}
    running = bench.run(agent("mayor"))

    eventually(lambda: running.told(EventType.START_FAILED))
    assert running.states()
