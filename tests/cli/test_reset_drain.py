"""`gc reset`, `gc drain`, `gc undrain`: with a controller and without one."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path

import pytest
from tests.cli.conftest import HEAD, SLEEPERS, City, Inside, MakeCity
from tests.living import lives

from gascity.controller.lock import CityLock
from gascity.controller.place import Place
from gascity.core.actions import EventType
from gascity.core.memory import AgentMemory
from gascity.core.observed import DRAIN, DRAINED
from gascity.journal.store import Journal
from gascity.testing.eventually import eventually

CRASHER = HEAD + '[[agents]]\nname = "a"\nstart_command = "test -e mended && sleep 1000"\n'


def memory_of(city: City, name: str) -> AgentMemory:
    journal = Journal(str(city.state / "city.db"))
    try:
        return journal.remembered().of(f"gc-town-{name}")
    finally:
        journal.close()


def events(city: City) -> list[tuple[str, str, str]]:
    journal = Journal(str(city.state / "city.db"))
    try:
        return [
            (entry.event.type, entry.event.agent, entry.event.message)
            for entry in journal.entries()
        ]
    finally:
        journal.close()


def meta_of(city: City, name: str) -> dict[str, str]:
    """Read what stands with a session from the keeper's own file."""
    path = city.state / "subprocess" / "sessions" / f"gc-town-{name}" / "session.json"
    return dict(json.loads(path.read_text("utf-8"))["meta"])


def leave_agents_alone(city: City) -> None:
    """End the controller as a crash would."""
    pid = city.controller()
    os.kill(pid, signal.SIGKILL)
    eventually(lambda: not lives(pid))


def test_what_is_mended_comes_up_after_a_reset(make_city: MakeCity) -> None:
    city = make_city(CRASHER + "max_restarts = 1\n")
    city.ok("start", "--detach")
    city.wait_for("a", "quarantined")
    (city.folder / "mended").touch()

    said = city.ok("reset", "a")

    assert said == "a: released from quarantine; starting (wanted by the city)\n"
    assert city.wait_for("a", "ready")["restarts"] == 1
    assert city.ok("reset", "a") == "a: there was nothing to forget; ready\n"
    assert (EventType.AGENT_RELEASED, "a", "a person reset it") in events(city)


def test_a_reset_without_a_controller_is_kept_for_the_next_one(make_city: MakeCity) -> None:
    city = make_city(CRASHER + "max_restarts = 1\n")
    city.ok("start", "--detach")
    city.wait_for("a", "quarantined")
    city.ok("stop")
    (city.folder / "mended").touch()

    document = json.loads(city.ok("reset", "a", "--json"))

    assert document == {
        "agents": [
            {
                "name": "a",
                "state": "stopped",
                "reason": "no controller runs",
                "forgotten": "quarantine",
            }
        ]
    }
    assert (EventType.AGENT_RELEASED, "a", "a person reset it") in events(city)
    city.start()


def test_a_drain_without_a_controller_asks_the_agent_and_is_kept(city: City) -> None:
    city.start()
    before = city.agents()
    leave_agents_alone(city)

    said = city.ok("drain", "a", "b")

    assert said.startswith("a: draining (")
    assert meta_of(city, "a")[DRAIN] == before["a"]["run"]
    assert DRAIN not in meta_of(city, "c")
    assert memory_of(city, "a").drained
    assert not memory_of(city, "c").drained
    assert [kind for kind, agent, _ in events(city) if agent == "b"][-1] == EventType.AGENT_HELD

    assert (
        city.ok("drain-ack", "a") == "a: has drained; no controller runs; the next one stops it\n"
    )
    assert meta_of(city, "a")[DRAINED] == before["a"]["run"]

    assert city.ok("undrain", "a", "b").startswith("a: ready\nb: ready\n")
    assert {DRAIN, DRAINED}.isdisjoint(meta_of(city, "a"))
    assert not memory_of(city, "a").drained


def test_a_drained_agent_stays_down_whatever_happens_to_the_controller(city: City) -> None:
    city.start()
    assert city.ok("drain", "a") == "a: draining (a person asked it to drain)\n"
    leave_agents_alone(city)
    city.ok("start", "--detach")
    city.wait_for("a", "draining")
    city.ok("drain-ack", "a")
    stopped = city.wait_for("a", "stopped")
    leave_agents_alone(city)
    city.ok("start", "--detach")
    city.wait_for("b", "ready")

    assert city.agents()["a"]["state"] == "stopped"
    assert stopped["reason"] == "drained with `gc drain`; `gc undrain` brings it back"
    assert city.ok("undrain", "a") == "a: starting (wanted by the city)\n"
    city.wait_until_up()


def test_a_wait_returns_when_all_are_down(make_city: MakeCity) -> None:
    city = make_city(HEAD.replace("[daemon]", '[daemon]\ndrain_timeout = "1s"') + SLEEPERS)
    city.start()
    before = city.pids()

    said = city.ok("drain", "a", "b", "--wait")

    assert [line.partition(" (")[0] for line in said.splitlines()] == ["a: stopped", "b: stopped"]
    assert not any(lives(before[name] or 0) for name in "ab")


def test_a_wait_that_is_too_long_ends_with_124(city: City) -> None:
    city.start()
    done = city.gc("drain", "a", "--wait", "--timeout", "1s")

    assert done.returncode == 124
    assert done.stderr.startswith("error: not down in time: a\nhint: they go on draining")
    assert city.agents()["a"]["state"] == "draining"


def test_a_drain_of_what_is_down_is_kept_and_printed(city: City) -> None:
    city.ok("start", "--detach")
    city.wait_until_up()
    city.ok("stop")

    found = json.loads(city.ok("drain", "a", "--json"))["agents"]

    assert [(one["name"], one["state"]) for one in found] == [("a", "stopped")]
    assert set(found[0]) == {"name", "state", "reason"}
    assert memory_of(city, "a").drained


def test_a_pool_by_its_name_means_all_its_members(make_city: MakeCity) -> None:
    city = make_city(
        HEAD + '[[agents]]\nname = "crew"\nstart_command = "sleep 1000"\n[agents.pool]\nmax = 2\n'
    )
    city.ok("drain", "crew")

    assert memory_of(city, "crew-1").drained
    assert memory_of(city, "crew-2").drained


def test_nobody_waits_for_a_drain_that_nobody_ends(city: City) -> None:
    done = city.gc("drain", "a", "--wait")

    assert done.returncode == 5
    assert done.stderr.startswith("error: no controller runs for this city, so nobody would stop")
    assert not (city.state / "city.db").exists()


def test_a_city_that_somebody_else_changes_is_waited_for_and_then_said(city: City) -> None:
    place = Place(str(city.folder))
    place.prepare()
    lock = CityLock(place.lock)
    lock.acquire()
    try:
        done = city.gc("drain", "a")
    finally:
        lock.release()

    assert done.returncode == 7
    assert done.stderr.startswith("error: ")


@pytest.mark.parametrize("command", ["reset", "drain", "undrain"])
def test_a_wrong_name_changes_nothing(inside: Inside, tmp_path: Path, command: str) -> None:
    (tmp_path / "city.toml").write_text(HEAD + SLEEPERS, "utf-8")
    done = inside("-C", str(tmp_path), command, "a", "nobody")

    assert done.returncode == 4
    assert done.stderr.startswith('error: there is no agent "nobody" in this city\n')
    assert not (tmp_path / ".gc").exists()


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--timeout", "5s"], "error: --timeout is how long to wait: it needs --wait\n"),
        (["--wait", "--timeout", "soon"], 'error: --timeout cannot be "soon": '),
        (["--wait", "--timeout", "0s"], "error: --timeout must be at least 1s"),
    ],
)
def test_a_time_limit_has_to_make_sense(
    inside: Inside, tmp_path: Path, words: list[str], says: str
) -> None:
    (tmp_path / "city.toml").write_text(HEAD + SLEEPERS, "utf-8")
    done = inside("-C", str(tmp_path), "drain", "a", *words)

    assert done.returncode == 2
    assert done.stderr.startswith(says)
