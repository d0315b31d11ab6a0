"""The controllers of `deploy/` on the real cluster, with this interpreter and this code in them.

Nothing can be pulled there, so their pods see the programs of this machine, which is the node. All
else is as it is deployed: two replicas, their rights, their user, their read-only file system.
"""

from __future__ import annotations

import base64
import contextlib
import copy
import json
import os
import secrets
import sys
from pathlib import Path
from typing import Any

import psutil
import yaml
from tests.cluster.where import IMAGE, kubectl

from gascity.testing.eventually import eventually

ROOT = Path(__file__).parents[3]
CITY = f"""\
[workspace]
name = "realm"
[session]
provider = "kubernetes"
[session.kubernetes]
image = "{IMAGE}"
cpu_request = "10m"
memory_request = "16Mi"
[daemon]
patrol_interval = "2s"
shutdown_timeout = "2s"
"""

UP = ("session.started", "session.adopted")
RIGHTS = ("ServiceAccount", "Role", "RoleBinding")
Json = Any  # what the API gives out


def manifests() -> list[Json]:
    """Return what `kubectl apply -k deploy/` applies."""
    return list(yaml.safe_load_all(kubectl("kustomize", str(ROOT / "deploy"))))


def server() -> str:
    """Return where the API is."""
    view = json.loads(kubectl("config", "view", "--minify", "-o", "json"))
    return str(view["clusters"][0]["cluster"]["server"])


class Realm:
    """A namespace with the deployed controllers of one city."""

    def __init__(self, *agents: str) -> None:
        self.namespace = f"lease-{secrets.token_hex(4)}"
        self.agents = agents

    def make(self) -> None:
        kubectl("create", "namespace", self.namespace)
        kubectl("apply", "-f", "-", stdin=yaml.safe_dump_all(map(self._here, manifests()[1:])))

    def allow(self) -> None:
        """Make the namespace with the rights alone, and no controllers."""
        kubectl("create", "namespace", self.namespace)
        rights = [one for one in manifests() if one["kind"] in RIGHTS]
        kubectl("apply", "-f", "-", stdin=yaml.safe_dump_all(map(self._here, rights)))

    def remove(self) -> None:
        kubectl("-n", self.namespace, "delete", "deployment", "--all", "--wait=false")
        kubectl("-n", self.namespace, "delete", "pods", "--all", "--force", "--grace-period=0")
        kubectl("delete", "namespace", self.namespace, "--wait=false")

    def get(self, kind: str, *words: str) -> list[Json]:
        found = kubectl("-n", self.namespace, "get", kind, *words, "-o", "json")
        items: list[Json] = json.loads(found)["items"]
        return items

    def leader(self) -> str:
        """Return the pod that leads; empty when none does."""
        leases = self.get("leases")
        holder = leases[0]["spec"].get("holderIdentity", "") if leases else ""
        return str(holder).rpartition("_")[0]

    def controllers(self) -> dict[str, Json]:
        return {pod["metadata"]["name"]: pod for pod in self.get("pods", "-l", "app=gc")}

    def standbys(self) -> list[str]:
        return [name for name in self.controllers() if name != self.leader()]

    def bodies(self) -> dict[str, str]:
        """Return the pods of the agents that run, by agent, each by what is unique to it."""
        return {
            pod["metadata"]["labels"]["gc-agent"]: pod["metadata"]["uid"]
            for pod in self.get("pods", "-l", "app=gc-agent")
            if pod["status"].get("phase") == "Running"
            and "deletionTimestamp" not in pod["metadata"]
        }

    def working(self) -> list[str]:
        """Return the agents whose program runs, once for each program, as this machine sees it."""
        found = []
        for process in psutil.process_iter(["cmdline"]):
            if process.info["cmdline"] == ["sleep", "1000"]:
                with contextlib.suppress(psutil.Error):
                    found.append(process.environ())
        pods = {pod["metadata"]["name"] for pod in self.get("pods", "-l", "app=gc-agent")}
        return [one["GC_AGENT"] for one in found if one.get("HOSTNAME") in pods]

    def pod_of(self, agent: str) -> str:
        (pod,) = self.get("pods", "-l", f"gc-agent={agent}")
        return str(pod["metadata"]["name"])

    def all_up(self) -> bool:
        events = self.events(self.leader()) if self.leader() else []
        done = {one["agent"] for one in events if one["type"] in UP}
        return set(self.bodies()) == set(self.agents) == done

    def log(self, pod: str) -> str:
        return kubectl("-n", self.namespace, "logs", pod)

    def events(self, pod: str) -> list[Json]:
        """Return the journal of one replica."""
        words = ("gc", "-C", "/city", "events", "--json")
        said = kubectl("-n", self.namespace, "exec", pod, "--", *words)
        return [json.loads(line) for line in said.splitlines()]

    def process(self, pod: str) -> psutil.Process:
        """Return the controller of a pod, as this machine sees it."""
        for process in psutil.process_iter(["cmdline"]):
            if "--leader-elect" not in (process.info["cmdline"] or []):
                continue
            with contextlib.suppress(psutil.Error):  # it has ended meanwhile
                if process.environ().get("POD_NAME") == pod:
                    return process
        raise AssertionError(f"no controller runs in {pod}")

    def token(self) -> str:
        """Return the token of the controllers' account."""
        account = eventually(
            lambda: [one for one in self.get("secrets") if _is_token(one)], within=20
        )[0]
        return base64.b64decode(account["data"]["token"]).decode()

    def _here(self, manifest: Json) -> Json:
        """Return a manifest as it has to be for this namespace and this machine."""
        made = copy.deepcopy(manifest)
        made["metadata"]["namespace"] = self.namespace
        match made["kind"]:
            case "ConfigMap":
                made["data"]["city.toml"] = CITY + "".join(
                    f'[[agents]]\nname = "{name}"\nstart_command = "sleep 1000"\n'
                    for name in self.agents
                )
            case "RoleBinding":
                made["subjects"][0]["namespace"] = self.namespace
            case "Deployment":
                _see_this_machine(made["spec"]["template"]["spec"])
            case _:
                pass
        return made


def _see_this_machine(pod: Json) -> None:
    host, _, port = server().removeprefix("https://").partition(":")
    pod["hostNetwork"] = True
    (container,) = pod["containers"]
    container["image"] = IMAGE
    container["resources"] = {}
    container["env"] += [
        {"name": "PATH", "value": f"{Path(sys.executable).parent}:/usr/bin:/bin"},
        {"name": "PYTHONDONTWRITEBYTECODE", "value": "1"},
        {"name": "KUBERNETES_SERVICE_HOST", "value": host},
        {"name": "KUBERNETES_SERVICE_PORT", "value": port},
    ]
    pod["volumes"].append({"name": "root", "emptyDir": {}})  # that of the image is closed to others
    container["volumeMounts"].append({"name": "root", "mountPath": "/root"})
    for number, path in enumerate(_outermost("/usr", sys.base_prefix, sys.prefix, str(ROOT))):
        pod["volumes"].append({"name": f"host-{number}", "hostPath": {"path": path}})
        container["volumeMounts"].append(
            {"name": f"host-{number}", "mountPath": path, "readOnly": True}
        )


def _outermost(*paths: str) -> list[str]:
    real = {os.path.abspath(path) for path in paths}
    return sorted(p for p in real if not any(p.startswith(f"{other}/") for other in real))


def _is_token(secret: Json) -> bool:
    owner = secret["metadata"].get("annotations", {}).get("kubernetes.io/service-account.name")
    return owner == "gc" and "token" in secret.get("data", {})
