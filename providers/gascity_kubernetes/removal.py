"""The end of a pod: with grace where something runs, at once where nothing ever did.

A pod deleted without grace is forgotten before its processes are known to be gone, so that is done
only once they are, or when there never were any: a node takes its time to tidy up, most of all
after what it could not begin.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable

from gascity.errors import StopTimedOut
from gascity_kubernetes import state
from gascity_kubernetes.api import Api
from gascity_kubernetes.pods import Pods
from gascity_kubernetes.problems import Absent, Taken
from gascity_kubernetes.state import Pod

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
        now = _until(
            pods, pod, lambda one: one is None or is_gone(one) or state.has_ended(one), deadline
        )
    if not is_gone(now):
        _delete(api, pod, 0, deadline)
        _until(pods, pod, is_gone, deadline)


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
