"""What pods cost: requests in a quiet city, thirty starts at once, and one pod that is killed.

    GC_TEST_KUBECONFIG=... python bench/kube.py

Needs a cluster with the image `GC_TEST_IMAGE` (localhost/agent:1). The floor of thirty starts is
`kubectl apply` of the very same pods, the floor of a pod that is replaced is a bare pod that is
made through the API, in turn with the others. Requests are those of a watching provider that is
asked again and again, with five pods and with thirty.

Prints one JSON line each, and ends with 1 when a limit is broken.
"""

from __future__ import annotations

import contextlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from tests.cluster import where

from gascity.core.model import SessionConfig
from gascity.session.provider import CityContext
from gascity_kubernetes import Provider, manifest, state
from gascity_kubernetes.api import Api
from gascity_kubernetes.listing import list_pods
from gascity_kubernetes.settings import Settings

MANY, FEW = 30, 5
LOOKS = 200
QUIET = 10.0  # seconds of a quiet city
KILLS = 5
RATIO = 1.5
COMMAND = "exec sleep 100000"
GC = os.path.join(os.path.dirname(sys.executable), "gc")


def main() -> int:
    if why := where.missing():
        print(f"no cluster to measure: {why}", file=sys.stderr)
        return 3
    with tempfile.TemporaryDirectory() as folder, namespace() as name:
        bench = Bench(Path(folder), name)
        told = [quiet(bench), starts(bench), heals(bench)]
    return int(not all(one["kept"] for one in told))


class Bench:
    """A namespace to measure in, and a witness that asks the API itself."""

    def __init__(self, folder: Path, name: str) -> None:
        self.folder = folder
        self.table = {**where.small(), "namespace": name, "kubeconfig": where.kubeconfig()}
        self.settings = Settings.read(self.table, {})
        self.api = Api(self.settings)

    def pods(self, selector: str) -> dict[str, Any]:
        return dict(list_pods(self.api, {"labelSelector": selector}, time.monotonic() + 30)[0])

    def until(self, selector: str, check: Callable[[dict[str, Any]], bool]) -> float:
        """Return the seconds until the pods are as they should be."""
        begun = time.monotonic()
        while not check(self.pods(selector)):
            if time.monotonic() - begun > 300:
                raise TimeoutError("the pods did not become what they should")
            time.sleep(0.02)  # the pace of a look
        return time.monotonic() - begun

    def clear(self) -> None:
        where.kubectl("-n", self.settings.namespace, "delete", "pods", "--all", "--force",
                      "--grace-period=0", "--ignore-not-found")  # fmt: skip
        self.until("", lambda pods: not pods)
        time.sleep(5)  # the node ends what is left of them


def quiet(bench: Bench) -> dict[str, Any]:
    """Count what a watching provider asks the API while nothing happens."""
    counts: dict[int, dict[str, Any]] = {}
    for number in (FEW, MANY):
        state_dir = bench.folder / f"quiet-{number}" / ".gc"
        state_dir.mkdir(parents=True)
        context = CityContext("quiet", uuid.uuid4().hex, str(state_dir), bench.table)
        provider = Provider(context)
        names = [f"gc-quiet-{one}" for one in range(number)]
        config = SessionConfig(COMMAND, str(state_dir.parent), {}, meta={"GC_AGENT": "quiet"})
        for name in names:
            provider.start(name, config, timeout=60)
        watch = provider.watch(lambda: None)
        wanted = {name: ["sleep"] for name in names}
        provider.processes_alive(wanted, timeout=30)
        time.sleep(3)  # the first beat of every pulse opens a hand
        before = provider._cluster.api.requests.copy()  # noqa: SLF001  who counts
        begun = time.monotonic()
        for _ in range(LOOKS):
            assert len(provider.observe(timeout=5)) == number
            assert all(provider.processes_alive(wanted, timeout=5).values())
            time.sleep(QUIET / LOOKS)  # what is counted is what happens while nothing does
        took = time.monotonic() - begun
        asked = provider._cluster.api.requests - before  # noqa: SLF001  who counts
        counts[number] = {"requests": dict(asked), "seconds": round(took, 1)}
        watch.close()
        provider.stop_all(names, grace=1, timeout=60)
        provider.close()
    few, many = (sum(counts[number]["requests"].values()) for number in (FEW, MANY))
    lists = counts[MANY]["requests"].get("list", 0) + counts[FEW]["requests"].get("list", 0)
    return told(
        "kube.quiet",
        looks=LOOKS,
        **{f"pods_{number}": counts[number] for number in counts},
        lists=lists,
        kept=lists == 0 and many <= few + 2,
    )


def starts(bench: Bench) -> dict[str, Any]:
    """Time thirty agents of a city against `kubectl apply` of the same pods."""
    bench.clear()
    city = manifest.City("floor", uuid.uuid4().hex[:16], str(bench.folder / "floor"))
    config = SessionConfig(COMMAND, city.path, {}, meta={"GC_AGENT": "floor"})
    pods = [
        manifest.pod(f"gc-floor-{number}", config, city, bench.settings, f"token{number}")
        for number in range(MANY)
    ]
    begun = time.monotonic()
    where.kubectl("apply", "-f", "-", stdin=json.dumps({"kind": "List", "apiVersion": "v1",
                                                         "items": pods}))  # fmt: skip
    bench.until(f"gascity.dev/city-id={city.id}", lambda found: running(found) == MANY)
    floor = time.monotonic() - begun
    bench.clear()
    with controller(bench, "many", MANY) as ours:
        taken = ours.until_ready()
    return told(
        "kube.starts",
        pods=MANY,
        kubectl_apply_s=round(floor, 2),
        ours_s=round(taken, 2),
        ratio=round(taken / floor, 2),
        limit=RATIO,
        kept=taken <= RATIO * floor,
    )


def heals(bench: Bench) -> dict[str, Any]:
    """Time a pod that is killed until another is up, against a bare pod's start."""
    bench.clear()
    floors, replaced, ready = [], [], []
    with controller(bench, "heal", FEW) as ours:
        ours.until_ready()
        for number in range(KILLS):
            floors.append(bare_start(bench, number))
            time.sleep(2)  # the cluster settles
            one, two = ours.kill(number % FEW)
            replaced.append(one)
            ready.append(two)
            time.sleep(2)  # the cluster settles
    floor, taken = statistics.median(floors), statistics.median(replaced)
    return told(
        "kube.heals",
        kills=KILLS,
        pod_start_s=round(floor, 2),
        replaced_s=round(taken, 2),
        agent_up_s=round(statistics.median(ready), 2),
        ratio=round(taken / floor, 2),
        limit=RATIO,
        kept=taken <= RATIO * floor,
    )


def bare_start(bench: Bench, number: int) -> float:
    """Return how long the cluster takes to start one pod of ours."""
    city = manifest.City("bare", f"bare{number}", str(bench.folder))
    config = SessionConfig(COMMAND, city.path, {}, meta={"GC_AGENT": "bare"})
    pod = manifest.pod(f"gc-bare-{number}", config, city, bench.settings, "token")
    begun = time.monotonic()
    bench.api.request("POST", bench.api.pod_path(), body=pod, timeout=30)
    bench.until(f"gascity.dev/city-id=bare{number}", lambda found: running(found) == 1)
    taken = time.monotonic() - begun
    where.kubectl("-n", bench.settings.namespace, "delete", "pod", pod["metadata"]["name"],
                  "--force", "--grace-period=0")  # fmt: skip
    return taken


class Controller:
    """A real `gc start` over pods of its own."""

    def __init__(self, bench: Bench, folder: Path) -> None:
        self._bench = bench
        self._folder = folder
        self._begun = time.monotonic()
        self.gc("start", "--detach")

    def gc(self, *words: str) -> str:
        done = subprocess.run(
            [GC, "-C", str(self._folder), *words], capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, f"gc {' '.join(words)}: {done.stdout}{done.stderr}"
        return done.stdout

    def agents(self) -> dict[str, dict[str, Any]]:
        return {one["name"]: one for one in json.loads(self.gc("status", "--json"))["agents"]}

    def until_ready(self) -> float:
        """Return the seconds from the start of the controller until all are up."""
        while not all(one["state"] == "ready" for one in self.agents().values()):
            time.sleep(0.02)  # the pace of a look
        return time.monotonic() - self._begun

    def kill(self, number: int) -> tuple[float, float]:
        """Kill a pod; return the seconds until another runs, and until its agent is up."""
        selector = f"gascity.dev/agent=a{number},gascity.dev/city={self._folder.name}"
        old = next(iter(self._bench.pods(selector).values()))
        name, uid = old["metadata"]["name"], state.uid(old)
        run = self.agents()[f"a{number}"]["run"]
        begun = time.monotonic()
        body = {"gracePeriodSeconds": 0, "preconditions": {"uid": uid}}
        self._bench.api.request("DELETE", self._bench.api.pod_path(name), body=body, timeout=30)
        self._bench.until(
            selector,
            lambda pods: any(state.uid(pod) != uid and is_up(pod) for pod in pods.values()),
        )
        replaced = time.monotonic() - begun
        while True:
            now = self.agents()[f"a{number}"]
            if now["state"] == "ready" and now["run"] != run:
                return replaced, time.monotonic() - begun
            time.sleep(0.02)  # the pace of a look


@contextlib.contextmanager
def controller(bench: Bench, name: str, agents: int) -> Iterator[Controller]:
    folder = bench.folder / name
    folder.mkdir()
    lines = ["[session]", 'provider = "kubernetes"', "[session.kubernetes]", "parallel = 64"]
    lines += [f"{key} = {json.dumps(value)}" for key, value in bench.table.items()]
    for number in range(agents):
        lines += ["[[agents]]", f'name = "a{number}"', f'start_command = "{COMMAND}"']
    (folder / "city.toml").write_text("\n".join(lines) + "\n")
    ours = Controller(bench, folder)
    try:
        yield ours
    finally:
        ours.gc("stop")


def running(pods: dict[str, Any]) -> int:
    return sum(is_up(pod) for pod in pods.values())


def is_up(pod: state.Pod) -> bool:
    return bool(pod["status"].get("phase") == "Running")


@contextlib.contextmanager
def namespace() -> Iterator[str]:
    name = f"gc-bench-{uuid.uuid4().hex[:8]}"
    where.kubectl("create", "namespace", name)
    try:
        yield name
    finally:
        where.kubectl("delete", "namespace", name, "--wait=false")


def told(name: str, **measured: object) -> dict[str, Any]:
    line = {"bench": name, **measured}
    print(json.dumps(line), flush=True)
    return line


if __name__ == "__main__":
    sys.exit(main())
