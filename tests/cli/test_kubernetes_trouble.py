"""What goes wrong with pods, and the state and the reason that `gc status` gives for it.

What the node does for real is left to the node. Where it says so, a test writes into the status of
a pod what a kubelet or the node controller writes there, through the API as they do.
"""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path

import pytest
from tests.cli.conftest import Agent, MakePodCity
from tests.cli.pod_city import Json, PodCity, sleepers
from tests.cluster import where
from tests.living import lives

from gascity.testing.eventually import eventually

ONCE = "[ -e /keep/up ] && exec sleep 1000; touch /keep/up; echo my last words; sleep 5; exit 7"
SMALL_DISK = """
spec:
  volumes: [{name: small, emptyDir: {sizeLimit: 1Mi}}]
  containers: [{name: agent, volumeMounts: [{name: small, mountPath: /small}]}]
"""

pytestmark = [pytest.mark.kubernetes, pytest.mark.timeout(300)]


def pending_for(city: PodCity, reason: str) -> Agent:
    """Wait until the agent `a` is pending for a reason; return how it stands."""

    def there() -> Agent:
        agent = city.agents()["a"]
        assert agent["state"] == "pending", agent
        assert reason in agent["reason"], agent
        return agent

    return eventually(there, within=city.limit, every=0.1)


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({"node_selector": {"disk": "none"}}, "unschedulable: 0/1 nodes are available"),
        (
            {"image": "localhost/nothing:1", "image_pull_policy": "Never"},
            'ErrImageNeverPull: Container image "localhost/nothing:1" is not present',
        ),
        (
            {"image": "localhost/nothing:1"},
            "ImagePullBackOff: image localhost/nothing:1 cannot be pulled; `kubectl describe pod ",
        ),
        (
            {"secret_env": {"KEY": "nothing/key"}},
            'CreateContainerConfigError: secret "nothing" not found',
        ),
        ({"cpu_request": "4000"}, "unschedulable: 0/1 nodes are available: 1 Insufficient cpu"),
    ],
    ids=["no-node", "no-image-here", "no-image-there", "no-secret", "no-room"],
)
def test_what_a_pod_waits_for_is_told_and_can_be_mended(
    make_pod_city: MakePodCity, settings: dict[str, object], reason: str
) -> None:
    city = make_pod_city(sleepers("a"), **settings)

    city.ok("start", "--detach")
    stands = pending_for(city, reason)
    healthy = city.gc("health").returncode == 0

    assert healthy, "a minute has not passed"
    assert (stands["pid"], stands["restarts"], stands["failures"]) == (None, 0, 0)
    # A node that tries again says so for a moment.
    eventually(lambda: reason in city.ok("status"), within=city.limit, every=0.2)
    eventually(lambda: reason in city.ok("why", "a"), within=city.limit, every=0.2)
    assert city.gc("nudge", "a", "hello", "--no-wait").returncode == 5
    city.change(**{key: where.small().get(key) for key in settings})
    city.wait_until_up()


def test_what_could_not_begin_is_stopped_at_once(make_pod_city: MakePodCity) -> None:
    """The node would take a minute to let go of it, which is longer than `gc stop` waits."""
    city = make_pod_city(sleepers("a"), secret_env={"KEY": "nothing/key"})
    city.ok("start", "--detach")
    pending_for(city, "CreateContainerConfigError")

    assert city.ok("stop") == "stopped 1 agent and the controller\n"

    assert city.namespace.pods() == []


def test_a_start_of_which_nobody_saw_the_end_is_begun_anew(make_pod_city: MakePodCity) -> None:
    city = make_pod_city(sleepers("a"))
    controller = city.start()
    before = city.uids()
    os.kill(controller, signal.SIGKILL)
    eventually(lambda: not lives(controller))
    city.inside("a", "rm /run/gascity/begun")
    city.namespace.kubectl("annotate", "pod", city.pod("a"), "gascity.dev/staged-")

    city.ok("start", "--detach")

    city.replaced("a", before)
    assert city.events("session.start_failed") == []


def test_what_an_agent_that_crashed_showed_last_is_kept(
    make_pod_city: MakePodCity, tmp_path: Path
) -> None:
    keep = {"name": "keep", "mount": "/keep", "host_path": str(tmp_path)}
    city = make_pod_city(f'[[agents]]\nname = "a"\nstart_command = "{ONCE}"\n', volumes=[keep])

    city.ok("start", "--detach")
    eventually(lambda: city.events("session.crashed"), within=city.limit, every=0.2)
    city.wait_until_up()

    assert city.events("session.crashed") == ["exited with status 7"]
    (crashed,) = [run for run in runs(city) if run["state"] != "running"]
    assert "exited with status 7" in crashed["end"]
    assert "my last words" in city.ok("runs", "--run", crashed["run_id"])
    assert city.agents()["a"]["restarts"] == 1


def test_an_agent_that_keeps_crashing_is_quarantined_with_its_last_screen(
    make_pod_city: MakePodCity,
) -> None:
    restless = 'start_command = "echo my last words; exit 7"\nmax_restarts = 1\n'
    city = make_pod_city(f'[[agents]]\nname = "a"\n{restless}')

    city.ok("start", "--detach")
    stands = city.wait_for("a", "quarantined")

    assert "exited with status 7" in stands["reason"]
    assert "my last words" in city.ok("peek", "a")
    assert city.gc("health").returncode == 1


def test_a_pod_that_ran_longer_than_it_may_is_replaced(
    make_pod_city: MakePodCity, tmp_path: Path
) -> None:
    template = tmp_path / "pod.yaml"
    template.write_text("spec:\n  activeDeadlineSeconds: 20\n")
    city = make_pod_city(sleepers("a"), pod_template=str(template))
    city.start()
    before = city.uids()

    eventually(lambda: city.uids().get("a", before["a"]) != before["a"], city.limit, 0.2)

    (why, *_) = city.events("session.crashed")
    assert "it ran longer than its pod may" in why


def test_a_pod_that_ran_out_of_memory_is_replaced_by_one(make_pod_city: MakePodCity) -> None:
    """The kubelet's words are written into the status: the node may not limit memory."""
    city = make_pod_city(sleepers("a", "b"))
    city.start()
    before = city.uids()

    killed = {"exitCode": 137, "reason": "OOMKilled", "containerID": "containerd://0"}
    (status,) = city.pods()["a"]["status"]["containerStatuses"]
    ended = {**status, "state": {"running": None, "terminated": killed}, "ready": False}
    city.write_status("a", {"phase": "Failed", "containerStatuses": [ended]})

    city.replaced("a", before)
    assert city.events("session.crashed") == ["killed by signal 9: it ran out of memory"]


def test_a_pod_evicted_for_what_it_wrote_is_replaced_by_one(
    make_pod_city: MakePodCity, tmp_path: Path
) -> None:
    template = tmp_path / "pod.yaml"
    template.write_text(SMALL_DISK)
    greedy = "head -c 9000000 /dev/zero >/small/all; sleep 1000"
    city = make_pod_city(
        sleepers("b") + f'[[agents]]\nname = "a"\nstart_command = "{greedy}"\n',
        pod_template=str(template),
    )
    city.start()
    before = city.uids()

    eventually(lambda: city.events("session.crashed"), within=180.0, every=1.0)

    assert 'evicted: Usage of EmptyDir volume "small" exceeds' in city.events("session.crashed")[0]
    city.replaced("a", before)


def test_an_agent_on_a_lost_node_is_lost_and_not_restarted(make_pod_city: MakePodCity) -> None:
    """The words of the node controller are written; the kubelet takes them back by itself."""
    city = make_pod_city(sleepers("a", "b"))
    city.start()
    before = city.uids()

    def lost() -> Agent:
        gone = {"type": "Ready", "status": "Unknown", "reason": "NodeStatusUnknown"}
        city.write_status("a", {"conditions": [gone]})
        agent = city.agents()["a"]
        assert agent["state"] == "lost", agent
        assert "it may live there, so it is not restarted" in city.gc("why", "a").stdout
        return agent

    stands = eventually(lost, within=city.limit, every=0.1)
    assert stands["reason"].endswith(" does not answer")

    city.wait_until_up()
    assert city.uids() == before
    assert {one["restarts"] for one in city.agents().values()} == {0}
    assert city.events("session.crashed") == []


def runs(city: PodCity) -> list[Json]:
    found: list[Json] = json.loads(city.ok("runs", "--json"))["runs"]
    return found
