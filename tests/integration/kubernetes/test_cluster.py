"""Requests, the watch and streams on a real cluster."""

from __future__ import annotations

import os
import threading
import time
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.cluster import where
from tests.integration.kubernetes.conftest import LIMIT

from gascity.testing.eventually import eventually
from gascity_kubernetes.api import Api
from gascity_kubernetes.pods import Pod, Pods
from gascity_kubernetes.problems import Absent, ApiRefused, ApiSilent, Taken
from gascity_kubernetes.settings import Settings
from gascity_kubernetes.streams import Stream

pytestmark = pytest.mark.kubernetes

LABEL = "gascity.dev/test"


def soon() -> float:
    return time.monotonic() + 60.0


def is_running(pod: Pod | None) -> bool:
    return pod is not None and pod["status"].get("phase") == "Running"


@pytest.fixture(scope="module")
def cluster() -> Iterator[Api]:
    """Make a namespace, and delete it with all that is in it."""
    name = f"gc-test-{uuid.uuid4().hex[:8]}"
    api = Api(Settings.read({"namespace": name, "kubeconfig": where.kubeconfig()}, {}))
    made = {"metadata": {"name": name}}
    api.request("POST", "/api/v1/namespaces", body=made, timeout=LIMIT)
    yield api
    api.request("DELETE", f"/api/v1/namespaces/{name}", timeout=LIMIT)
    api.close()


@pytest.fixture(scope="module")
def pods(cluster: Api) -> Iterator[Pods]:
    pods = Pods(lambda: cluster, LABEL)
    pods.follow()
    yield pods
    pods.close()


@pytest.fixture(scope="module")
def pod(cluster: Api, pods: Pods) -> str:
    """Return the name of a pod that runs."""
    pods.put(cluster.request("POST", cluster.pod_path(), body=sleeper("one"), timeout=LIMIT))
    pods.until("one", is_running, deadline=soon())
    return "one"


def sleeper(name: str) -> dict[str, Any]:
    return {
        "metadata": {"name": name, "labels": {LABEL: "yes"}},
        "spec": {
            "restartPolicy": "Never",
            "terminationGracePeriodSeconds": 0,
            "automountServiceAccountToken": False,
            "tolerations": [{"operator": "Exists"}],
            "containers": [
                {
                    "name": "agent",
                    "image": where.IMAGE,
                    "imagePullPolicy": "IfNotPresent",
                    "command": ["sleep", "600"],
                }
            ],
        },
    }


def run(api: Api, pod: str, *argv: str) -> Stream:
    return api.open_stream(pod, "agent", argv, stdin=True, timeout=LIMIT)


def facts(pods: Pods, name: str) -> object:
    """Return what both a list and a watch tell of a pod."""
    pod = pods.get(name, deadline=soon())
    return pod and [pod["metadata"], pod["spec"], pod["status"]]


def output(stream: Stream) -> list[tuple[int, bytes]]:
    found = []
    while (piece := stream.read(LIMIT)) is not None:
        found.append(piece)
    return found


def test_the_watch_tells_of_a_pod_from_its_beginning_to_its_end(cluster: Api, pods: Pods) -> None:
    before = cluster.requests["list"]
    made = cluster.request("POST", cluster.pod_path(), body=sleeper("two"), timeout=LIMIT)
    pods.put(made)
    seen_at_once = pods.get("two", deadline=soon())

    pods.until("two", is_running, deadline=soon())
    path = cluster.pod_path("two")
    pods.put(cluster.request("DELETE", path, timeout=LIMIT))
    ending = pods.get("two", deadline=soon())
    pods.until("two", lambda pod: pod is None, deadline=soon())

    assert seen_at_once is not None
    assert ending is None or "deletionTimestamp" in ending["metadata"]
    assert cluster.requests["list"] == max(before, 1)


def test_an_annotation_is_known_at_once(cluster: Api, pods: Pods, pod: str) -> None:
    body = {"metadata": {"annotations": {"meta.gascity.dev/KEY": "a\n=ü"}}}
    kind = "application/merge-patch+json"
    path = cluster.pod_path(pod)
    pods.put(cluster.request("PATCH", path, body=body, content_type=kind, timeout=LIMIT))

    found = pods.get(pod, deadline=soon())

    assert found is not None
    assert found["metadata"]["annotations"]["meta.gascity.dev/KEY"] == "a\n=ü"


def test_a_list_says_the_same_as_the_watch(cluster: Api, pods: Pods, pod: str) -> None:
    asked = Pods(lambda: cluster, LABEL)

    assert pod in asked.all(deadline=soon())
    eventually(lambda: facts(asked, pod) == facts(pods, pod), within=LIMIT)
    assert asked.get("nobody", deadline=soon()) is None


def test_a_name_that_is_taken(cluster: Api, pod: str) -> None:
    with pytest.raises(Taken, match=r'pods "one" already exists') as problem:
        cluster.request("POST", cluster.pod_path(), body=sleeper(pod), timeout=LIMIT)

    assert problem.value.reason == "AlreadyExists"


def test_a_pod_that_makes_no_sense(cluster: Api) -> None:
    body = sleeper("No")

    with pytest.raises(ApiRefused, match=r"Invalid value") as problem:
        cluster.request("POST", cluster.pod_path(), body=body, timeout=LIMIT)

    assert problem.value.status == 422


def test_what_a_program_says_and_how_it_ends(cluster: Api, pod: str) -> None:
    stream = run(cluster, pod, "sh", "-c", "echo out; echo err >&2; exit 3")

    said = output(stream)

    assert sorted(said) == [(1, b"out\n"), (2, b"err\n")]
    assert stream.status == 3
    stream.close()


def test_a_program_that_is_not_there_has_a_reason(cluster: Api, pod: str) -> None:
    stream = run(cluster, pod, "no-such-program")

    said = b"".join(data for _, data in output(stream)).decode() + stream.failure

    assert stream.status != 0
    assert "no-such-program" in said
    stream.close()


def test_five_megabytes_come_back_through_cat(cluster: Api, pod: str) -> None:
    stream = run(cluster, pod, "cat")
    data = os.urandom(5_000_000)
    got = bytearray()

    def read() -> None:
        while len(got) < len(data) and (piece := stream.read(60.0)) is not None:
            got.extend(piece[1])

    reader = threading.Thread(target=read)
    reader.start()
    stream.write(data)
    reader.join(60.0)

    assert bytes(got) == data
    stream.close()


def test_a_shell_is_talked_to_for_as_long_as_one_likes(cluster: Api, pod: str) -> None:
    stream = run(cluster, pod, "sh")

    for word in (b"one", b"two", b"three"):
        stream.write(b"echo " + word + b"\n")
        assert stream.read(LIMIT) == (1, word + b"\n")
    stream.write(b"exit 7\n")

    assert stream.read(LIMIT) is None
    assert stream.status == 7
    stream.close()


def test_a_terminal_has_the_size_it_is_told(cluster: Api, pod: str) -> None:
    waits = 'until [ "$(stty size)" = "31 101" ]; do sleep 0.05; done; echo it has'
    argv = ["sh", "-c", waits]
    stream = cluster.open_stream(pod, "agent", argv, stdin=True, tty=True, timeout=LIMIT)
    stream.resize(101, 31)

    said = b"".join(data for _, data in output(stream))

    assert b"it has" in said
    stream.close()


def test_no_program_runs_where_there_is_no_pod(cluster: Api, pod: str) -> None:
    with pytest.raises(Absent, match=r'pods "nobody" not found'):
        run(cluster, "nobody", "true")


def test_no_program_runs_where_there_is_no_such_container(cluster: Api, pod: str) -> None:
    with pytest.raises(ApiRefused, match=r"container .*other.* is not valid"):
        cluster.open_stream(pod, "other", ["true"], stdin=False, timeout=LIMIT)


def test_no_program_runs_in_a_pod_that_does_not(cluster: Api, pods: Pods) -> None:
    body = sleeper("waits")
    body["spec"]["nodeSelector"] = {"gascity.dev/nowhere": "yes"}
    pods.put(cluster.request("POST", cluster.pod_path(), body=body, timeout=LIMIT))

    with pytest.raises(ApiRefused):
        run(cluster, "waits", "true")

    cluster.request("DELETE", cluster.pod_path("waits"), timeout=LIMIT)


def test_a_log_is_read_as_text(cluster: Api, pod: str) -> None:
    path = cluster.pod_path(pod) + "/log"

    assert cluster.request_text("GET", path, query={"tailLines": "5"}, timeout=LIMIT) == ""


def test_a_certificate_nobody_vouches_for_is_not_trusted(tmp_path: Path) -> None:
    config = yaml.safe_load(where.kubectl("config", "view", "--raw"))
    for one in config["clusters"]:
        one["cluster"].pop("certificate-authority", None)
        one["cluster"].pop("certificate-authority-data", None)
    path = tmp_path / "kubeconfig"
    path.write_text(yaml.safe_dump(config))
    api = Api(Settings.read({"kubeconfig": str(path)}, {}))

    with pytest.raises(ApiSilent, match=r"certificate that is not trusted") as asked:
        api.request("GET", "/version", timeout=LIMIT)
    with pytest.raises(ApiSilent, match=r"certificate that is not trusted"):
        api.open_stream("one", "agent", ["true"], stdin=False, timeout=LIMIT)

    assert "\n" not in asked.value.message
