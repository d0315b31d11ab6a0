"""The last words of a pod whose node does not answer any more."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.integration.kubernetes.conftest import LIMIT, Double, kubeconfig, refusal

from gascity.session.provider import CityContext
from gascity_kubernetes import cluster as module
from gascity_kubernetes.cluster import Cluster

POD = {
    "metadata": {"name": "one", "uid": "uid-one"},
    "status": {
        "phase": "Failed",
        "containerStatuses": [
            {"name": "agent", "state": {"terminated": {"message": "gc: exited 1\nhow it went"}}}
        ],
    },
}


@pytest.fixture
def cluster(double: Double, tmp_path: Path) -> Iterator[Cluster]:
    settings = kubeconfig(tmp_path / "kubeconfig", double.url)
    cluster = Cluster(CityContext("city", "id", str(tmp_path), {}), settings)
    yield cluster
    cluster.close()


def soon() -> float:
    return time.monotonic() + LIMIT


def test_a_node_that_is_no_more_does_not_hide_how_an_agent_ended(
    double: Double, cluster: Cluster
) -> None:
    double.answers.append(refusal(500, "InternalError", "dial tcp: no route to host"))

    assert cluster.log(POD, soon()) == "how it went"


def test_a_node_that_says_nothing_does_not_keep_a_start_waiting(
    double: Double, cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "NODE", 0.2)
    double.freeze()
    began = time.monotonic()

    assert cluster.log(POD, soon()) == "how it went"
    assert time.monotonic() - began < LIMIT / 2
