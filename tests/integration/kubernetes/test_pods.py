"""The city's pods through everything that an API does wrong."""

from __future__ import annotations

import contextlib
import time
from functools import partial
from pathlib import Path

import pytest
from tests.integration.kubernetes.conftest import HASTE, LIMIT, Double, Follow, refusal

from gascity.testing.eventually import eventually
from gascity_kubernetes.api import Api
from gascity_kubernetes.following import Patience
from gascity_kubernetes.pods import Pods
from gascity_kubernetes.problems import ApiSilent, Forbidden
from gascity_kubernetes.settings import Settings


def soon() -> float:
    return time.monotonic() + LIMIT


def names(pods: Pods) -> set[str]:
    return set(pods.all(deadline=soon()))


def is_lost(pods: Pods) -> bool:
    try:
        pods.all(deadline=soon())
    except ApiSilent:
        return True
    return False


def is_refused(pods: Pods) -> bool:
    """Whether nothing is known, and the reason is said: nobody listens there."""
    with pytest.raises(ApiSilent) as problem:
        pods.get("one", deadline=soon())
    return "cannot be reached (connection refused)" in problem.value.message


def has_more_watches(double: Double, than: int) -> bool:
    return double.opened > than


def is_back(pods: Pods) -> bool:
    return not is_lost(pods)


def found(pods: Pods) -> set[str] | None:
    """Return the names; None while nothing is known: who is hasty may take any stall for that."""
    with contextlib.suppress(ApiSilent):
        return names(pods)
    return None


def test_who_does_not_follow_lists_each_time(double: Double, api: Api) -> None:
    pods = Pods(lambda: api, "app=gc-agent")
    double.add("one")

    first = names(pods)
    double.add("two")

    assert first == {"one"}
    assert names(pods) == {"one", "two"}
    assert api.requests == {"list": 2}
    assert double.asked[0].params["labelSelector"] == "app=gc-agent"


def test_a_followed_change_is_known_without_a_list(
    double: Double, api: Api, follow: Follow
) -> None:
    pods = follow()
    assert names(pods) == set()

    double.add("one", phase="Pending")
    double.change("one", phase="Running")
    double.add("two")
    double.remove("two")
    double.add("three")

    eventually(lambda: names(pods) == {"one", "three"}, within=LIMIT)
    assert pods.all(deadline=soon())["one"]["status"] == {"phase": "Running"}
    assert api.requests["list"] == 1
    assert api.requests["watch"] == 1


def test_listeners_hear_of_every_change(double: Double, follow: Follow) -> None:
    heard: list[int] = []
    pods = follow()
    names(pods)
    pods.listeners.add(lambda: heard.append(1))

    double.add("one")

    eventually(lambda: heard, within=LIMIT)


def test_a_pod_that_is_gone_is_told_as_it_was_last(double: Double, follow: Follow) -> None:
    gone: list[str] = []
    pods = follow()
    double.add("one")
    double.add("two")
    eventually(lambda: names(pods) == {"one", "two"}, within=LIMIT)
    pods.mourners.add(lambda pod: gone.append(pod["metadata"]["name"]))

    double.remove("two")

    eventually(lambda: gone == ["two"], within=LIMIT)
    assert names(pods) == {"one"}


def test_nobody_misses_a_pod_before_it_is_told_that_it_is_gone(
    double: Double, follow: Follow
) -> None:
    told: list[set[str]] = []
    pods = follow()
    double.add("one")
    eventually(lambda: names(pods) == {"one"}, within=LIMIT)
    pods.mourners.add(lambda _: told.append(names(pods)))

    double.remove("one")

    assert eventually(lambda: told, within=LIMIT) == [{"one"}]
    eventually(lambda: names(pods) == set(), within=LIMIT)


def test_a_pod_that_went_while_nobody_watched_is_told_of(double: Double, follow: Follow) -> None:
    gone: list[str] = []
    pods = follow()
    double.add("one")
    double.add("two")
    eventually(lambda: names(pods) == {"one", "two"}, within=LIMIT)
    pods.mourners.add(lambda pod: gone.append(pod["metadata"]["name"]))
    double.refuse()
    eventually(lambda: is_lost(pods), within=LIMIT)
    double.remove("two")
    double.forget()
    double.listen()

    eventually(lambda: gone == ["two"], within=LIMIT)
    eventually(lambda: names(pods) == {"one"}, within=LIMIT)


def test_a_long_list_comes_in_pages(double: Double, api: Api) -> None:
    double.pages = 2
    for name in ("a", "b", "c", "d", "e"):
        double.add(name)

    assert names(Pods(lambda: api, "")) == set("abcde")
    assert api.requests["list"] == 3


def test_pages_that_expired_are_read_again(double: Double, api: Api) -> None:
    double.pages = 1
    double.add("a")
    double.add("b")
    pods = Pods(lambda: api, "")
    double.answers.append(refusal(410, "Expired", "the continue token is too old"))

    assert names(pods) == {"a", "b"}


def test_a_dropped_watch_is_resumed_where_it_stopped(
    double: Double, api: Api, follow: Follow
) -> None:
    pods = follow()
    names(pods)
    last = double.add("one")
    eventually(lambda: names(pods) == {"one"}, within=LIMIT)

    double.drop(half=b'{"type": "ADDED", "object": {"metad')
    eventually(lambda: double.count(watch=True) == 2, within=LIMIT)
    double.add("two")

    eventually(lambda: names(pods) == {"one", "two"}, within=LIMIT)
    resumed = double.asked_for(watch=True)[-1]
    assert resumed.params["resourceVersion"] == last["metadata"]["resourceVersion"]
    assert api.requests["list"] == 1


def test_a_watch_is_resumed_from_its_bookmark(double: Double, api: Api, follow: Follow) -> None:
    pods = follow()
    names(pods)
    version = double.bookmark()
    double.drop()

    eventually(lambda: double.count(watch=True) == 2, within=LIMIT)
    first, second = double.asked_for(watch=True)
    assert first.params["allowWatchBookmarks"] == "true"
    assert second.params["resourceVersion"] == version
    assert names(pods) == set()


def test_a_watch_refused_as_too_old_lists_anew(double: Double, api: Api, follow: Follow) -> None:
    pods = follow()
    double.add("one")
    eventually(lambda: names(pods) == {"one"}, within=LIMIT)

    double.forget()
    double.pods.clear()
    double.drop()

    eventually(lambda: names(pods) == set(), within=LIMIT)
    assert api.requests["list"] == 2


def test_a_watch_told_that_it_is_too_old_lists_anew(
    double: Double, api: Api, follow: Follow
) -> None:
    pods = follow()
    names(pods)
    gone = {"kind": "Status", "code": 410, "reason": "Expired", "message": "too old"}

    double.pods["late"] = {"metadata": {"name": "late", "resourceVersion": "1"}}
    double.end_watches({"type": "ERROR", "object": gone})

    eventually(lambda: names(pods) == {"late"}, within=LIMIT)
    assert api.requests["list"] == 2


def test_while_the_api_is_down_nothing_is_known(double: Double, follow: Follow) -> None:
    heard: list[bool] = []
    pods = follow()
    double.add("one")
    double.add("two")
    eventually(lambda: names(pods) == {"one", "two"}, within=LIMIT)
    pods.listeners.add(lambda: heard.append(is_lost(pods)))

    double.refuse()
    eventually(lambda: is_lost(pods), within=LIMIT)
    eventually(lambda: is_refused(pods), within=LIMIT)
    double.remove("two")
    double.forget()
    double.listen()

    eventually(lambda: is_back(pods), within=LIMIT)
    assert names(pods) == {"one"}
    assert heard[0] is True
    eventually(lambda: heard[-1] is False, within=LIMIT)


@pytest.mark.parametrize("status", [429, 500, 503])
def test_an_api_that_cannot_answer_is_lost_until_it_can(
    double: Double, follow: Follow, status: int
) -> None:
    double.answers.extend([refusal(status, "Busy", "later")] * 3)
    double.add("one")
    pods = follow()

    eventually(lambda: is_back(pods), within=LIMIT)
    assert names(pods) == {"one"}


def test_that_we_may_not_look_is_said(double: Double, follow: Follow) -> None:
    double.answers.extend([refusal(403, "Forbidden", 'user "x" cannot list resource "pods"')] * 99)
    pods = follow()

    with pytest.raises(Forbidden, match=r'does not allow listing pods: user "x" cannot list'):
        pods.all(deadline=soon())


def test_a_frozen_api_is_noticed(double: Double, follow: Follow) -> None:
    pods = follow(HASTE)
    double.add("one")
    eventually(lambda: found(pods) == {"one"}, within=LIMIT)

    double.freeze()

    eventually(lambda: is_lost(pods), within=LIMIT)
    double.thaw()
    eventually(lambda: found(pods) == {"one"}, within=LIMIT)


def test_a_quiet_api_is_asked_and_stays_known(double: Double, api: Api, follow: Follow) -> None:
    pods = follow(Patience(idle=0.1, probe=LIMIT))
    names(pods)

    eventually(lambda: api.requests["probe"] >= 2, within=LIMIT)

    assert names(pods) == set()
    assert api.requests["list"] == 1
    assert api.requests["watch"] == 1


def test_an_answer_of_ours_is_known_before_the_watch_tells(double: Double, follow: Follow) -> None:
    pods = follow()
    double.add("one", phase="Pending")
    eventually(lambda: names(pods) == {"one"}, within=LIMIT)
    ours = {"metadata": {"name": "one", "resourceVersion": "500"}, "status": {"phase": "Ours"}}

    pods.put(ours)
    old = double.change("one", phase="Old")
    double.add("two")
    eventually(lambda: names(pods) == {"one", "two"}, within=LIMIT)
    pods.put(old)

    assert pods.get("one", deadline=soon()) == ours


def test_an_answer_that_the_watch_is_past_brings_nothing_back(
    double: Double, follow: Follow
) -> None:
    pods = follow()
    answer = double.add("one")
    double.remove("one")
    double.add("two")
    eventually(lambda: names(pods) == {"two"}, within=LIMIT)

    pods.put(answer)

    assert names(pods) == {"two"}


def test_an_answer_to_a_deletion_is_news(double: Double, follow: Follow) -> None:
    pods = follow()
    pod = double.add("one")
    eventually(lambda: names(pods) == {"one"}, within=LIMIT)
    ending = {**pod, "metadata": {**pod["metadata"], "deletionTimestamp": "now"}}

    pods.put(ending)

    assert pods.get("one", deadline=soon()) == ending


def test_until_returns_with_the_change(double: Double, follow: Follow) -> None:
    pods = follow()
    double.add("one", phase="Pending")
    names(pods)
    double.change("one", phase="Running")

    found = pods.until(
        "one", lambda pod: pod is not None and pod["status"]["phase"] == "Running", deadline=soon()
    )

    assert found is not None
    double.remove("one")
    assert pods.until("one", lambda pod: pod is None, deadline=soon()) is None


def test_until_gives_up_in_time(double: Double, follow: Follow) -> None:
    pods = follow()
    names(pods)

    with pytest.raises(TimeoutError):
        pods.until("one", lambda pod: pod is not None, deadline=time.monotonic() + 0.1)


def test_until_outlives_an_outage(double: Double, follow: Follow) -> None:
    pods = follow()
    names(pods)
    double.refuse()
    eventually(lambda: is_lost(pods), within=LIMIT)
    double.add("one")
    double.listen()

    assert pods.until("one", lambda pod: pod is not None, deadline=soon())


def test_nothing_is_known_after_the_end(double: Double, follow: Follow) -> None:
    pods = follow()
    names(pods)

    pods.close()

    assert is_lost(pods)


def test_a_server_that_ends_every_watch_is_not_asked_without_pause(
    double: Double, api: Api, follow: Follow
) -> None:
    pods = follow()
    names(pods)
    quit_ = {"type": "ERROR", "object": {"code": 500, "message": "shutting down"}}

    for _ in range(6):
        seen = double.opened
        double.end_watches(quit_)
        eventually(partial(has_more_watches, double, seen), within=LIMIT)

    assert api.requests["list"] > 1


def test_without_a_cluster_nothing_is_known(tmp_path: Path) -> None:
    settings = Settings.read({"kubeconfig": str(tmp_path / "nowhere")}, {})
    pods = Pods(lambda: Api(settings), "")

    with pytest.raises(ApiSilent, match=r"no Kubernetes cluster is known here"):
        pods.all(deadline=soon())
    pods.follow()
    with pytest.raises(ApiSilent, match=r"no Kubernetes cluster is known here"):
        pods.all(deadline=soon())

    pods.close()
