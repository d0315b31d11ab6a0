"""The deployed controllers on the real cluster: one leads, and the other follows it."""

from __future__ import annotations

import contextlib
import signal
import sys
import threading
import time
from collections.abc import Iterator

import pytest
from tests.cluster.where import kubeconfig, kubectl
from tests.integration.kubernetes.realm import Json, Realm, server

from gascity.errors import ProviderError
from gascity.testing.eventually import eventually
from gascity_kubernetes.api import Api
from gascity_kubernetes.listing import list_pods
from gascity_kubernetes.settings import Settings

pytestmark = [pytest.mark.kubernetes, pytest.mark.timeout(300)]

AGENTS = tuple(f"agent-{number}" for number in range(1, 7))
PROMISED = 15.0  # seconds from the death of a leader until the next one leads


@pytest.fixture
def realm() -> Iterator[Realm]:
    if "127.0.0.1" not in server():
        pytest.skip("the node of this cluster is not this machine: its pods cannot see this code")
    made = Realm(*AGENTS)
    try:
        made.make()
        eventually(made.all_up, within=120, every=0.5)
        eventually(lambda: len(made.standbys()) == 1, within=30, every=0.2)
        yield made
    finally:
        made.remove()


class Following:
    """Every event of a kind of thing in the namespace, from now on."""

    def __init__(self, realm: Realm) -> None:
        there = {"namespace": realm.namespace, "kubeconfig": kubeconfig()}
        self._api = Api(Settings.read(there, {}))
        path, query = self.begin(self._api)
        self._watch = self._api.open_watch(path, query=query, idle=600, timeout=10)
        self._thread = threading.Thread(target=self._follow, daemon=True)
        self._thread.start()

    def begin(self, api: Api) -> tuple[str, dict[str, str]]:
        raise NotImplementedError

    def note(self, event: Json) -> None:
        raise NotImplementedError

    def close(self) -> None:
        self._watch.close()
        self._thread.join(10)
        self._api.close()

    def _follow(self) -> None:
        with contextlib.suppress(ProviderError, TimeoutError):  # the namespace is gone
            for event in self._watch:
                self.note(event)


class Births(Following):
    """Every pod of an agent that the API is asked to make."""

    def begin(self, api: Api) -> tuple[str, dict[str, str]]:
        self.agents: list[str] = []
        query = {"labelSelector": "app=gc-agent"}
        _, version = list_pods(api, query, time.monotonic() + 10)
        return api.pod_path(), {**query, "resourceVersion": version}

    def note(self, event: Json) -> None:
        if event["type"] == "ADDED":
            self.agents.append(event["object"]["metadata"]["labels"]["gc-agent"])

    def end(self) -> list[str]:
        self.close()
        return sorted(self.agents)


class Holders(Following):
    """Who had the lease, one after the other; empty while nobody did."""

    def begin(self, api: Api) -> tuple[str, dict[str, str]]:
        self.names: list[str] = []
        return f"/apis/coordination.k8s.io/v1/namespaces/{api.namespace}/leases", {}

    def note(self, event: Json) -> None:
        name = str(event["object"]["spec"].get("holderIdentity") or "")
        if self.names[-1:] != [name]:
            self.names.append(name)


def kill_agents(realm: Realm, *agents: str) -> None:
    pods = [realm.pod_of(agent) for agent in agents]
    kubectl("-n", realm.namespace, "delete", "pod", *pods, "--force", "--grace-period=0")


def test_a_leader_killed_under_load_is_followed_and_nothing_is_done_twice(
    realm: Realm, capsys: pytest.CaptureFixture[str]
) -> None:
    first, (heir,), before = realm.leader(), realm.standbys(), realm.bodies()
    births = Births(realm)
    missing = AGENTS[:3]

    realm.process(first).kill()
    died = time.monotonic()
    kill_agents(realm, *missing)

    eventually(lambda: realm.leader() == heir, within=PROMISED, every=0.05)
    took = time.monotonic() - died
    eventually(realm.all_up, within=60, every=0.3)
    with capsys.disabled():
        sys.stdout.write(f"\nthe standby led {took:.1f} s after the leader was killed\n")
    after = realm.bodies()
    eventually(lambda: len(births.agents) >= len(missing))
    assert births.end() == sorted(missing)
    assert {name: after[name] for name in AGENTS[3:]} == {name: before[name] for name in AGENTS[3:]}
    told = [(one["agent"], one["type"]) for one in realm.events(heir) if one["agent"]]
    assert sorted(told) == sorted(
        [(name, "session.started") for name in missing]
        + [(name, "session.adopted") for name in AGENTS[3:]]
    )
    eventually(lambda: f"standing by: {heir} leads" in realm.log(first), within=60, every=0.5)


def test_a_leader_that_ends_in_good_order_is_followed_at_once(realm: Realm) -> None:
    """By the one that stands by or, where its pod is quicker, by its own successor."""
    first, before = realm.leader(), realm.bodies()
    births, holders = Births(realm), Holders(realm)
    eventually(lambda: len(holders.names) == 1)

    realm.process(first).terminate()

    eventually(lambda: len(holders.names) >= 3)
    led, nobody, leads = holders.names
    assert nobody == ""  # it gave the lease back: nobody waited for its end
    assert leads not in ("", led)
    eventually(realm.all_up, every=0.3)
    assert realm.bodies() == before
    assert births.end() == []
    holders.close()


def test_a_leader_that_slept_does_nothing_when_it_wakes(realm: Realm) -> None:
    first, (heir,) = realm.leader(), realm.standbys()
    process = realm.process(first)
    process.send_signal(signal.SIGSTOP)
    try:
        eventually(lambda: realm.leader() == heir, within=PROMISED, every=0.05)
        births = Births(realm)
        kill_agents(realm, AGENTS[0])
        eventually(realm.all_up, within=60, every=0.3)
        kill_agents(realm, AGENTS[0])
    finally:
        process.send_signal(signal.SIGCONT)

    def ended() -> bool:
        (status,) = realm.controllers()[first]["status"]["containerStatuses"]
        return bool(status["lastState"].get("terminated", {}).get("exitCode") == 7)

    eventually(ended, within=60, every=0.3)
    eventually(lambda: len(births.agents) == 2 and realm.all_up(), within=60, every=0.3)
    assert births.end() == [AGENTS[0]] * 2
    said = kubectl("-n", realm.namespace, "logs", first, "--previous")
    assert "error: this controller does not lead any more: " in said
    assert realm.leader() == heir


def test_a_leader_killed_in_the_middle_of_starts_leaves_nothing_half_done(realm: Realm) -> None:
    first, (heir,) = realm.leader(), realm.standbys()
    births = Births(realm)
    process = realm.process(first)
    kill_agents(realm, *AGENTS)
    eventually(lambda: births.agents)

    process.kill()

    eventually(lambda: realm.leader() == heir, within=PROMISED, every=0.05)
    eventually(realm.all_up, within=90, every=0.3)
    made = births.end()
    assert set(made) == set(AGENTS)
    assert all(made.count(name) <= 2 for name in AGENTS)  # once more where one was half made
    # Those that were killed by force are forgotten before their programs have ended.
    eventually(lambda: sorted(realm.working()) == sorted(AGENTS), within=60, every=0.5)


def test_a_rolling_update_leaves_the_agents_alone_and_the_next_one_leads(realm: Realm) -> None:
    before, old = realm.bodies(), set(realm.controllers())
    births = Births(realm)

    kubectl("-n", realm.namespace, "rollout", "restart", "deployment", "gc")

    eventually(lambda: not old & set(realm.controllers()), within=120, every=0.3)
    eventually(lambda: realm.leader() in realm.controllers(), within=PROMISED, every=0.1)
    eventually(realm.all_up, within=30, every=0.3)
    assert realm.bodies() == before
    assert births.end() == []


def test_one_who_stands_by_changes_nothing_for_anybody(realm: Realm) -> None:
    (standby,), before = realm.standbys(), realm.bodies()
    inside = ("-n", realm.namespace, "exec", standby, "--", "gc", "-C", "/city")

    said = kubectl(*inside, "nudge", "--queue", AGENTS[0], "hello", check=False)
    stopped = kubectl(*inside, "stop", check=False)

    assert said == stopped == ""
    assert realm.bodies() == before
    assert "6 agents" in kubectl(*inside, "status")
