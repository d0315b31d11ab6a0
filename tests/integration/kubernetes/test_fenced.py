"""A leader that sleeps in the middle of a change finds the fence closed in the pod, too."""

from __future__ import annotations

import contextlib
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.cluster.where import kubeconfig, kubectl, small

from gascity.core.model import SessionConfig
from gascity.core.observed import CITY_ID
from gascity.errors import NotLeading
from gascity.session.fence import put_fence
from gascity.session.provider import CityContext
from gascity_kubernetes import Provider

pytestmark = [pytest.mark.kubernetes, pytest.mark.timeout(120)]

SESSION = "gc-town-mayor"


class Gate:
    """Lets so many pass, and nobody after them."""

    passes = 10**6

    def __call__(self) -> None:
        self.passes -= 1
        if self.passes < 0:
            raise NotLeading("another leads")


@pytest.fixture
def namespace() -> Iterator[str]:
    name = f"fenced-{uuid.uuid4().hex[:8]}"
    kubectl("create", "namespace", name)
    yield name
    kubectl("delete", "namespace", name, "--wait=false")


def provider_of(namespace: str, folder: Path, gate: Gate) -> Provider:
    settings = {**small(), "namespace": namespace, "kubeconfig": kubeconfig()}
    found = Provider(CityContext("town", "c0ffee", str(folder / ".gc"), settings))
    put_fence(found, gate)
    return found


def test_what_was_begun_is_not_gone_on_with_once_another_leads(
    namespace: str, tmp_path: Path
) -> None:
    gate = Gate()
    leader, heir = (provider_of(namespace, tmp_path, one) for one in (gate, Gate()))
    config = SessionConfig("cat", "/tmp", meta={CITY_ID: "c0ffee"})
    leader.start(SESSION, config, timeout=60)
    (tmp_path / "note").write_text("from one who does not lead")

    for change in (
        lambda: leader.nudge(SESSION, "hello", timeout=10),
        lambda: leader.send_keys(SESSION, ["h", "Enter"], timeout=10),
        lambda: leader.copy_to(SESSION, str(tmp_path / "note"), "note", timeout=10),
    ):
        gate.passes = 1  # it led when the change was begun
        with contextlib.suppress(NotLeading):
            change()

    assert heir.peek(SESSION, 10, timeout=10).strip() == ""
    pod = kubectl("-n", namespace, "get", "pods", "-o", "name").strip()
    assert "note" not in kubectl("-n", namespace, "exec", pod, "--", "ls", "/tmp").split()
    heir.stop(SESSION, grace=0, timeout=60)
    leader.close()
    heir.close()
