"""Pods that are made, taken away and asked to end, on a real cluster."""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from tests.cluster import where

from gascity.core.model import SessionConfig
from gascity.core.observed import SessionState
from gascity.errors import StartFailed, StartPending
from gascity.session.provider import CityContext
from gascity.testing.eventually import eventually
from gascity_kubernetes import Provider

pytestmark = [pytest.mark.kubernetes, pytest.mark.timeout(240)]

NAME = "gc-births-one"
DEAF = "trap '' TERM HUP; while :; do sleep 1; done"  # its node takes a while to end it
LIMIT = 60.0


class Place:
    """A namespace, which need not exist, and a provider that makes pods in it."""

    def __init__(self, folder: Path) -> None:
        self.namespace = f"gc-births-{uuid.uuid4().hex[:8]}"
        table = {**where.small(), "namespace": self.namespace, "kubeconfig": where.kubeconfig()}
        self.folder = folder / ".gc"
        self.folder.mkdir()
        self.provider = Provider(CityContext("births", "ab12", str(self.folder), table))

    def make(self) -> None:
        where.kubectl("create", "namespace", self.namespace)

    def start(self, command: str, run: str = "r1") -> None:
        config = SessionConfig(command, "/tmp", {}, meta={"GC_AGENT": "one", "GC_RUN": run})
        self.provider.start(NAME, config, timeout=LIMIT)

    def pods(self) -> list[str]:
        return where.kubectl("-n", self.namespace, "get", "pods", "-o", "name").split()

    def delete(self, *how: str) -> None:
        where.kubectl("-n", self.namespace, "delete", *self.pods(), *how)


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    made = Place(tmp_path)
    yield made
    made.provider.close()
    where.kubectl("delete", "namespace", made.namespace, "--ignore-not-found", "--wait=false")


def test_without_its_namespace_a_session_waits_and_the_doctor_says_so(place: Place) -> None:
    with pytest.raises(StartPending) as problem:
        place.start("exec sleep 1000")
    with pytest.raises(StartPending) as doctor:
        place.provider.about()

    assert problem.value.message == f'there is no namespace "{place.namespace}" in the cluster'
    assert doctor.value.message == problem.value.message


def test_asking_whether_a_pod_would_be_taken_makes_none(place: Place) -> None:
    place.make()

    said = place.provider.about()

    assert said.endswith(f"namespace {place.namespace}; it takes pods of {where.IMAGE}")
    assert place.pods() == []


def test_a_pod_that_would_be_refused_is_told_before_one_is_made(place: Place) -> None:
    place.make()
    limits = "apiVersion: v1\nkind: LimitRange\nmetadata: {name: small}\nspec:\n  limits:\n"
    limits += "  - {type: Container, max: {memory: 8Mi}, default: {memory: 8Mi}}\n"
    where.kubectl("-n", place.namespace, "apply", "-f", "-", stdin=limits)
    place.provider.settings = place.provider.settings.__class__.read(
        {**place.provider.context.settings, "memory_limit": "64Mi"}, {}
    )

    with pytest.raises(StartFailed, match="maximum memory usage per Container is 8Mi"):
        place.provider.about()


def test_a_pod_taken_away_is_told_with_the_reason_and_replaced_at_once(place: Place) -> None:
    place.make()
    ends: list[SessionState] = []

    def seen(sessions: Mapping[str, SessionState], at: float, *, whole: bool = True) -> None:
        assert not whole
        assert at <= time.monotonic()
        ends.extend(sessions.values())

    watch = place.provider.watch(lambda: None, seen=seen)
    try:
        place.start(DEAF)
        eventually(lambda: place.provider.observe(timeout=LIMIT), within=LIMIT)

        place.delete("--force", "--grace-period=0")
        eventually(lambda: ends, within=LIMIT)
        place.start("exec sleep 2000", run="r2")  # while the node still ends the old one
    finally:
        watch.close()

    assert [(one.name, one.run, str(one.life)) for one in ends] == [
        (NAME, "r1", "its pod was deleted")
    ]
    assert place.provider.observe(timeout=LIMIT)[NAME].run == "r2"
    assert len(place.pods()) == 1


def test_a_shell_that_ignores_sigterm_hears_that_it_is_to_end(place: Place) -> None:
    place.make()
    lives: list[str] = []
    watch = place.provider.watch(
        lambda: lives.extend(str(one.life) for one in place.provider.observe(timeout=5).values())
    )
    try:
        place.start("exec bash")
        place.delete("--grace-period=60")
        eventually(lambda: not place.provider.observe(timeout=LIMIT), within=LIMIT)
    finally:
        watch.close()

    assert "killed by signal 1: its pod was deleted" in lives
