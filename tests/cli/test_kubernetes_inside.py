"""What an agent in a pod says and asks of itself, and a person at a terminal who looks in."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.cli.conftest import MakePodCity
from tests.cli.pod_city import READER, PodCity, sleepers
from tests.cli.test_terminal import Terminal

from gascity.testing.eventually import eventually

pytestmark = [pytest.mark.kubernetes, pytest.mark.timeout(300)]

# Does what it is told, as an agent that has a shell.
SHELL = '[[agents]]\nname = "{name}"\nstart_command = "PS1=\'$ \' sh -i"\n'
ACCOUNT = "/var/run/secrets/kubernetes.io"


@pytest.fixture
def city(make_pod_city: MakePodCity) -> PodCity:
    city = make_pod_city(SHELL.format(name="worker") + sleepers("other"))
    city.start()
    return city


def does(city: PodCity, line: str, said: str) -> None:
    """Have the worker do a line, and wait until it said something."""
    city.ok("nudge", "worker", line, "--raw")
    eventually(lambda: said in city.ok("peek", "worker"), within=city.limit, every=0.2)


def test_an_agent_drains_from_inside_without_any_credentials(city: PodCity) -> None:
    does(city, f"ls {ACCOUNT}; env | grep -c KUBECONFIG; gc drain-check; echo calm $?", "calm 1")
    assert f"cannot access '{ACCOUNT}'" in city.ok("peek", "worker")
    before = city.uids()

    city.ok("drain", "worker")
    does(city, "clear; gc drain-check; echo told $?", "told 0")
    assert city.agents()["worker"]["state"] == "draining"
    city.ok("nudge", "worker", "gc drain-ack", "--raw")

    city.wait_for("worker", "stopped")
    eventually(lambda: city.uids() == {"other": before["other"]}, within=city.limit, every=0.2)
    assert city.events("session.crashed") == []


def test_a_drain_that_is_taken_back_is_no_longer_told_inside(city: PodCity) -> None:
    city.ok("drain", "worker")
    does(city, "gc drain-check; echo told $?", "told 0")

    city.ok("undrain", "worker")

    does(city, "clear; gc drain-check; echo again $?", "again 1")
    does(city, "clear; gc drain-ack; echo ack $?", "ack 1")
    assert "was not asked to drain" in city.ok("peek", "worker")


def test_an_agent_that_asks_for_it_gets_a_new_pod(city: PodCity) -> None:
    before = city.uids()

    city.ok("nudge", "worker", "gc request-restart", "--raw")

    city.replaced("worker", before)
    assert city.events("session.crashed") == []
    assert city.agents()["worker"]["requests"] == 1


@pytest.fixture
def terminal(tmp_path: Path, make_pod_city: MakePodCity) -> Iterator[tuple[PodCity, Terminal]]:
    city = make_pod_city(READER.format(name="reader"))
    city.start()
    made = Terminal(city.folder)
    yield city, made
    made.close()


@pytest.mark.tmux
def test_a_person_attaches_types_detaches_and_the_agent_goes_on(
    terminal: tuple[PodCity, Terminal],
) -> None:
    city, person = terminal
    before = city.uids()

    person.run("clear; gc attach reader")
    eventually(lambda: city.agents()["reader"]["attached"] == 1, city.limit, 0.2)
    person.run("good evening")
    city.heard("reader", "good evening")
    person.shows("* good evening")
    assert size(city) == (140, 39)
    person._tmux("resize-window", "-x", "100", "-y", "30")
    eventually(lambda: size(city) == (100, 29), within=city.limit, every=0.2)
    person.leave()

    eventually(lambda: city.agents()["reader"]["attached"] == 0, city.limit, 0.2)
    city.ok("nudge", "reader", "good night")
    city.heard("reader", "good evening", "good night")
    assert city.uids() == before


def size(city: PodCity) -> tuple[int, int]:
    """Return the columns and rows that the agent has."""
    said = city.inside(
        "reader", "tmux -S /run/gascity/tmux display -p '#{pane_width} #{pane_height}'"
    )
    columns, rows = said.split()
    return int(columns), int(rows)
