"""A cluster that cannot be reached for a while: its agents are left alone, all others are not.

A test asks for the way to the cluster before it asks for a city, so that the city ends first.
"""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.cli.conftest import MakePodCity
from tests.cli.pod_city import READER, PodCity, sleepers
from tests.cluster.line import Line
from tests.cluster.server import ApiServer, words_of_the_running_one

from gascity.core.silence import PATIENCE
from gascity.testing.eventually import eventually

pytestmark = [pytest.mark.kubernetes, pytest.mark.timeout(400)]


@pytest.fixture
def server(tmp_path: Path) -> Iterator[ApiServer]:
    words = words_of_the_running_one()
    if not words:
        pytest.skip("the cluster's API server does not run on this machine, so no other can")
    server = ApiServer(words, tmp_path / "apiserver.log")
    try:
        server.start()
        yield server
    finally:
        server.kill()


@pytest.mark.tmux
@pytest.mark.parametrize("other", ["tmux", "subprocess"])
def test_a_line_that_is_cut_makes_only_the_pods_unknown(
    line: Line, make_pod_city: MakePodCity, tmp_path: Path, other: str
) -> None:
    near = '[[agents]]\nname = "near"\nstart_command = "exec sleep 1000"\n'
    far = f'{sleepers("far")}session = "kubernetes"\n'
    config = line.write_config(tmp_path / "kubeconfig")
    city = make_pod_city(near + far, provider=other, kubeconfig=config)
    city.start()
    pods, pids = city.uids(), city.pids()
    assert set(pods) == {"far"}
    assert pids["near"]
    assert pids["far"] is None

    with line.cut():
        stands = city.wait_for("far", "unknown")
        assert stands["reason"].startswith("kubernetes does not answer: ")
        os.kill(pids["near"], signal.SIGKILL)
        eventually(lambda: city.agents()["near"]["restarts"] == 1, city.limit, 0.1)
        city.wait_for("near", "ready")
        assert city.agents()["far"]["state"] == "unknown"
        assert city.gc("nudge", "far", "hello", "--no-wait").returncode != 0

    now = city.wait_until_up()
    assert now["near"] not in (None, pids["near"])
    assert city.uids() == pods
    assert city.agents()["far"]["restarts"] == 0


def test_an_api_server_that_is_gone_for_half_a_minute_costs_nothing(
    server: ApiServer, make_pod_city: MakePodCity, tmp_path: Path
) -> None:
    agents = sleepers("a", "mortal") + READER.format(name="reader")
    config = server.write_config(tmp_path / "kubeconfig")
    city = make_pod_city(agents, kubeconfig=config)
    city.start()
    before, started = city.uids(), city.events("session.started")
    assert city.gc("health").returncode == 0

    began = time.monotonic()
    with server.killed():
        city.wait_for("reader", "unknown")
        assert city.ok("nudge", "reader", "after the storm", "--queue").startswith("reader: queued")
        assert city.gc("health").returncode == 1
        city.inside("mortal", "kill $(pgrep -f '^sleep 1000')")
        (alert,) = eventually(lambda: alerts(city), within=city.limit, every=0.5)
        assert time.monotonic() - began >= PATIENCE
        assert f"kubernetes has not answered for {PATIENCE:g} s" in alert
        assert "its agents are left alone" in alert
        assert city.events("session.started") == started

    city.heard("reader", "after the storm")
    city.replaced("mortal", before)
    eventually(lambda: all_is_well(city), within=city.limit, every=0.2)
    restarts = {name: one["restarts"] for name, one in city.agents().items()}
    assert restarts == {"a": 0, "reader": 0, "mortal": 1}
    assert len(city.events("session.started")) == len(started) + 1
    assert len(city.events("provider.lost")) == len(city.events("provider.back")) == 1
    assert city.gc("health").returncode == 0


def all_is_well(city: PodCity) -> bool:
    assert alerts(city) == []
    return True


def alerts(city: PodCity) -> list[str]:
    return [one["text"] for one in json.loads(city.ok("alerts", "--json"))["alerts"]]
