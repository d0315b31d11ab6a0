"""Sessions in pods of many kinds, on a real cluster: what a pod template may make of them."""

from __future__ import annotations

import inspect
import json
import time
import uuid
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
import yaml
from tests.cluster import where

from gascity.core.model import SessionConfig, StartupHints
from gascity.core.observed import Exited, SessionState, Standing
from gascity.errors import NotLeading, ProviderError, StartFailed
from gascity.session.provider import CityContext
from gascity.testing.eventually import eventually
from gascity_kubernetes import Provider, entry, names

pytestmark = [pytest.mark.kubernetes, pytest.mark.timeout(300)]

LIMIT = 90.0
NAME = "one"
TMUX = ("tmux", "-S", entry.SOCKET)
SIDECAR = {
    "name": "beside",
    "image": where.IMAGE,
    "imagePullPolicy": "IfNotPresent",
    "command": ["sh", "-c", "trap 'echo asked to end; exit' TERM; while :; do sleep 1; done"],
}


class House:
    """One session of a city, in pods that are made by a template."""

    def __init__(self, namespace: str, folder: Path) -> None:
        self._namespace = namespace
        self._folder = folder
        self._id = uuid.uuid4().hex
        self._provider: Provider | None = None
        self._may_delete = True

    def provider(self, **spec: object) -> Provider:
        """Return the provider, for pods with this in their template."""
        template = self._folder / "pod.yaml"
        template.write_text(yaml.safe_dump({"spec": spec}))
        settings = {
            **where.small(),
            "namespace": self._namespace,
            "kubeconfig": where.kubeconfig(),
            "pod_template": str(template),
        }
        city = CityContext("house", self._id, str(self._folder), settings, fence=self._fence)
        self._provider = Provider(city)
        return self._provider

    def refuse_to_delete(self) -> None:
        """Let every change through but the end of a pod."""
        self._may_delete = False

    def start(
        self,
        command: str,
        hints: StartupHints | None = None,
        env: Mapping[str, str] | None = None,
        **spec: object,
    ) -> Provider:
        provider = self.provider(**spec)
        folder = str(self._folder.parent / "yard")
        config = SessionConfig(command, folder, env or {}, hints or StartupHints())
        provider.start(NAME, config, timeout=LIMIT)
        return provider

    def inside(self, *words: str, check: bool = True) -> str:
        """Return what a program says in the agent's container."""
        return self._kubectl("exec", self._pod, "-c", "agent", "--", *words, check=check)

    def log(self, container: str) -> str:
        return self._kubectl("logs", self._pod, "-c", container)

    def copy_pod(self) -> None:
        """Make a second pod like the session's, as a person who looks for a fault does."""
        pod = json.loads(self._kubectl("get", "pod", self._pod, "-o", "json"))
        pod["metadata"] = {
            "name": f"zz-{self._pod}"[:60],
            "labels": pod["metadata"]["labels"],
            "annotations": pod["metadata"]["annotations"],
        }
        pod["spec"]["containers"][0]["command"] = ["true"]
        where.kubectl("-n", self._namespace, "apply", "-f", "-", stdin=json.dumps(pod))

    def _fence(self) -> None:
        asked = {frame.function for frame in inspect.stack(0)}
        if not self._may_delete and "_delete" in asked:
            raise NotLeading("another leads")

    def close(self) -> None:
        self._may_delete = True
        if self._provider is not None:
            self._provider.stop(NAME, grace=0.0, timeout=LIMIT)
            self._provider.close()

    @property
    def _pod(self) -> str:
        return names.pod_name(self._id, NAME)

    def _kubectl(self, *words: str, check: bool = True) -> str:
        return where.kubectl("-n", self._namespace, *words, check=check)


@pytest.fixture(scope="module")
def namespace() -> Iterator[str]:
    name = f"gc-sessions-{uuid.uuid4().hex[:8]}"
    where.kubectl("create", "namespace", name)
    yield name
    where.kubectl("delete", "namespace", name, "--wait=false")


@pytest.fixture
def house(namespace: str, tmp_path: Path) -> Iterator[House]:
    folder = tmp_path / "city" / ".gc"
    folder.mkdir(parents=True)
    house = House(namespace, folder)
    yield house
    house.close()


def seen(provider: Provider) -> SessionState:
    return provider.observe(timeout=LIMIT)[NAME]


def ended(provider: Provider) -> Exited:
    eventually(lambda: isinstance(seen(provider).life, Exited))
    life = seen(provider).life
    assert isinstance(life, Exited)
    return life


@pytest.mark.parametrize("what", ["kill-pane", "kill-window", "kill-session"])
def test_a_person_who_closes_the_agents_terminal_ends_the_pod(house: House, what: str) -> None:
    provider = house.start("sleep 600")

    house.inside(*TMUX, what)

    assert ended(provider).reason == "its terminal was closed"


def test_an_agent_that_ends_where_processes_are_shared_ends_its_container(house: House) -> None:
    provider = house.start("sleep 1; exit 3", shareProcessNamespace=True, containers=[SIDECAR])

    assert ended(provider).code == 3


def test_the_end_of_an_agent_is_no_end_of_what_runs_beside_it(house: House) -> None:
    provider = house.start("sleep 600", shareProcessNamespace=True, containers=[SIDECAR])
    house.inside("sh", "-c", "kill -TERM $(pgrep -of 'umask 077')", check=False)

    end = ended(provider)
    assert (end.signal, end.code) in ((15, None), (None, 143))  # whoever is heard first
    assert house.log("beside") == ""


def test_an_agent_is_not_dead_because_the_way_to_it_broke(house: House) -> None:
    provider = house.start("exec sleep 600")
    assert provider.process_alive(NAME, ["sleep"], timeout=LIMIT)

    house.inside("sh", "-c", "kill -KILL $(pgrep -xf /bin/sh)")

    assert provider.process_alive(NAME, ["sleep"], timeout=LIMIT)


def test_a_start_that_failed_tells_why_though_its_pod_stays(house: House) -> None:
    house.refuse_to_delete()

    with pytest.raises(StartFailed, match=r"session_setup.*not for you.*another leads"):
        house.start("sleep 600", StartupHints(session_setup=("echo not for you; exit 4",)))


def test_a_pod_that_is_slow_to_begin_is_waited_for(house: House, tmp_path: Path) -> None:
    slow = tmp_path / "slow" / "tmux"
    slow.parent.mkdir()
    slow.write_text('#!/bin/sh\nsleep 1\nexec /usr/bin/tmux "$@"\n')
    slow.chmod(0o755)
    agent = {
        "name": "agent",
        "env": [{"name": "PATH", "value": "/slow:/usr/bin:/bin"}],
        "volumeMounts": [{"name": "slow", "mountPath": "/slow"}],
    }
    volume = {"name": "slow", "hostPath": {"path": str(slow.parent)}}

    provider = house.start("sleep 600", containers=[agent], volumes=[volume])

    assert provider.is_running(NAME, timeout=LIMIT)


NOBODY = {"runAsUser": 1000, "runAsGroup": 1000, "runAsNonRoot": True}


def test_a_folder_that_is_read_only_reaches_a_pod_that_is_not_root(
    house: House, tmp_path: Path
) -> None:
    kept = tmp_path / "overlay" / "kept"
    kept.mkdir(parents=True)
    (kept / "note").write_text("hello")
    kept.chmod(0o555)
    hints = StartupHints(overlay_dir=str(kept.parent))

    house.start("sleep 600", hints, securityContext=NOBODY)

    assert house.inside("cat", "/workspace/yard/kept/note") == "hello"


def test_a_copy_that_breaks_off_tells_what_the_pod_said(house: House, tmp_path: Path) -> None:
    provider = house.start("sleep 600", securityContext=NOBODY)
    house.inside("chmod", "555", "/workspace/yard")
    large = tmp_path / "large"
    large.write_bytes(bytes(30_000_000))

    with pytest.raises(ProviderError, match=r"(?i)permission denied"):
        provider.copy_to(NAME, str(large), "", timeout=LIMIT)


def test_a_bash_for_a_shell_and_a_root_that_is_read_only(house: House, tmp_path: Path) -> None:
    shell = tmp_path / "sh"
    shell.write_text('#!/bin/bash\nexec /bin/bash --posix "$@"\n')
    shell.chmod(0o755)
    agent = {
        "name": "agent",
        "securityContext": {"readOnlyRootFilesystem": True},
        "volumeMounts": [{"name": "sh", "mountPath": "/bin/sh"}],
    }
    volume = {"name": "sh", "hostPath": {"path": str(shell), "type": "File"}}
    long = {"LONG": "x" * 100_000}

    provider = house.start(
        "echo ${#LONG}; sleep 600", None, long, containers=[agent], volumes=[volume]
    )

    assert eventually(lambda: provider.peek(NAME, 5, timeout=LIMIT)) == "100000"


def test_a_shell_that_hangs_is_replaced_while_there_is_time_to_look(house: House) -> None:
    provider = house.start("echo here; sleep 600")
    assert eventually(lambda: provider.peek(NAME, 5, timeout=LIMIT)) == "here"

    house.inside("sh", "-c", "kill -STOP $(pgrep -xf /bin/sh)")

    assert provider.peek(NAME, 5, timeout=LIMIT) == "here"


def test_what_is_meant_for_a_pod_that_was_replaced_changes_nothing(house: House) -> None:
    provider = house.start("sleep 600")
    births = provider._cluster.births
    found = births.pod_of(NAME, time.monotonic() + LIMIT)
    assert found is not None
    other = {"metadata": {**found["metadata"], "uid": str(uuid.uuid4())}}

    assert births.patch(other, {"meta.gascity.dev/KEY": "value"}, timeout=LIMIT) is None
    assert provider.get_meta(NAME, "KEY", timeout=LIMIT) is None


def test_a_copy_of_a_pod_is_no_session(house: House) -> None:
    provider = house.start("sleep 600")

    house.copy_pod()

    assert list(provider.observe(timeout=LIMIT)) == [NAME]
    assert seen(provider).standing is Standing.UP
    assert provider.list_running("", timeout=LIMIT) == [NAME]
