"""A real cluster at the end of a line that is cut, or on which everything stops."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.cluster.line import Line
from tests.integration.kubernetes.conftest import HASTE, LIMIT, PATIENT

from gascity.testing.eventually import eventually
from gascity_kubernetes.api import Api
from gascity_kubernetes.pods import Pods
from gascity_kubernetes.problems import Absent, ApiSilent
from gascity_kubernetes.settings import Settings

pytestmark = pytest.mark.kubernetes


@pytest.fixture
def line() -> Iterator[Line]:
    line = Line()
    yield line
    line.close()


@pytest.fixture
def far(line: Line, tmp_path: Path) -> Iterator[Api]:
    """Return the cluster's API, at the other end of the line."""
    config = line.write_config(tmp_path / "kubeconfig", by_name=True)
    api = Api(Settings.read({"kubeconfig": config, "namespace": "default"}, {}))
    yield api
    api.close()


@pytest.fixture
def pods(far: Api) -> Iterator[Pods]:
    pods = Pods(lambda: far, "gascity.dev/test=nobody", patience=PATIENT)
    pods.follow()
    assert not is_lost(pods)
    yield pods
    pods.close()


def is_lost(pods: Pods) -> bool:
    try:
        pods.all(deadline=time.monotonic() + LIMIT)
    except ApiSilent:
        return True
    return False


def test_a_line_on_which_everything_stops_is_noticed(line: Line, far: Api) -> None:
    pods = Pods(lambda: far, "gascity.dev/test=nobody", patience=HASTE)
    pods.follow()
    eventually(lambda: not is_lost(pods), within=LIMIT)

    with line.frozen():
        eventually(lambda: is_lost(pods), within=LIMIT)
    eventually(lambda: not is_lost(pods), within=LIMIT)

    pods.close()


def test_a_line_that_is_cut_is_taken_up_again_without_a_list(
    line: Line, far: Api, pods: Pods
) -> None:
    watches = far.requests["watch"]

    line.drop()

    eventually(lambda: far.requests["watch"] > watches, within=LIMIT)
    assert not is_lost(pods)
    assert far.requests["list"] == 1


def test_a_server_may_have_another_name_than_its_address(far: Api) -> None:
    with pytest.raises(Absent, match=r'pods "nobody" not found'):
        far.open_stream("nobody", "agent", ["true"], stdin=False, timeout=LIMIT)
