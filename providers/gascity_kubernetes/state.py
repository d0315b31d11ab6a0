"""What a pod says of its session: pure functions from the API's words to ours.

A session is up when its agent was started in it. Before that it is pending, with the reason that
Kubernetes gives; a pod that is being deleted is ending; one whose node does not answer is lost: it
may live there, and nobody can tell.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any

from gascity.core.observed import Alive, Exited, Life, SessionState, Standing
from gascity_kubernetes import names

CONTAINER = "agent"
MOST_MESSAGE = 160  # characters of what Kubernetes says
DELETED = "its pod was deleted"
OVERDUE = 30.0  # seconds after which a pod that should be gone shows that its node is
_END = re.compile(r"gc: (?:exited (?P<code>\d+)|killed (?P<signal>\d+)|(?P<said>[^\n]*))\n?")
# Words of the API that a person need not learn.
_PLAIN = {
    "Evicted": "evicted",
    "OOMKilled": "it ran out of memory",
    "NodeLost": "its node was lost",
    "NodeShutdown": "its node was shut down",
    "Terminated": "its node was shut down",
    "DeadlineExceeded": "it ran longer than its pod may",
    "Preempting": "a pod of higher priority took its place",
}
_PULLING = frozenset({"ErrImagePull", "ImagePullBackOff"})
_MAKING = "its container is being made on node"
_BEGINNING = frozenset({"ContainerCreating", "PodInitializing", ""})
# Why a pod is not ready though its node answers.
_ANSWERED = frozenset({"ContainersNotReady", "PodCompleted", "ReadinessGatesNotReady"})
_LAST_SIGNAL = 64
_LIVES = ("state", "lastState")  # of a container

Pod = Mapping[str, Any]


def session_of(pod: Pod) -> str:
    """Return the true name of the session that a pod carries; "" for a pod that carries none."""
    return str(_annotations(pod).get(names.SESSION, ""))


def owner(pod: Pod) -> str:
    """Return the id of the city that made a pod."""
    return str(_annotations(pod).get(names.CITY_ID, ""))


def uid(pod: Pod) -> str:
    """Return what no other pod ever has."""
    return str(pod["metadata"]["uid"])


def meta(pod: Pod) -> dict[str, str]:
    """Return the metadata of a pod's session."""
    return {
        key.removeprefix(names.META): value
        for key, value in _annotations(pod).items()
        if key.startswith(names.META)
    }


def work_dir(pod: Pod) -> str:
    """Return the folder the agent works in, inside the pod."""
    return str(_annotations(pod).get(names.WORK_DIR, "/"))


def token(pod: Pod) -> str:
    """Return what the pod's first process was told, so that it can be told from its successor."""
    return str(_annotations(pod).get(names.TOKEN, ""))


def is_staged(pod: Pod) -> bool:
    """Tell whether everything was put in place and the agent started."""
    return names.STAGED in _annotations(pod)


def is_reachable(pod: Pod) -> bool:
    """Tell whether something can be done inside the pod."""
    return "running" in _container(pod).get("state", {})


def is_over(pod: Pod) -> bool:
    """Tell whether the agent's container ended, or will never begin."""
    terminated = "terminated" in _container(pod).get("state", {})
    return terminated or pod.get("status", {}).get("phase") in ("Succeeded", "Failed")


def has_ended(pod: Pod) -> bool:
    """Tell whether nothing of a pod runs any more, its other containers included."""
    return pod.get("status", {}).get("phase") in ("Succeeded", "Failed")


def has_begun(pod: Pod) -> bool:
    """Tell whether anything of a pod runs or ever ran, its other containers included."""
    status = pod.get("status", {})
    told = (*status.get("containerStatuses", ()), *_first(pod))
    return any(
        {"running", "terminated"} & one.get(key, {}).keys() for one in told for key in _LIVES
    )


def is_going(pod: Pod) -> bool:
    """Tell whether somebody deleted it, and it is not gone yet."""
    return "deletionTimestamp" in pod["metadata"]


def is_lost(pod: Pod, now: float) -> bool:
    """Tell whether a pod's node does not answer, whether or not somebody deleted the pod."""
    return _standing(pod, now)[1] is Standing.LOST or (not is_over(pod) and _is_silent(pod))


def session_state(pod: Pod, now: float) -> SessionState:
    """Return the session that a pod carries, as it stands."""
    life, standing, condition = _standing(pod, now)
    return SessionState(
        name=session_of(pod),
        life=life,
        created=_began(pod),
        meta=meta(pod),
        standing=standing,
        condition=condition,
    )


def removed(pod: Pod) -> SessionState:
    """Return the session of a pod that was taken away while its agent lived."""
    end = Exited(reason=_sentence(DELETED, _disruption(pod)))
    return replace(session_state(pod, 0.0), life=end, standing=Standing.UP)


def last_words(pod: Pod) -> str:
    """Return the last screen of an agent that ended, as far as a pod keeps it."""
    said = str(_container(pod).get("state", {}).get("terminated", {}).get("message", ""))
    found = _END.match(said)
    return said[found.end() :] if found and said.startswith("gc: ") else said


def why_pending(pod: Pod) -> str:
    """Say what a pod that has not begun waits for."""
    status = pod.get("status", {})
    for container in (_container(pod), *_first(pod)):
        waiting = container.get("state", {}).get("waiting", {})
        reason, message = str(waiting.get("reason", "")), str(waiting.get("message", ""))
        if reason in _PULLING:
            return _not_pulled(pod, container)
        if reason not in _BEGINNING:
            return _sentence(reason, message)
    for condition in status.get("conditions", ()):
        if condition.get("type") == "PodScheduled" and condition.get("status") == "False":
            return _sentence(
                str(condition.get("reason", "")).lower(), str(condition.get("message", ""))
            )
    if not pod.get("spec", {}).get("nodeName"):
        return "it waits for a node"
    return f"{_MAKING} {pod['spec']['nodeName']}"


def _not_pulled(pod: Pod, container: Mapping[str, Any]) -> str:
    """Say that an image cannot be pulled: one sentence for the two states that take turns."""
    tells = f"`kubectl describe pod {pod['metadata']['name']}` tells why"
    return f"ImagePullBackOff: image {container.get('image', '')} cannot be pulled; {tells}"


def is_stuck(pod: Pod) -> bool:
    """Tell whether a pod that has not begun lacks something that may never come."""
    return not is_reachable(pod) and not why_pending(pod).startswith(_MAKING)


def _began(pod: Pod) -> float | None:
    """Return when the agent was started, by the clock of who did it; else when the pod was made.

    A pod may wait for its node and its image for long, and the clock of the API may be another.
    """
    try:
        return float(_annotations(pod).get(names.STAGED, ""))
    except ValueError:
        return _time(pod["metadata"].get("creationTimestamp"))


def _standing(pod: Pod, now: float) -> tuple[Life, Standing, str]:
    if is_over(pod):
        return _end(pod), Standing.UP, ""
    node = pod.get("spec", {}).get("nodeName", "")
    if is_going(pod):
        due = _time(pod["metadata"]["deletionTimestamp"])
        if node and due is not None and now - due > OVERDUE:
            return Alive(), Standing.LOST, f"its pod cannot be deleted: node {node} does not answer"
        return Alive(), Standing.ENDING, _sentence("its pod is being deleted", _disruption(pod))
    if _is_silent(pod):
        return Alive(), Standing.LOST, f"node {node} does not answer"
    if not is_reachable(pod):
        return Alive(), Standing.PENDING, why_pending(pod)
    if not is_staged(pod):
        return Alive(), Standing.PENDING, "its files are being put in place"
    return Alive(), Standing.UP, ""


def _is_silent(pod: Pod) -> bool:
    status = pod.get("status", {})
    said = status.get("phase") == "Unknown" or status.get("reason") == "NodeLost"
    return said or (is_reachable(pod) and _is_unready(status))


def _is_unready(status: Mapping[str, Any]) -> bool:
    """Tell whether a pod without any readiness test was declared not ready: its node is gone."""
    return any(
        condition.get("type") == "Ready"
        and condition.get("status") != "True"
        and condition.get("reason", "") not in _ANSWERED
        for condition in status.get("conditions", ())
    )


def _end(pod: Pod) -> Exited:
    """Return how the agent ended: its own end as PID 1 wrote it down, else what the API knows."""
    terminated = _container(pod).get("state", {}).get("terminated", {})
    found = _END.match(str(terminated.get("message", "")))
    reason = _reason(pod, terminated) or _deleted(pod, terminated)
    if found and found["code"]:
        return Exited(code=int(found["code"]), reason=reason)
    if found and found["signal"]:
        return Exited(signal=int(found["signal"]), reason=reason)
    said = found["said"] if found else ""
    code = terminated.get("exitCode")
    if code is None:
        return Exited(reason=reason or _why_not_begun(pod) or (DELETED if is_going(pod) else ""))
    if 128 < code <= 128 + _LAST_SIGNAL and not said:
        return Exited(signal=code - 128, reason=reason)
    return Exited(code=code, reason=reason or said or "")


def _reason(pod: Pod, terminated: Mapping[str, Any]) -> str:
    status = pod.get("status", {})
    word = str(status.get("reason", ""))
    if word:
        return _sentence(_PLAIN.get(word, word), str(status.get("message", "")))
    if told := _disruption(pod):
        return _sentence("", told)
    word = str(terminated.get("reason", ""))
    if word in ("", "Error", "Completed"):
        return ""
    if word in _PLAIN:
        return _PLAIN[word]
    return _sentence(word, str(terminated.get("message", "")).partition("\n")[0])


def _deleted(pod: Pod, terminated: Mapping[str, Any]) -> str:
    """Say that a pod was deleted, if that is what ended its agent."""
    due, ended = _time(pod["metadata"].get("deletionTimestamp")), terminated.get("finishedAt")
    if due is None or (at := _time(ended)) is None:
        return ""
    asked = due - float(pod["metadata"].get("deletionGracePeriodSeconds") or 0)
    return DELETED if at >= asked else ""


def _disruption(pod: Pod) -> str:
    """Return why something other than us ends a pod, as newer clusters tell: a drain, a taint."""
    for condition in pod.get("status", {}).get("conditions", ()):
        if condition.get("type") == "DisruptionTarget" and condition.get("status") == "True":
            return str(condition.get("message") or condition.get("reason", ""))
    return ""


def _why_not_begun(pod: Pod) -> str:
    for container in _first(pod):
        code = container.get("state", {}).get("terminated", {}).get("exitCode", 0)
        if code:
            return f"its init container {container.get('name')} exited with status {code}"
    return ""


def _first(pod: Pod) -> Iterable[Mapping[str, Any]]:
    """Return what is told of the containers that have to end before the agent's begins."""
    found: Iterable[Mapping[str, Any]] = pod.get("status", {}).get("initContainerStatuses", ())
    return found


def _container(pod: Pod) -> Mapping[str, Any]:
    for status in pod.get("status", {}).get("containerStatuses", ()):
        if status.get("name") == CONTAINER:
            found: Mapping[str, Any] = status
            return found
    return {}


def _annotations(pod: Pod) -> Mapping[str, str]:
    found: Mapping[str, str] = pod["metadata"].get("annotations") or {}
    return found


def _sentence(word: str, message: str) -> str:
    told = " ".join(message.split()).rstrip(".")
    if len(told) > MOST_MESSAGE:  # the cause comes last
        told = f"{told[: MOST_MESSAGE // 2].rstrip()} ... {told[-MOST_MESSAGE // 2 :].lstrip()}"
    return ": ".join(part for part in (word, told) if part)


def _time(text: object) -> float | None:
    if not isinstance(text, str):
        return None
    return datetime.fromisoformat(text).timestamp()
