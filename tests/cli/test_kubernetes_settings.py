"""The settings of pods: what changes with them, and the secrets that they bring."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path

import pytest
from tests.cli.conftest import MakePodCity
from tests.cli.pod_city import Namespace, PodCity, sleepers
from tests.cluster.line import Line
from tests.living import lives

from gascity.testing.eventually import eventually

pytestmark = [pytest.mark.kubernetes, pytest.mark.timeout(300)]

SECRET, OTHER = "sk-not-to-be-seen-4711", "pw-not-to-be-seen-0815"


@pytest.mark.git
def test_the_doctor_asks_the_cluster(
    line: Line, make_pod_city: MakePodCity, tmp_path: Path
) -> None:
    city = make_pod_city(sleepers("a"), kubeconfig=line.write_config(tmp_path / "kubeconfig"))
    healthy = city.ok("doctor")
    with line.cut():
        silent = city.gc("doctor")
    city.change(namespace="gc-no-such")
    homeless = city.gc("doctor")
    city.change(namespace=city.namespace.name)

    assert "ok    provider kubernetes: Kubernetes v1." in healthy
    assert f"namespace {city.namespace.name}" in healthy
    assert silent.returncode == homeless.returncode == 3
    assert "FAIL  provider kubernetes: the Kubernetes API at" in silent.stdout
    assert 'FAIL  provider kubernetes: there is no namespace "gc-no-such" in' in homeless.stdout
    assert "`kubectl create namespace gc-no-such` makes it" in homeless.stdout


def test_pods_made_by_other_settings_are_replaced(make_pod_city: MakePodCity) -> None:
    city = make_pod_city(sleepers("a", "b"))
    city.start()
    before = city.uids()

    city.change(cpu_request="2m", node_selector={"kubernetes.io/os": "linux"})

    eventually(lambda: not set(city.uids().values()) & set(before.values()), city.limit, 0.2)
    city.wait_until_up()
    for pod in city.pods().values():
        assert pod["spec"]["containers"][0]["resources"]["requests"]["cpu"] == "2m"
        assert pod["spec"]["nodeSelector"] == {"kubernetes.io/os": "linux"}
    assert city.events("agent.drifted", "a") == [
        "its configuration changed (extra.kubernetes.cpu_request; extra.kubernetes.node_selector)"
    ]
    assert {one["restarts"] for one in city.agents().values()} == {0}
    assert len(city.namespace.pods()) == 2


def test_diff_and_why_tell_which_setting_changed(make_pod_city: MakePodCity) -> None:
    city = make_pod_city(sleepers("a"))
    controller = city.start()
    os.kill(controller, signal.SIGKILL)
    eventually(lambda: not lives(controller))

    city.change(image="localhost/agent:2")
    done = city.gc("diff")

    assert done.returncode == 1
    assert done.stdout == (
        "a: drifted; no controller runs; under the next one it is restarted\n"
        "  extra.kubernetes.image\n    - localhost/agent:1\n    + localhost/agent:2\n"
    )
    assert "(extra.kubernetes.image)" in city.gc("why", "a").stdout
    city.change(image="localhost/agent:1")
    assert city.ok("diff") == "a: same\n"


@pytest.fixture
def trusted(make_pod_city: MakePodCity, namespace: Namespace) -> PodCity:
    """Return a running city whose agents are given secrets."""
    for name, value in (("keys", SECRET), ("more", OTHER)):
        namespace.kubectl("create", "secret", "generic", name, f"--from-literal=API_KEY={value}")
    prints = (
        '[[agents]]\nname = "a"\n'
        """start_command = 'test "$MY_KEY $MORE_API_KEY" = "$(cat /tmp/both)"; sleep 1000'\n"""
    )
    city = make_pod_city(
        prints,
        secret_env={"MY_KEY": "keys/API_KEY"},
        env_from=[{"secret": "more", "prefix": "MORE_"}],
    )
    city.start()
    return city


def test_secrets_reach_the_agent_and_nobody_else(trusted: PodCity) -> None:
    city = trusted
    agent = "$(until pgrep -of '^sleep 1000'; do sleep 0.1; done)"
    given = city.inside("a", f"tr '\\0' '\\n' </proc/{agent}/environ")
    assert f"MY_KEY={SECRET}\n" in given
    assert f"MORE_API_KEY={OTHER}\n" in given
    city.ok("restart", "a")
    city.wait_until_up()

    told = [
        city.gc(*words).stdout
        for words in (
            ("status", "--json"),
            ("why", "a"),
            ("config", "show"),
            ("config", "show", "--resolved"),
            ("diff", "a"),
            ("events", "--json"),
            ("peek", "a"),
            ("runs", "--json"),
            ("explain", "a"),
        )
    ]
    pod = city.namespace.kubectl("get", "pods", "-o", "yaml")
    written = b"".join(path.read_bytes() for path in city.folder.rglob("*") if path.is_file())
    words = subprocess.run(
        ["ps", "-e", "-ww", "-o", "args"], capture_output=True, text=True, check=True
    )
    assert all(told)
    for secret in (SECRET, OTHER):
        assert secret not in "".join(told)
        assert secret not in pod
        assert secret.encode() not in written
        assert secret not in words.stdout
