"""A controller that is gentle: it waits, asks, brakes and reminds before it ends anything."""

from __future__ import annotations

import threading
import time
from dataclasses import replace
from typing import ClassVar

from tests.integration.controller.stage import CITY, Bench, agent, risen, up
from tests.integration.controller.test_screens import DEMO, WORKING

from gascity.core.actions import EventType
from gascity.core.model import OnDrift, OnIdle, RestartPolicy, SessionConfig, StartupHints
from gascity.core.observed import AGENT, CITY_ID, CONFIG_HASH, DRAINED, RESTART_REQUESTED, RUN
from gascity.screens.rules import RuleBook
from gascity.testing.eventually import eventually
from gascity.testing.fake import FakeProvider, FakeSession

ROOMY = RestartPolicy(max_restarts=20, window=3600, first_delay=0.01, longest_delay=0.05)


def test_a_mass_death_is_told_once_and_everybody_comes_back(bench: Bench) -> None:
    names = [f"a{n}" for n in range(12)]
    running = bench.run(*(agent(name, restarts=ROOMY) for name in names))
    eventually(up(running, *names))
    before = len(bench.world.starts)

    for name in names:
        bench.world.crash(f"gc-c-{name}", signal=9)

    eventually(lambda: len(bench.world.starts) == before + 12)
    eventually(up(running, *names))
    assert len(running.told(EventType.CITY_BRAKED)) == 1
    alerts = [event.message for event in running.told(EventType.ALERT_RAISED)]
    assert len([text for text in alerts if "at a time" in text]) == 1
    assert len(running.told(EventType.SESSION_CRASHED)) == 12


def test_a_mass_death_never_brings_up_more_than_a_few_at_once(bench: Bench) -> None:
    names = [f"a{n}" for n in range(10)]
    running = bench.run(*(agent(name, restarts=ROOMY) for name in names))
    eventually(up(running, *names))
    gates = {f"gc-c-{name}": threading.Event() for name in names}
    bench.world.slow.update(gates)
    before = len(bench.world.starts)

    with bench.world.changed:  # in one look
        for name in names:
            bench.world.crash(f"gc-c-{name}", signal=9)

    eventually(lambda: len(bench.world.starts) == before + 4)
    running.ask("status")
    assert len(bench.world.starts) == before + 4

    def let_up() -> bool:
        waiting = [s for s in bench.world.starts[before:] if not gates[s].is_set()]
        assert len(waiting) <= 4
        for session in waiting:
            gates[session].set()
        return len(bench.world.starts) == before + 10

    eventually(let_up)
    eventually(up(running, *names))


def test_an_orphan_is_ended_only_after_a_second_look(bench: Bench) -> None:
    meta = {CITY_ID: CITY, AGENT: "old", CONFIG_HASH: "f", RUN: "r1"}
    bench.world.create("gc-c-old", SessionConfig("true", "/", meta=meta))
    begun = time.monotonic()
    running = bench.run(agent("a"))
    eventually(up(running, "a"))

    eventually(lambda: "gc-c-old" not in bench.world.sessions)

    assert time.monotonic() - begun >= 1.0
    (stopped,) = eventually(lambda: running.told(EventType.SESSION_STOPPED))
    assert "no longer in the city file" in stopped.message


def test_a_session_of_a_stranger_is_told_of_and_left_alone_to_the_end(bench: Bench) -> None:
    bench.world.create("gc-c-guest", SessionConfig("true", "/"))
    running = bench.run(agent("a"))
    eventually(up(running, "a"))

    (told,) = eventually(lambda: running.told(EventType.SESSION_FOREIGN))
    assert told.session == "gc-c-guest"
    running.ask("stop")

    assert list(bench.world.sessions) == ["gc-c-guest"]


def test_an_idle_agent_is_reminded_through_the_queue(bench: Bench) -> None:
    hints = StartupHints(nudge="Look for work.")
    running = bench.run(agent("a", hints=hints, idle_timeout=0.3, on_idle=OnIdle.NUDGE))
    eventually(up(running, "a"))

    def received() -> list[str]:
        return bench.world.sessions["gc-c-a"].received

    eventually(lambda: received().count("Look for work.") >= 3)
    assert running.told(EventType.AGENT_IDLE)
    assert running.told(EventType.NUDGE_SUBMITTED)


def test_an_idle_agent_is_restarted_or_stopped_and_neither_is_a_crash(bench: Bench) -> None:
    running = bench.run(
        agent("a", idle_timeout=0.3),
        agent("b", idle_timeout=0.3, on_idle=OnIdle.STOP),
    )

    eventually(lambda: bench.world.starts.count("gc-c-a") >= 3)
    eventually(lambda: running.states().get("b") == "stopped")

    assert not running.told(EventType.SESSION_CRASHED)
    (view,) = [one for one in running.ask("status")["agents"] if one["name"] == "a"]
    assert view["restarts"] == 0
    assert view["requests"] >= 2


def test_drift_that_is_only_told_leaves_the_agent_alone(bench: Bench) -> None:
    running = bench.run(agent("a"))
    eventually(up(running, "a"))
    pid = running.ask("status")["agents"][0]["pid"]
    bench.end()

    running = bench.run(agent("a", fingerprint="other", on_drift=OnDrift.NOTIFY))
    eventually(lambda: running.told(EventType.AGENT_DRIFTED))
    (view,) = running.ask("status")["agents"]

    assert (view["pid"], view["drift"]) == (pid, True)
    assert [e for e in running.told(EventType.ALERT_RAISED) if "old configuration" in e.message]


def test_drift_can_wait_until_the_agent_has_drained(bench: Bench) -> None:
    running = bench.run(agent("a"))
    eventually(up(running, "a"))
    session = bench.world.sessions["gc-c-a"]
    run = session.meta[RUN]
    bench.end()

    running = bench.run(agent("a", fingerprint="other", on_drift=OnDrift.DRAIN))
    eventually(lambda: running.told(EventType.SESSION_DRAINING))
    assert bench.world.sessions["gc-c-a"] is session
    session.meta[DRAINED] = run
    bench.world.wake()

    replaced = eventually(lambda: _other(bench, "gc-c-a", than=session))
    assert replaced is not None
    assert replaced.meta[CONFIG_HASH] == "other"


def test_what_an_agent_asks_for_is_done_and_counted_apart(bench: Bench) -> None:
    running = bench.run(agent("a"))
    eventually(up(running, "a"))
    session = bench.world.sessions["gc-c-a"]

    session.meta[RESTART_REQUESTED] = session.meta[RUN]
    bench.world.wake()

    eventually(lambda: bench.world.starts.count("gc-c-a") == 2)
    eventually(up(running, "a"))
    (view,) = running.ask("status")["agents"]
    assert (view["requests"], view["restarts"]) == (1, 0)


class Noting(FakeProvider):
    """Notes in which order sessions end."""

    ended: ClassVar[list[str]] = []

    def stop(self, name: str, *, grace: float, timeout: float) -> None:
        super().stop(name, grace=grace, timeout=timeout)
        self.ended.append(name)


def test_a_city_ends_in_the_reverse_order_of_its_needs(bench: Bench) -> None:
    bench.make = Noting
    Noting.ended.clear()
    running = bench.run(agent("db"), agent("api", depends_on=("db",)), agent("other"))
    eventually(up(running, "db", "api", "other"))

    running.ask("stop")

    assert Noting.ended.index("gc-c-api") < Noting.ended.index("gc-c-db")
    assert set(Noting.ended) == {"gc-c-db", "gc-c-api", "gc-c-other"}


def test_a_quarantine_ends_when_the_agents_own_configuration_changes(bench: Bench) -> None:
    running = bench.run(agent("a"), agent("b"))
    eventually(up(running, "a", "b"))
    for _ in range(3):
        eventually(risen(bench, running, "a"))
        bench.world.crash("gc-c-a", code=1)
    eventually(lambda: running.states()["a"] == "quarantined")
    bench.end()

    running = bench.run(agent("a"), agent("b", fingerprint="other"))
    eventually(up(running, "b"))
    assert running.states()["a"] == "quarantined"
    assert not running.told(EventType.AGENT_QUARANTINED)
    bench.end()

    running = bench.run(replace(agent("a"), fingerprint="mended"), agent("b"))
    eventually(up(running, "a"))
    (freed,) = running.told(EventType.AGENT_RELEASED)
    assert freed.message == "its configuration changed"


def test_a_new_controller_does_not_cut_off_who_is_at_work(bench: Bench) -> None:
    bench.screens = RuleBook({"demo": DEMO})
    running = bench.run(agent("a", backend="demo"))
    eventually(up(running, "a"))
    session = bench.world.sessions["gc-c-a"]
    session.shown = [*WORKING]
    eventually(lambda: running.states() == {"a": "working"})
    bench.end()

    running = bench.run(agent("a", backend="demo", fingerprint="other"))
    eventually(lambda: running.told(EventType.AGENT_DRIFTED))
    eventually(lambda: "it is working" in running.ask("status")["agents"][0]["reason"])

    assert bench.world.sessions["gc-c-a"] is session
    session.shown = ["> "]
    eventually(lambda: _other(bench, "gc-c-a", than=session))


class OneAtATime(FakeProvider):
    """Has a single place for starts."""

    parallel = 1


def test_who_came_while_a_restart_waited_for_its_turn_is_not_cut_off(bench: Bench) -> None:
    bench.make = OneAtATime
    running = bench.run(agent("a"), agent("b"))
    eventually(up(running, "a", "b"))
    bench.end()
    gate = threading.Event()
    bench.world.slow["gc-c-a"] = gate
    session = bench.world.sessions["gc-c-b"]

    running = bench.run(agent("a", fingerprint="other"), agent("b", fingerprint="other"))
    eventually(lambda: bench.world.starts.count("gc-c-a") == 2)
    session.attached = 1
    bench.world.wake()
    eventually(lambda: running.ask("status")["agents"][1]["attached"] == 1)
    gate.set()

    eventually(up(running, "a"))
    assert "somebody is attached" in running.ask("status")["agents"][1]["reason"]
    assert bench.world.sessions["gc-c-b"] is session
    session.attached = 0
    bench.world.wake()
    eventually(lambda: _other(bench, "gc-c-b", than=session))


def _other(bench: Bench, name: str, than: FakeSession) -> FakeSession | None:
    """Return the session that came after one; between the two there is none of that name."""
    found = bench.world.sessions.get(name)
    return None if found is than else found
