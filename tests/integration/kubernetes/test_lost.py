"""A session on a node that does not answer: a node that is only known by name."""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.cluster.where import IMAGE, kubeconfig, kubectl, small

from gascity.core.observed import Standing
from gascity.session.provider import CityContext
from gascity_kubernetes import Provider, names

pytestmark = [pytest.mark.kubernetes, pytest.mark.timeout(120)]

CITY, SESSION = "c0ffee", "gc-town-mayor"
RUNS = {"name": "agent", "image": IMAGE, "imageID": "", "ready": True, "restartCount": 0}
RUNS |= {"state": {"running": {"startedAt": "2026-01-01T00:00:00Z"}}}
SILENT = {"type": "Ready", "status": "False", "reason": ""}


@pytest.fixture
def place() -> Iterator[str]:
    """Make a namespace and a node that nobody keeps, both of that name."""
    name = f"lost-{uuid.uuid4().hex[:8]}"
    kubectl("create", "namespace", name)
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}}
    kubectl("create", "-f", "-", stdin=json.dumps({**node, "spec": {"unschedulable": True}}))
    yield name
    kubectl("-n", name, "delete", "pods", "--all", "--force", "--grace-period=0")
    kubectl("delete", "node", name)
    kubectl("delete", "namespace", name, "--wait=false")


@pytest.fixture
def provider(place: str, tmp_path: Path) -> Iterator[Provider]:
    settings = {**small(), "namespace": place, "kubeconfig": kubeconfig()}
    found = Provider(CityContext("town", CITY, str(tmp_path / ".gc"), settings))
    yield found
    found.close()


def strand(place: str) -> None:
    """Have the pod of a session that was started run on the node of which nobody hears."""
    pod = names.pod_name(CITY, SESSION)
    about = {
        "name": pod,
        "labels": {names.CITY_ID: CITY},
        "annotations": {names.SESSION: SESSION, names.CITY_ID: CITY, names.STAGED: "yes"},
    }
    spec = {"nodeName": place, "tolerations": [{"operator": "Exists"}]}
    spec |= {"containers": [{"name": "agent", "image": IMAGE}]}
    body = {"apiVersion": "v1", "kind": "Pod", "metadata": about, "spec": spec}
    kubectl("-n", place, "create", "-f", "-", stdin=json.dumps(body))
    status = {"phase": "Running", "conditions": [SILENT], "containerStatuses": [RUNS]}
    where = f"/api/v1/namespaces/{place}/pods/{pod}/status"
    now = json.loads(kubectl("get", "--raw", where))
    kubectl("replace", "--raw", where, "-f", "-", stdin=json.dumps({**now, "status": status}))


def test_a_session_whose_node_is_lost_can_be_given_up(place: str, provider: Provider) -> None:
    strand(place)
    seen = provider.observe(timeout=10)[SESSION]
    assert seen.standing is Standing.LOST

    began = time.monotonic()
    provider.stop(SESSION, grace=1, timeout=1 + provider.ending)

    assert provider.observe(timeout=10) == {}
    assert time.monotonic() - began > 1  # its node had time to end it in good order
