"""One city on two providers: what one of them does hurts nobody on the other."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping

import pytest
from tests.integration.controller.stage import CITY, Bench, agent, up

from gascity.core.actions import EventType
from gascity.core.model import AgentSpec
from gascity.core.observed import ProcessId, SessionState
from gascity.session.provider import CityContext
from gascity.testing.eventually import eventually
from gascity.testing.fake import FakeProvider, FakeWorld


class Far(FakeProvider):
    """Runs its sessions on another machine, and answers only while it is `awake`."""

    is_local = False

    def __init__(self, folder: str) -> None:
        super().__init__(CityContext("c", CITY, folder, {}), FakeWorld(), name="far")
        self.awake = threading.Event()
        self.awake.set()
        self.dozes = threading.Event()

    def observe(self, *, timeout: float) -> Mapping[str, SessionState]:
        while not self.awake.wait(0.01):
            self.dozes.set()
        return super().observe(timeout=timeout)


@pytest.fixture
def far(bench: Bench) -> Iterator[Far]:
    bench.far = far = Far(str(bench.folder))
    yield far
    far.awake.set()
    for release in far.world.slow.values():
        release.set()


def both() -> tuple[AgentSpec, AgentSpec]:
    return agent("near"), agent("there", provider="far")


def test_each_agent_lives_where_it_is_said_to(bench: Bench, far: Far) -> None:
    running = bench.run(*both())
    eventually(up(running, "near", "there"))

    assert set(bench.world.sessions) == {"gc-c-near"}
    assert set(far.world.sessions) == {"gc-c-there"}
    running.ask("stop")
    assert bench.world.sessions == {}
    assert far.world.sessions == {}


def test_one_that_does_not_answer_keeps_nobody_elsewhere_from_being_healed(
    bench: Bench, far: Far
) -> None:
    running = bench.run(*both())
    eventually(up(running, "near", "there"))
    far.awake.clear()
    eventually(far.dozes.is_set)
    bench.world.crash("gc-c-near", code=1)

    eventually(lambda: bench.world.starts.count("gc-c-near") == 2)
    eventually(up(running, "near"))
    running.ask("stop_agents", agents=["near"])
    assert bench.world.sessions == {}
    assert far.world.starts == ["gc-c-there"]


def test_one_that_is_lost_keeps_nobody_elsewhere_from_being_started(bench: Bench, far: Far) -> None:
    far.world.unreachable = "its address is not known"
    running = bench.run(*both())

    eventually(up(running, "near"))
    eventually(lambda: running.told(EventType.PROVIDER_LOST))
    assert running.states()["there"] == "unknown"
    far.world.unreachable = ""
    eventually(up(running, "there"))


def test_starts_that_wait_on_one_take_no_place_on_the_other(bench: Bench, far: Far) -> None:
    far.parallel = bench.make.parallel
    names = [f"w{number}" for number in range(far.parallel + 3)]
    for name in names:
        far.world.pending[f"gc-c-{name}"] = "no machine is free"
        far.world.slow[f"gc-c-{name}"] = threading.Event()
    running = bench.run(agent("near"), *(agent(name, provider="far") for name in names))

    eventually(up(running, "near"))
    eventually(lambda: len(far.world.tried) == far.parallel)
    bench.world.crash("gc-c-near", code=1)
    eventually(lambda: bench.world.starts.count("gc-c-near") == 2)
    eventually(up(running, "near"))


def test_a_city_on_two_ends_on_both_while_starts_wait(bench: Bench, far: Far) -> None:
    far.world.pending["gc-c-there"] = "no machine is free"
    far.world.slow["gc-c-there"] = threading.Event()
    running = bench.run(*both())
    eventually(up(running, "near"))
    eventually(lambda: running.states()["there"] == "pending")

    running.ask("stop")

    assert bench.world.sessions == {}
    assert far.world.sessions == {}


def test_what_runs_elsewhere_has_no_process_here(bench: Bench, far: Far) -> None:
    running = bench.run(*both())
    eventually(up(running, "near", "there"))
    agents = {one["name"]: one for one in running.ask("status")["agents"]}

    assert isinstance(far.world.sessions["gc-c-there"].process, ProcessId)
    assert agents["there"]["pid"] is None
    assert agents["near"]["pid"] is not None


def test_what_runs_elsewhere_has_no_environment_of_here(bench: Bench, far: Far) -> None:
    running = bench.run(*both())
    eventually(up(running, "near", "there"))

    assert "PATH" in bench.world.sessions["gc-c-near"].config.env
    there = far.world.sessions["gc-c-there"].config.env
    assert {key for key in there if not key.startswith("GC_")} == set()
