"""A whole city on a real cluster, as a person at the command line has it."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator

import pytest
from tests.cli.conftest import MakePodCity
from tests.cli.pod_city import READER, Namespace, PodCity, demo, sleepers
from tests.living import lives

from gascity.core.naming import city_id
from gascity.testing.eventually import eventually
from gascity_kubernetes.names import pod_name

pytestmark = [pytest.mark.kubernetes, pytest.mark.timeout(300)]

NO_FORMALITY = """-n "double" 'single' $HOME `id` ; # \\ é
 {{.Agent}} and a second line"""


@pytest.fixture(scope="module")
def town(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PodCity]:
    """Return a running city for tests that only look and talk."""
    command, volumes = demo()
    talker = (
        f'[providers.demo]\ncommand = "{command}"\n[[agents]]\nname = "talker"\nprovider = "demo"\n'
    )
    namespace = Namespace()
    agents = READER.format(name="reader") + talker
    city = PodCity(tmp_path_factory.mktemp("pods") / "town", namespace, agents, volumes=volumes)
    try:
        city.start()
        yield city
    finally:
        city.end()
        namespace.remove()


def stranger(city: PodCity) -> str:
    """Make a pod with the name that the pod of the agent `a` would have; return the name."""
    name = pod_name(city_id(str(city.folder)), "gc-town-a")
    words = ("run", name, "--image=localhost/agent:1", "--restart=Never", "--", "sleep", "1000")
    city.namespace.kubectl(*words)
    return name


def test_each_agent_has_a_pod_and_no_process_of_this_machine(town: PodCity) -> None:
    agents = town.agents().values()

    assert set(town.pods()) == {"reader", "talker"}
    assert {(one["provider"], one["state"], one["pid"]) for one in agents} == {
        ("kubernetes", "ready", None)
    }


def test_any_text_arrives_as_it_was_written(town: PodCity) -> None:
    said = town.ok("nudge", "reader", "--", NO_FORMALITY)

    assert said.startswith("reader: submitted (")
    town.heard("reader", *NO_FORMALITY.split("\n"))
    assert "* -n \"double\" 'single' $HOME `id`" in town.ok("peek", "reader")


def test_the_demo_agent_takes_a_message_and_answers(town: PodCity) -> None:
    said = town.ok("nudge", "talker", "count the ships")

    assert said.startswith("talker: submitted (")
    eventually(lambda: 'You said: "count the ships"' in town.ok("peek", "talker"), town.limit, 0.2)


def test_a_message_that_was_queued_arrives(town: PodCity) -> None:
    said = town.ok("nudge", "talker", "later is fine", "--queue")

    assert said.startswith("talker: queued as ")
    eventually(lambda: 'You said: "later is fine"' in town.ok("peek", "talker"), town.limit, 0.2)


def test_why_tells_of_an_agent_in_a_pod(town: PodCity) -> None:
    said = town.ok("why", "reader")

    assert said.startswith("reader is ready on kubernetes, since ")
    assert "kubernetes answered to a look at" in said
    assert "started: wanted by the city" in said


def test_a_restart_is_another_pod_for_one_agent_alone(make_pod_city: MakePodCity) -> None:
    city = make_pod_city(sleepers("a", "b"))
    city.start()
    before = city.uids()

    assert city.ok("restart", "a") == "restarted a\n"

    city.replaced("a", before)
    assert city.agents()["a"]["restarts"] == 0


def test_a_stop_removes_all_pods(make_pod_city: MakePodCity) -> None:
    city = make_pod_city(sleepers("a", "b", "c"))
    city.start()
    assert set(city.pods()) == {"a", "b", "c"}

    assert city.ok("stop", "a") == "stopped a\n"
    assert set(city.pods()) == {"b", "c"}
    assert city.ok("stop") == "stopped 2 agents and the controller\n"

    assert city.namespace.pods() == []


def test_without_a_controller_a_stop_removes_all_pods(make_pod_city: MakePodCity) -> None:
    city = make_pod_city(sleepers("a", "b"))
    os.kill(city.start(), signal.SIGKILL)

    assert city.ok("stop") == "stopped 2 sessions; no controller was running\n"

    assert city.namespace.pods() == []


def test_a_new_controller_takes_up_all_pods_as_they_are(make_pod_city: MakePodCity) -> None:
    city = make_pod_city(sleepers("a", "b") + READER.format(name="reader"))
    controller = city.start()
    before = city.uids()

    os.kill(controller, signal.SIGKILL)
    eventually(lambda: not lives(controller))
    city.start()

    assert city.uids() == before
    assert {one["restarts"] for one in city.agents().values()} == {0}
    assert city.ok("nudge", "reader", "are you there?").startswith("reader: submitted (")
    city.heard("reader", "are you there?")


def test_a_pod_deleted_by_somebody_is_replaced_by_one(make_pod_city: MakePodCity) -> None:
    city = make_pod_city(sleepers("a", "b"))
    city.start()
    before = city.uids()

    city.namespace.kubectl("delete", "pod", city.pod("a"), "--force", "--grace-period=0")

    city.replaced("a", before)
    (why,) = city.events("session.crashed")
    assert why.startswith("its pod was deleted")
    assert len(city.events("session.started", "a")) == 2
    assert city.agents()["a"]["restarts"] == 1
    assert len(city.namespace.pods()) == 2


def test_a_pod_deleted_gently_is_left_to_end_and_replaced_by_one(
    make_pod_city: MakePodCity,
) -> None:
    city = make_pod_city(sleepers("a", "b"))
    city.start()
    before = city.uids()

    city.namespace.kubectl("delete", "pod", city.pod("a"), "--wait=false")

    city.replaced("a", before)
    assert len(city.events("session.crashed")) == 1
    assert len(city.events("session.started", "a")) == 2


def test_two_cities_of_one_name_leave_each_other_alone(make_pod_city: MakePodCity) -> None:
    here = make_pod_city(sleepers("a"), folder="here")
    there = make_pod_city(sleepers("a", "b"), folder="there")
    here.start()
    there.start()
    before = there.uids()
    assert len(here.namespace.pods()) == 3

    here.ok("stop")

    assert not here.uids()
    assert there.uids() == before
    assert {one["state"] for one in there.agents().values()} == {"ready"}


def test_a_strangers_pod_with_the_name_of_ours_is_told_of_and_never_touched(
    make_pod_city: MakePodCity, namespace: Namespace
) -> None:
    city = make_pod_city(sleepers("a", "b"))
    name = stranger(city)
    uid = namespace.pods()[0]["metadata"]["uid"]

    city.ok("start", "--detach")
    city.wait_for("b", "ready")
    stands = city.wait_for("a", "pending")
    assert f"pod {name} is in the way" in stands["reason"]
    assert "this city did not make it" in city.ok("why", "a")
    city.ok("restart", "b")
    assert uid in {pod["metadata"]["uid"] for pod in namespace.pods()}
    namespace.kubectl("delete", "pod", name, "--force", "--grace-period=0")

    city.wait_until_up()
    assert uid not in city.uids().values()


def test_a_stop_leaves_a_strangers_pod_with_the_name_of_ours(
    make_pod_city: MakePodCity, namespace: Namespace
) -> None:
    city = make_pod_city(sleepers("a"))
    name = stranger(city)
    city.ok("start", "--detach")
    city.wait_for("a", "pending")
    os.kill(city.controller(), signal.SIGKILL)
    eventually(lambda: not city.controller())
    stands = city.agents()["a"]

    city.ok("stop")

    assert (stands["state"], stands["reason"]) == ("stopped", "no controller runs")
    assert [pod["metadata"]["name"] for pod in namespace.pods()] == [name]
