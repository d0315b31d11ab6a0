"""From a pod to its session: what the API of a real cluster said, and what we make of it."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from gascity.core.observed import Alive, Exited, Life, Standing
from gascity_kubernetes import state

NOW = 1_800_000_000.0
MADE = "2027-01-15T07:00:00Z"  # an hour before
DUE = "2027-01-15T08:00:00Z"  # now
NOT_READY = {
    "type": "Ready",
    "status": "False",
    "reason": "ContainersNotReady",
    "message": "containers with unready status: [agent]",
}
READY = {"type": "Ready", "status": "True"}
SCHEDULED = {"type": "PodScheduled", "status": "True"}
ANNOTATIONS = {
    "gascity.dev/session": "gc-city-mayor",
    "gascity.dev/city-id": "0f3a",
    "gascity.dev/work-dir": "/workspace",
    "gascity.dev/token": "t0",
    "meta.gascity.dev/GC_RUN": "r1",
}
STAGED = {**ANNOTATIONS, "gascity.dev/staged": "yes"}

Pod = dict[str, Any]


def pod(
    agent: Pod | None = None,
    *,
    phase: str = "Running",
    conditions: tuple[Pod, ...] = (READY, SCHEDULED),
    annotations: Pod | None = STAGED,
    node: str = "n1",
    deleted: str = "",
    **status: object,
) -> Pod:
    """Return a pod as the API lists it; `agent` is the state of the agent's container."""
    metadata: Pod = {"name": "p", "uid": "u1", "creationTimestamp": MADE}
    if annotations is not None:
        metadata["annotations"] = annotations
    if deleted:
        metadata |= {"deletionTimestamp": deleted, "deletionGracePeriodSeconds": 30}
    found: Pod = {"phase": phase, "conditions": list(conditions), **status}
    if agent is not None:
        found.setdefault("containerStatuses", []).append(
            {"name": "agent", "image": "agent:1", "restartCount": 0, "state": agent}
        )
    return {"metadata": metadata, "spec": {"nodeName": node} if node else {}, "status": found}


def waiting(reason: str, message: str = "") -> Pod:
    words = {"reason": reason, **({"message": message} if message else {})}
    return pod({"waiting": words}, phase="Pending", conditions=(NOT_READY, SCHEDULED))


def ended(
    code: int,
    message: str = "",
    reason: str = "Error",
    *,
    phase: str = "",
    beside: tuple[Pod, ...] = (),
    deleted: str = "",
    at: str = MADE,
) -> Pod:
    words: Pod = {"exitCode": code, "reason": reason, "finishedAt": at}
    if message:
        words["message"] = message
    return pod(
        {"terminated": words},
        phase=phase or ("Failed" if code else "Succeeded"),
        conditions=(NOT_READY, SCHEDULED),
        deleted=deleted,
        containerStatuses=list(beside),
    )


RUNNING = {"running": {"startedAt": MADE}}
UNSCHEDULABLE = {
    "type": "PodScheduled",
    "status": "False",
    "reason": "Unschedulable",
    "message": "0/1 nodes are available: 1 node(s) didn't match Pod's node affinity.",
}
NEVER = 'Container image "none:1" is not present with pull policy of Never'
SIDE = {"name": "side", "restartCount": 0, "state": RUNNING}

UNPULLED = "ImagePullBackOff: image agent:1 cannot be pulled; `kubectl describe pod p` tells why"
PENDING: dict[str, tuple[Pod, str]] = {
    "just made": (
        pod(phase="Pending", conditions=(), node="", annotations=ANNOTATIONS),
        "it waits for a node",
    ),
    "unschedulable": (
        pod(phase="Pending", conditions=(UNSCHEDULABLE,), node=""),
        "unschedulable: 0/1 nodes are available: 1 node(s) didn't match Pod's node affinity",
    ),
    "scheduled, not yet taken up": (
        pod(phase="Pending", conditions=(SCHEDULED,)),
        "its container is being made on node n1",
    ),
    "its container is made": (
        waiting("ContainerCreating"),
        "its container is being made on node n1",
    ),
    "no such image": (
        waiting("ErrImagePull", 'rpc error: code = NotFound desc = "none:1": not found'),
        UNPULLED,
    ),
    "still no such image": (
        waiting("ImagePullBackOff", 'Back-off pulling image "none:1"'),
        UNPULLED,
    ),
    "an image that must not be pulled": (
        waiting("ErrImageNeverPull", NEVER),
        f"ErrImageNeverPull: {NEVER}",
    ),
    "a secret that is not there": (
        waiting("CreateContainerConfigError", 'secret "absent" not found'),
        'CreateContainerConfigError: secret "absent" not found',
    ),
    "a message of several lines": (
        waiting("CreateContainerError", "one\n  two."),
        "CreateContainerError: one two",
    ),
    "an init container that cannot begin": (
        pod(
            {"waiting": {"reason": "PodInitializing"}},
            phase="Pending",
            conditions=(NOT_READY, SCHEDULED),
            initContainerStatuses=[
                {"name": "done", "state": {"terminated": {"exitCode": 0, "reason": "Completed"}}},
                {
                    "name": "first",
                    "state": {"waiting": {"reason": "ErrImageNeverPull", "message": NEVER}},
                },
            ],
        ),
        f"ErrImageNeverPull: {NEVER}",
    ),
    "an init container that takes its time": (
        pod(
            {"waiting": {"reason": "PodInitializing"}},
            phase="Pending",
            conditions=(NOT_READY, SCHEDULED),
            initContainerStatuses=[{"name": "first", "state": RUNNING}],
        ),
        "its container is being made on node n1",
    ),
    "up, but not staged": (
        pod(RUNNING, annotations=ANNOTATIONS),
        "its files are being put in place",
    ),
}

OTHERS: dict[str, tuple[Pod, Standing, str]] = {
    "staged": (pod(RUNNING), Standing.UP, ""),
    "a sidecar that is not ready": (
        pod(RUNNING, conditions=({**NOT_READY, "message": "unready: [side]"}, SCHEDULED)),
        Standing.UP,
        "",
    ),
    "a gate of the template that is not open": (
        pod(RUNNING, conditions=({**NOT_READY, "reason": "ReadinessGatesNotReady"},)),
        Standing.UP,
        "",
    ),
    "being deleted": (pod(RUNNING, deleted=DUE), Standing.ENDING, "its pod is being deleted"),
    "being deleted before it began": (
        pod({"waiting": {"reason": "ContainerCreating"}}, phase="Pending", deleted=DUE),
        Standing.ENDING,
        "its pod is being deleted",
    ),
    "deleted long ago, and still there": (
        pod(RUNNING, deleted="2027-01-15T07:59:00Z"),
        Standing.LOST,
        "its pod cannot be deleted: node n1 does not answer",
    ),
    "deleted long ago, never on a node": (
        pod(phase="Pending", node="", deleted="2027-01-15T07:59:00Z"),
        Standing.ENDING,
        "its pod is being deleted",
    ),
    "its node stopped answering": (
        pod(RUNNING, conditions=({"type": "Ready", "status": "False"}, SCHEDULED)),
        Standing.LOST,
        "node n1 does not answer",
    ),
    "its node stopped answering before it was staged": (
        pod(
            RUNNING,
            conditions=({"type": "Ready", "status": "False"}, SCHEDULED),
            annotations=ANNOTATIONS,
        ),
        Standing.LOST,
        "node n1 does not answer",
    ),
    "nobody knows": (pod(RUNNING, phase="Unknown"), Standing.LOST, "node n1 does not answer"),
    "its node is lost": (
        pod(RUNNING, reason="NodeLost", message="Node n1 which was running pod p is unresponsive"),
        Standing.LOST,
        "node n1 does not answer",
    ),
}

ENDS: dict[str, tuple[Pod, Life]] = {
    "done": (ended(0, "gc: exited 0\nbye", "Completed"), Exited(0)),
    "failed": (ended(3, "gc: exited 3\nlast words"), Exited(3)),
    "with a status that looks like a signal": (ended(137, "gc: exited 137\n"), Exited(137)),
    "by a signal": (ended(143, "gc: killed 15\n"), Exited(signal=15)),
    "asked to end": (
        ended(143, "gc: it was asked to end\n"),
        Exited(143, None, "it was asked to end"),
    ),
    "no tmux": (
        ended(127, "gc: there is no tmux in its image\n"),
        Exited(127, None, "there is no tmux in its image"),
    ),
    "its first process was killed": (ended(137), Exited(signal=9)),
    "its first process ended in a way nobody knows": (
        ended(255, reason="Unknown"),
        Exited(255, None, "Unknown"),
    ),
    "killed for its memory": (
        ended(137, "gc: killed 9\nbye", "OOMKilled"),
        Exited(signal=9, reason="it ran out of memory"),
    ),
    "killed for its memory with its first process": (
        ended(137, reason="OOMKilled"),
        Exited(signal=9, reason="it ran out of memory"),
    ),
    "its command is not in the image": (
        ended(128, 'exec: "/bin/sh": no such file\nmore', "StartError"),
        Exited(128, None, 'StartError: exec: "/bin/sh": no such file'),
    ),
    "nobody found its container": (
        ended(137, "The container could not be located", "ContainerStatusUnknown"),
        Exited(signal=9, reason="ContainerStatusUnknown: The container could not be located"),
    ),
    "evicted": (
        pod(
            phase="Failed",
            conditions=(),
            reason="Evicted",
            message="The node was low on resource: memory. ",
        ),
        Exited(reason="evicted: The node was low on resource: memory"),
    ),
    "evicted, with its container still told": (
        pod(
            {"terminated": {"exitCode": 137, "message": "gc: killed 9\n", "reason": "Error"}},
            phase="Failed",
            reason="Evicted",
        ),
        Exited(signal=9, reason="evicted"),
    ),
    "its node was shut down": (
        pod(phase="Failed", reason="NodeShutdown", message="Node is shutting, evicting pods"),
        Exited(reason="its node was shut down: Node is shutting, evicting pods"),
    ),
    "it ran too long, and its container is not told of yet": (
        pod(
            RUNNING,
            phase="Failed",
            conditions=(),
            reason="DeadlineExceeded",
            message="Pod was active on the node longer than the specified deadline",
        ),
        Exited(
            reason="it ran longer than its pod may:"
            " Pod was active on the node longer than the specified deadline"
        ),
    ),
    "while a sidecar runs": (
        ended(137, "gc: killed 9\nbye", phase="Running", beside=(SIDE,)),
        Exited(signal=9),
    ),
    "before it was deleted": (ended(0, "gc: exited 0\n", deleted=DUE), Exited(0)),
    "because it was deleted": (
        ended(129, "gc: killed 1\n", deleted=DUE, at="2027-01-15T07:59:31Z"),
        Exited(signal=1, reason="its pod was deleted"),
    ),
    "deleted, and nobody told how it ended": (
        pod(phase="Failed", deleted=DUE),
        Exited(reason="its pod was deleted"),
    ),
    "an init container failed": (
        pod(
            {"waiting": {"reason": "PodInitializing"}},
            phase="Failed",
            conditions=(NOT_READY, SCHEDULED),
            initContainerStatuses=[
                {"name": "first", "state": {"terminated": {"exitCode": 3, "reason": "Error"}}}
            ],
        ),
        Exited(reason="its init container first exited with status 3"),
    ),
    "nobody saw how": (pod(phase="Failed", conditions=()), Exited()),
}


@pytest.mark.parametrize(("found", "why"), PENDING.values(), ids=PENDING)
def test_a_pod_that_has_not_begun_is_pending_and_says_why(found: Pod, why: str) -> None:
    seen = state.session_state(found, NOW)

    assert (seen.life, seen.standing, seen.condition) == (Alive(), Standing.PENDING, why)


@pytest.mark.parametrize(("found", "standing", "why"), OTHERS.values(), ids=OTHERS)
def test_a_pod_that_lives_stands_somehow(found: Pod, standing: Standing, why: str) -> None:
    seen = state.session_state(found, NOW)

    assert (seen.life, seen.standing, seen.condition) == (Alive(), standing, why)


@pytest.mark.parametrize(("found", "life"), ENDS.values(), ids=ENDS)
def test_a_pod_that_ended_tells_how(found: Pod, life: Life) -> None:
    seen = state.session_state(found, NOW)

    assert (seen.life, seen.standing, seen.condition) == (life, Standing.UP, "")
    assert state.is_over(found)


def test_a_session_is_named_by_its_annotation_and_carries_its_metadata() -> None:
    seen = state.session_state(pod(RUNNING), NOW)

    assert seen.name == "gc-city-mayor"
    assert seen.meta == {"GC_RUN": "r1"}
    assert seen.created == NOW - 3600
    assert state.owner(pod()) == "0f3a"
    assert state.work_dir(pod()) == "/workspace"
    assert state.token(pod()) == "t0"
    assert state.uid(pod()) == "u1"


@pytest.mark.parametrize("annotations", [None, {}, {"else": "x"}])
def test_a_pod_of_someone_else_carries_no_session(annotations: Pod | None) -> None:
    foreign = pod(RUNNING, annotations=annotations)

    assert state.session_state(foreign, NOW).name == ""
    assert state.owner(foreign) == ""
    assert state.meta(foreign) == {}
    assert not state.is_staged(foreign)


def test_annotations_may_be_nothing_at_all() -> None:
    found = pod(RUNNING)
    found["metadata"]["annotations"] = None

    assert state.session_of(found) == ""


def test_a_pod_that_the_api_knows_nothing_of_yet_waits_for_a_node() -> None:
    bare = {"metadata": {"name": "p", "uid": "u", "annotations": STAGED}, "spec": {}}

    assert state.session_state(bare, NOW).condition == "it waits for a node"
    assert not state.is_over(bare)
    assert not state.is_reachable(bare)


@pytest.mark.parametrize(
    ("message", "words"),
    [
        ("gc: exited 3\nlast words\n", "last words\n"),
        ("gc: killed 9\ngc: exited 0\n", "gc: exited 0\n"),
        ("gc: its tmux ended\n", ""),
        ("gc: exited 0\n", ""),
        ("failed to create containerd task", "failed to create containerd task"),
        ("", ""),
    ],
)
def test_last_words_are_what_follows_our_line(message: str, words: str) -> None:
    assert state.last_words(ended(3, message)) == words


def test_of_a_pod_that_was_taken_away_its_session_and_the_reason_remain() -> None:
    found = state.removed(pod(RUNNING))

    assert (found.name, found.run) == ("gc-city-mayor", "r1")
    assert str(found.life) == "its pod was deleted"


def test_a_pod_whose_agent_lives_has_no_last_words() -> None:
    assert state.last_words(pod(RUNNING)) == ""


def test_something_can_be_done_in_a_pod_while_its_container_runs() -> None:
    beside = pod(None, containerStatuses=[SIDE])

    assert state.is_reachable(pod(RUNNING))
    assert not state.is_reachable(waiting("ContainerCreating"))
    assert not state.is_reachable(ended(0))
    assert not state.is_reachable(beside)


def test_a_sidecar_keeps_a_pod_from_having_ended() -> None:
    found = ended(0, phase="Running", beside=(SIDE,))

    assert state.is_over(found)
    assert not state.has_ended(found)
    assert state.has_ended(ended(0))


def test_no_question_changes_a_pod() -> None:
    pods: list[Pod] = [case[0] for case in PENDING.values()]
    pods += [case[0] for case in OTHERS.values()]
    pods += [case[0] for case in ENDS.values()]
    before = copy.deepcopy(pods)

    for found in pods:
        state.session_state(found, NOW)
        state.last_words(found)

    assert pods == before


def test_a_session_is_as_old_as_its_agent() -> None:
    found = pod(RUNNING, annotations={**STAGED, "gascity.dev/staged": "1700000000.5"})

    assert state.session_state(found, 0.0).created == 1700000000.5


def test_a_session_whose_agent_has_not_begun_is_as_old_as_its_pod() -> None:
    found = pod(RUNNING, annotations=ANNOTATIONS)
    found["metadata"]["creationTimestamp"] = "2026-03-01T15:04:05Z"

    assert state.session_state(found, 0.0).created == 1772377445.0


DRAINED = {
    "type": "DisruptionTarget",
    "status": "True",
    "reason": "EvictionByEvictionAPI",
    "message": "Eviction API: evicting",
}


def test_a_pod_that_a_drain_deletes_says_so() -> None:
    found = pod(RUNNING, conditions=(READY, DRAINED), deleted=MADE)

    seen = state.session_state(found, 0.0)

    assert seen.standing is Standing.ENDING
    assert seen.condition == "its pod is being deleted: Eviction API: evicting"


def test_an_agent_that_a_drain_ended_says_so() -> None:
    ended = {"terminated": {"exitCode": 143, "reason": "Error"}}
    found = pod(ended, phase="Failed", conditions=(DRAINED,))

    assert state.session_state(found, 0.0).life == Exited(signal=15, reason=DRAINED["message"])


@pytest.mark.parametrize("name", ["just made", "its container is made", "no such image"])
def test_a_pod_that_waits_has_not_begun(name: str) -> None:
    found, _ = PENDING[name]

    assert not state.has_begun(found)


@pytest.mark.parametrize(
    "found",
    [
        pod(RUNNING),
        ended(1),
        pod({"waiting": {"reason": "ErrImagePull"}}, containerStatuses=[SIDE]),
        pod({"waiting": {"reason": "PodInitializing"}}, initContainerStatuses=[SIDE]),
    ],
    ids=["up", "over", "beside it", "before it"],
)
def test_a_pod_of_which_anything_runs_or_ran_has_begun(found: Pod) -> None:
    assert state.has_begun(found)
