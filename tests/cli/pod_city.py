"""A city whose agents live in pods of the real cluster, and kubectl as the witness.

Each test has a namespace of its own, which goes with all that is in it when the test ends; a pod
that `gc stop` left there fails the test. The settings are those of pods that ask for next to
nothing.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import tomli_w
from tests.cli.conftest import City
from tests.cluster import where

from gascity.core.naming import city_id
from gascity.testing.eventually import eventually

LIMIT = 90.0
ROOT = Path(__file__).parents[2]
# Says what it reads, a line at a time, and keeps it where the test can read it.
READER = r'''
[[agents]]
name = "{name}"
start_command = """
while IFS= read -r line; do printf '%s\\n' "$line" >>/tmp/heard; printf '* %s\\n' "$line"; done"""
'''
SLEEPER = '[[agents]]\nname = "{name}"\nstart_command = "sleep 1000"\n'

Json = Any  # what the API gives out


def sleepers(*names: str) -> str:
    """Return agents that do nothing."""
    return "".join(SLEEPER.format(name=name) for name in names)


def demo() -> tuple[str, list[dict[str, object]]]:
    """Return the command of the demo agent for inside a pod, and the volumes that bring it."""
    python, volumes = where.python()
    code = str(ROOT / "gc")
    brought = {"name": "code", "mount": code, "host_path": code, "read_only": True}
    return f"env PYTHONPATH={code} {python} -m gascity.demo", [*volumes, brought]


class Namespace:
    """A namespace of the cluster for one test."""

    def __init__(self) -> None:
        self.name = f"gc-city-{secrets.token_hex(4)}"
        where.kubectl("create", "namespace", self.name)

    def kubectl(self, *words: str, stdin: str | None = None, check: bool = True) -> str:
        return where.kubectl("-n", self.name, *words, stdin=stdin, check=check)

    def pods(self, *words: str) -> list[Json]:
        found: list[Json] = json.loads(self.kubectl("get", "pods", *words, "-o", "json"))["items"]
        return found

    def remove(self) -> None:
        """Remove it with all that is in it; fail when there are pods of agents."""
        left = [pod["metadata"]["name"] for pod in self.pods("-l", "app=gc-agent")]
        self.kubectl("delete", "pods", "--all", "--force", "--grace-period=0", "--wait=false")
        where.kubectl("delete", "namespace", self.name, "--wait=false")
        assert not left, f"gc stop left {left}"


class PodCity(City):
    """A city in a namespace."""

    limit = LIMIT

    def __init__(
        self,
        folder: Path,
        namespace: Namespace,
        agents: str,
        *,
        provider: str = "kubernetes",
        **settings: object,
    ) -> None:
        """Make a city of `agents`, whose pods are as `settings` say where they are not small."""
        self.namespace = namespace
        self._provider = provider
        self._agents = agents
        self._settings: Mapping[str, object] = {
            **where.small(),
            "kubeconfig": where.kubeconfig(),
            "namespace": namespace.name,
            **settings,
        }
        super().__init__(folder, self._text())

    def change(self, **settings: object) -> None:
        """Change settings of pods in the city file; None takes one out."""
        changed = {**self._settings, **settings}
        self._settings = {key: value for key, value in changed.items() if value is not None}
        self.write(self._text())

    def _text(self) -> str:
        head = {
            "workspace": {"name": "town"},
            "session": {"provider": self._provider, "kubernetes": self._settings},
            "daemon": {"patrol_interval": "1s", "shutdown_timeout": "2s"},
        }
        return tomli_w.dumps(head) + "\n" + self._agents

    # --- the witness

    def pods(self) -> dict[str, Json]:
        """Return the pods of this city that nobody is deleting, by agent."""
        found = {}
        for pod in self.namespace.pods("-l", "app=gc-agent"):
            about = pod["metadata"]
            ours = about["annotations"]["gascity.dev/city-id"] == city_id(str(self.folder))
            if ours and "deletionTimestamp" not in about:
                found[about["annotations"]["gascity.dev/agent"]] = pod
        return found

    def uids(self) -> dict[str, str]:
        """Return what is unique to the pod of each agent."""
        return {agent: pod["metadata"]["uid"] for agent, pod in self.pods().items()}

    def pod(self, agent: str) -> str:
        """Return the name of an agent's pod."""
        return str(self.pods()[agent]["metadata"]["name"])

    def write_status(self, agent: str, status: Json) -> None:
        """Put something into the status of an agent's pod, as the node and its keepers do."""
        words = ("patch", "pod", self.pod(agent), "--subresource=status", "--type=strategic")
        self.namespace.kubectl(*words, "-p", json.dumps({"status": status}))

    def inside(self, agent: str, script: str) -> str:
        """Return what a script says that runs in an agent's pod."""
        words = ("exec", self.pod(agent), "-c", "agent", "--", "sh", "-c", script)
        return self.namespace.kubectl(*words)

    # --- what gc tells

    def events(self, kind: str, agent: str = "") -> list[str]:
        """Return the messages of the events of a type, the oldest first."""
        lines = self.ok("events", "--json", "--type", kind).splitlines()
        told = [json.loads(line) for line in lines]
        return [one["message"] for one in told if agent in ("", one["agent"])]

    def heard(self, agent: str, *lines: str) -> None:
        """Wait until a reader has read these lines and no others."""
        wanted = "".join(f"{line}\n" for line in lines)

        def all_of_them() -> bool:
            heard = self.inside(agent, "cat /tmp/heard 2>/dev/null; true")
            assert heard == wanted, heard
            return True

        eventually(all_of_them, within=self.limit, every=0.2)

    def replaced(self, agent: str, before: Mapping[str, str]) -> dict[str, str]:
        """Wait until another pod carries an agent and all are ready; return what is unique to all.

        The pods of the other agents must be those of before.
        """
        eventually(lambda: self.uids().get(agent, before[agent]) != before[agent], self.limit, 0.2)
        self.wait_until_up()
        now = self.uids()
        assert now == {**before, agent: now[agent]}
        return now
