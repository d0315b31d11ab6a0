"""A city with agents in a guest and one on this machine, under a real controller."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.cli.conftest import City
from tests.guests.daemon import Daemon

from gascity.testing.eventually import eventually

pytestmark = pytest.mark.tmux

TOWN = """\
[workspace]
name = "town"

[session]
provider = "subprocess"

[session.guest]
socket = "{socket}"

[daemon]
patrol_interval = "1s"
shutdown_timeout = "5s"
restart_delay = "100ms"

[[agents]]
name = "inside"
session = "guest"
start_command = '''{inside}'''

[[agents]]
name = "here"
start_command = "sleep 1000"
"""
READS = 'echo $$ >>pids; while read -r line; do echo "got $line"; done'
DRAINS = "echo $$ >>pids; until gc drain-check -q; do sleep 0.1; done; gc drain-ack; sleep 1000"


@pytest.fixture
def guest(tmp_path: Path) -> Iterator[Daemon]:
    made = Daemon(tmp_path)
    made.start()
    yield made
    made.stop()


@pytest.fixture
def town(guest: Daemon, tmp_path: Path) -> Iterator[City]:
    city = City(tmp_path / "town", TOWN.format(socket=guest.socket, inside=READS))
    yield city
    city.end()


def states(city: City) -> dict[str, str]:
    return {name: agent["state"] for name, agent in city.agents().items()}


def pids(city: City) -> list[int]:
    """Return the pids that the agent inside had, the newest last."""
    path = city.folder / "pids"
    return [int(pid) for pid in path.read_text().split()] if path.exists() else []


def test_agents_in_a_guest_and_here_live_in_one_city(town: City) -> None:
    town.start()

    eventually(lambda: pids(town))
    assert states(town) == {"inside": "ready", "here": "ready"}
    town.ok("nudge", "inside", "hello there")
    eventually(lambda: "got hello there" in town.ok("peek", "inside"))


def test_an_agent_that_is_killed_inside_is_started_again(town: City) -> None:
    town.start()
    eventually(lambda: len(pids(town)) == 1)

    os.kill(pids(town)[0], signal.SIGKILL)

    eventually(lambda: len(pids(town)) == 2, within=town.limit)
    town.wait_until_up()


def test_a_guest_that_does_not_answer_is_never_taken_for_dead(town: City, guest: Daemon) -> None:
    town.start()
    eventually(lambda: len(pids(town)) == 1)
    here = town.pids()["here"]
    began = {name: agent["since"] for name, agent in town.agents().items()}

    with guest.frozen():
        eventually(lambda: states(town)["inside"] == "unknown", within=town.limit, every=0.1)
        assert states(town)["here"] == "ready"

    town.wait_until_up()
    assert len(pids(town)) == 1
    assert town.pids()["here"] == here
    assert {name: agent["since"] for name, agent in town.agents().items()} == began


def test_a_daemon_that_is_started_anew_finds_its_agents_where_they_were(
    town: City, guest: Daemon
) -> None:
    town.start()
    eventually(lambda: len(pids(town)) == 1)

    guest.stop(signal.SIGKILL)
    eventually(lambda: states(town)["inside"] == "unknown", within=town.limit, every=0.1)
    guest.start()

    town.wait_until_up()
    assert len(pids(town)) == 1


def test_a_machine_that_is_started_anew_gets_its_agents_again(town: City, guest: Daemon) -> None:
    town.start()
    eventually(lambda: len(pids(town)) == 1)

    guest.stop(signal.SIGKILL)
    _end_the_tmux_of(pids(town)[0])
    guest.start()

    eventually(lambda: len(pids(town)) == 2, within=town.limit)
    town.wait_until_up()


def test_an_agent_in_a_guest_drains_by_the_gc_that_it_finds_there(
    guest: Daemon, tmp_path: Path
) -> None:
    city = City(tmp_path / "town", TOWN.format(socket=guest.socket, inside=DRAINS))
    try:
        city.start()
        eventually(lambda: pids(city))

        city.ok("drain", "inside")

        agent = eventually(lambda: _stopped(city), within=city.limit, every=0.1)
        assert agent
    finally:
        city.end()


def test_attaching_says_that_it_cannot_be_and_what_can(town: City) -> None:
    town.start()

    said = town.gc("attach", "inside")

    assert said.returncode != 0
    assert "no terminal to give" in said.stderr
    assert "tmux -S" in said.stderr


def test_a_check_up_tells_of_the_guest(town: City, guest: Daemon) -> None:
    assert "in the guest at" in town.gc("doctor").stdout

    with guest.frozen():
        said = town.gc("doctor")

    assert said.returncode != 0
    assert "no answer from the guest" in said.stdout + said.stderr


def test_a_guest_can_be_asked_from_its_city(town: City) -> None:
    assert json.loads(town.ok("guest", "call", "ping")) == {"pong": True}


def _stopped(city: City) -> bool:
    return states(city)["inside"] == "stopped"


def _end_the_tmux_of(pid: int) -> None:
    """Kill an agent with the tmux that it lives in, as the end of its machine would."""
    server = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    assert "tmux" in Path(f"/proc/{server}/comm").read_text()
    os.kill(server, signal.SIGKILL)
    os.kill(pid, signal.SIGKILL)
