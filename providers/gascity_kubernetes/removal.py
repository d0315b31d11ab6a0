"""The end of a pod: with grace where something runs, at once where nothing ever did.

A pod deleted without grace is forgotten before its processes are known to be gone, so that is done
only once they are, or when there never were any: a node takes its time to tidy up, most of all
after what it could not begin. Of a pod whose node stays silent nobody will ever know; whoever has
it removed gives it up.
"""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Callable

from gascity.errors import StopTimedOut
from gascity_kubernetes import state
from gascity_kubernetes.api import Api
from gascity_kubernetes.pods import Pods
from gascity_kubernetes.problems import Absent, Taken
from gascity_kubernetes.state import Pod

ANSWERS = 10.0  # seconds, beyond the grace, for a node that was silent to end a pod after all
Check = Callable[[Pod | None], bool]


def remove(api: Api, pods: Pods, pod: Pod, *, grace: float, deadline: float) -> None:
    """Delete a pod and return when it is gone. Raises StopTimedOut."""
    uid = state.uid(pod)

    def is_gone(one: Pod | None) -> bool:
        return one is None or state.uid(one) != uid

    if not state.has_begun(pod) and _delete(api, pod, 0, deadline, as_seen=True):
        _until(pods, pod, is_gone, deadline)
        return
    now: Pod | None = pod
    if not state.has_ended(pod):
        _delete(api, pod, max(1, math.ceil(grace)), deadline)
        now = _ended(pods, pod, is_gone, grace, deadline)
    if not is_gone(now):
        _delete(api, pod, 0, deadline)
        _until(pods, pod, is_gone, deadline)


def _ended(pods: Pods, pod: Pod, is_gone: Check, grace: float, deadline: float) -> Pod | None:
    """Return a pod that was deleted once nothing of it runs, or its node is given up."""

    def is_over(one: Pod | None) -> bool:
        return one is None or is_gone(one) or state.has_ended(one)

    if state.is_lost(pod, time.time()):
        name = str(pod["metadata"]["name"])
        patience = min(deadline, time.monotonic() + grace + ANSWERS)
        with contextlib.suppress(TimeoutError):
            return pods.until(name, is_over, deadline=patience)
        now = pods.get(name, deadline=deadline)
        if is_over(now) or (now is not None and state.is_lost(now, time.time())):
            return now
    return _until(pods, pod, is_over, deadline)


def _delete(api: Api, pod: Pod, grace: int, deadline: float, *, as_seen: bool = False) -> bool:
    """Delete this very pod, if it must only `as_seen`; False when it is not so any more."""
    about = pod["metadata"]
    known = {"uid": about["uid"]}
    if as_seen:
        known["resourceVersion"] = about["resourceVersion"]
    body = {"gracePeriodSeconds": grace, "preconditions": known}
    left = max(deadline - time.monotonic(), 0.01)
    try:
        api.request("DELETE", api.pod_path(str(about["name"])), body=body, timeout=left)
    except Absent:
        return True
    except Taken:  # it changed, or another is in its place
        return False
    return True


def _until(pods: Pods, pod: Pod, check: Check, deadline: float) -> Pod | None:
    name = str(pod["metadata"]["name"])
    try:
        return pods.until(name, check, deadline=deadline)
    except TimeoutError as problem:
        raise StopTimedOut(
            f"pod {name} is still there", hint=f"`kubectl describe pod {name}` tells why"
        ) from problem
