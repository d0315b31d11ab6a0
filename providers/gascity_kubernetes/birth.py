"""Making the pod of a session, or going on with one that an earlier start left behind.

A pod that waits for a node or an image is nobody's failure: it is left as it is, and the next start
goes on where this one stopped, unless the pod would be another by now.
"""

from __future__ import annotations

import contextlib
import math
import secrets
import time
from collections.abc import Callable, Mapping

from gascity.core.model import SessionConfig
from gascity.errors import (
    GascityError,
    ProviderUnavailable,
    SessionExists,
    SessionNotFound,
    StartFailed,
    StartPending,
    StopTimedOut,
)
from gascity_kubernetes import entry, manifest, names, state
from gascity_kubernetes.api import Api
from gascity_kubernetes.hands import Hands
from gascity_kubernetes.manifest import City
from gascity_kubernetes.pods import Pods
from gascity_kubernetes.problems import Absent, ApiRefused, ApiSilent, Forbidden, Taken
from gascity_kubernetes.settings import Settings
from gascity_kubernetes.state import Pod

SHARE = 0.5  # of a start's time that may be spent waiting for the pod: the rest is for the agent
STUCK = 10.0  # seconds for a pod that lacks something; then whoever decides may decide otherwise
REHEARSAL = 10.0  # seconds to ask whether a pod would be taken
ANSWERS = 10.0  # seconds, beyond the grace, for a node that was silent to end a pod after all
DISCARD = 10.0  # seconds to remove the pod of a start that failed
QUOTA = "exceeded quota"
INVALID = 422
MERGE = "application/merge-patch+json"
SOON, LATER = 0.05, 1.0
Check = Callable[[Pod | None], bool]


class Births:
    """Makes and removes pods, for one city."""

    def __init__(self, city: City, settings: Settings, api: Api, pods: Pods, hands: Hands) -> None:
        self._city = city
        self.settings = settings
        self._api = api
        self._pods = pods
        self._hands = hands

    def pod_of(self, session: str, deadline: float) -> Pod | None:
        """Return the pod of a session as it is at this moment, if there is one."""
        path = self._api.pod_path(names.pod_name(self._city.id, session))
        try:
            found = self._api.request("GET", path, timeout=_left(deadline))
        except Absent:
            return None
        if state.session_of(found) != session or state.owner(found) != self._city.id:
            return None
        self._pods.put(found)
        return found

    def prepare(self, session: str, config: SessionConfig, *, deadline: float) -> Pod:
        """Return a pod that is up and waits for its agent.

        Raises SessionExists, StartFailed when it cannot be, and StartPending when it cannot be yet.
        """
        now = time.monotonic()
        until = now + (deadline - now) * SHARE
        wanted = manifest.pod(session, config, self._city, self.settings, secrets.token_hex(8))
        found = self.pod_of(session, deadline)
        if found is not None:
            if _is_taken(found):
                raise SessionExists(f"session {session} exists already")
            if not self._can_go_on(found, wanted, session, until):
                self.remove(found, grace=0.0, deadline=until)
                found = None
        pod = self._take_up(found, wanted, until) if found is not None else None
        return self._await(pod or self._create(session, wanted, until), session, until)

    def rehearse(self) -> None:
        """Have the API say whether it would take a pod of this city; none is made.

        Raises what `prepare` does when it would not.
        """
        config = SessionConfig("true", self._city.path, {})
        sample = manifest.pod("gc-doctor", config, self._city, self.settings, secrets.token_hex(8))
        with contextlib.suppress(SessionExists):
            until = time.monotonic() + REHEARSAL
            self._create("gc-doctor", sample, until, query={"dryRun": "All"})

    def remove(self, pod: Pod, *, grace: float, deadline: float) -> None:
        """Delete a pod and return when it is gone. Raises StopTimedOut.

        A pod deleted without grace is forgotten before its processes are known to be gone, so that
        is done only once they are: the node takes its time to tidy up. Of one whose node stays
        silent nobody will ever know; whoever has it removed gives it up.
        """
        name, uid = str(pod["metadata"]["name"]), state.uid(pod)
        now: Pod | None = pod
        if not state.has_ended(pod):
            self._delete(pod, max(1, math.ceil(grace)), deadline)
            now = self._ended(pod, grace, deadline)
        if not _is_gone(now, uid):
            self._delete(pod, 0, deadline)
            self._until(name, lambda one: _is_gone(one, uid), deadline)

    def _ended(self, pod: Pod, grace: float, deadline: float) -> Pod | None:
        """Return a pod that was deleted once nothing of it runs, or its node is given up."""
        name, uid = str(pod["metadata"]["name"]), state.uid(pod)

        def is_over(one: Pod | None) -> bool:
            return one is None or _is_gone(one, uid) or state.has_ended(one)

        if state.is_lost(pod, time.time()):
            patience = min(deadline, time.monotonic() + grace + ANSWERS)
            with contextlib.suppress(TimeoutError):
                return self._pods.until(name, is_over, deadline=patience)
            now = self._pods.get(name, deadline=deadline)
            if is_over(now) or (now is not None and state.is_lost(now, time.time())):
                return now
        return self._until(name, is_over, deadline)

    def discard(self, pod: Pod, failure: StartFailed) -> None:
        """Remove the pod of a start that failed.

        Raises StartFailed where that fails too: why the start did is told in any case.
        """
        try:
            self.remove(pod, grace=0.0, deadline=time.monotonic() + DISCARD)
        except GascityError as problem:
            raise StartFailed(
                f"{failure.message}; and it is not gone: {problem.message}", output=failure.output
            ) from failure

    def _delete(self, pod: Pod, grace: int, deadline: float) -> None:
        body = {"gracePeriodSeconds": grace, "preconditions": {"uid": state.uid(pod)}}
        path = self._api.pod_path(str(pod["metadata"]["name"]))
        with contextlib.suppress(Absent, Taken):  # it is gone, or another is in its place
            self._api.request("DELETE", path, body=body, timeout=_left(deadline))

    def _until(self, name: str, check: Check, deadline: float) -> Pod | None:
        try:
            return self._pods.until(name, check, deadline=deadline)
        except TimeoutError as problem:
            raise StopTimedOut(
                f"pod {name} is still there", hint=f"`kubectl describe pod {name}` tells why"
            ) from problem

    def patch(self, pod: Pod, annotations: dict[str, str | None], *, timeout: float) -> Pod | None:
        """Change annotations of this very pod; None when it is gone."""
        name = str(pod["metadata"]["name"])
        body = {"metadata": {"uid": state.uid(pod), "annotations": annotations}}
        try:
            changed = self._api.request(
                "PATCH", self._api.pod_path(name), body=body, content_type=MERGE, timeout=timeout
            )
        except (Absent, Taken):
            return None
        except ApiRefused as problem:
            if problem.status == INVALID and "metadata.uid" in problem.message:
                return None  # so it says that another pod has the name by now
            raise
        self._pods.put(changed)
        return changed

    def _create(
        self, session: str, wanted: Pod, until: float, query: Mapping[str, str] | None = None
    ) -> Pod:
        try:
            made = self._api.request(
                "POST", self._api.pod_path(), body=wanted, query=query, timeout=_left(until)
            )
        except Absent as problem:
            raise StartPending(
                f'there is no namespace "{self._api.namespace}" in the cluster',
                hint=f"`kubectl create namespace {self._api.namespace}` makes it",
            ) from problem
        except Taken as problem:
            raise SessionExists(f"session {session} exists already") from problem
        except Forbidden as problem:
            kind = StartPending if QUOTA in problem.message else StartFailed
            raise kind(problem.message, hint=problem.hint) from problem
        except ApiRefused as problem:
            raise StartFailed(f"the pod of {session} is refused: {problem.message}") from problem
        if not query:
            self._pods.put(made)
        return made

    def _can_go_on(self, found: Pod, wanted: Pod, session: str, until: float) -> bool:
        """Tell whether a pod that was left behind is still what is wanted, and untouched."""
        if state.is_over(found) or state.is_going(found):
            return False
        if manifest.spec_of(found) != manifest.spec_of(wanted):
            return False
        if not state.is_reachable(found):
            return True
        self._await_first_process(found, session, until)
        hand = self._hands.of(found, deadline=until)
        return hand.run(f"[ ! -e {entry.BEGUN} ]", deadline=until).status == 0

    def _take_up(self, found: Pod, wanted: Pod, until: float) -> Pod | None:
        """Give a pod that was left behind the metadata of the start that goes on with it."""
        old = {names.META + key: None for key in state.meta(found)}
        new = dict(wanted["metadata"]["annotations"])
        new.pop(names.TOKEN, None)
        return self.patch(found, {**old, **new}, timeout=_left(until))

    def _await(self, pod: Pod, session: str, until: float) -> Pod:
        """Wait until the first process of a pod is ready."""
        name, uid = str(pod["metadata"]["name"]), state.uid(pod)

        def is_decided(now: Pod | None) -> bool:
            return (
                now is None
                or state.uid(now) != uid
                or state.is_reachable(now)
                or state.is_over(now)
                or state.is_going(now)
            )

        try:
            try:
                soon = min(until, time.monotonic() + STUCK)
                now = self._pods.until(name, is_decided, deadline=soon)
            except TimeoutError:  # one that is being made is worth waiting for
                now = self._pods.until(
                    name,
                    lambda one: is_decided(one) or (one is not None and state.is_stuck(one)),
                    deadline=until,
                )
        except TimeoutError as problem:
            last = self._pods.get(name, deadline=time.monotonic() + 1.0)
            raise _pending(last or pod) from problem
        if now is None or state.uid(now) != uid or state.is_going(now):
            raise _stopped(session)
        if state.is_over(now):
            raise self._failed(now, session)
        if not state.is_reachable(now):
            raise _pending(now)
        self._await_first_process(now, session, until)
        return now

    def _await_first_process(self, pod: Pod, session: str, until: float) -> None:
        """Wait until the pod can be reached by its name, and its first process is up.

        A container runs before its first process has done anything, and a node may still know the
        pod of the same name that was deleted before.
        """
        asked = f"[ -e {entry.WAITING} ]"
        pause = SOON
        while True:
            try:
                if self._hands.of(pod, deadline=until).run(asked, deadline=until).status == 0:
                    return
            except (ProviderUnavailable, SessionNotFound):
                now = self.pod_of(session, until)
                if now is None or state.uid(now) != state.uid(pod) or state.is_going(now):
                    raise _stopped(session) from None
                if state.is_over(now):
                    raise self._failed(now, session) from None
                if time.monotonic() >= until:
                    raise
            if time.monotonic() >= until:
                raise ApiSilent(f"the first process of the pod of {session} is not up")
            time.sleep(pause)  # nothing tells when a process has made a file
            pause = min(pause * 2, LATER)

    def _failed(self, pod: Pod, session: str) -> StartFailed:
        said = state.session_state(pod, time.time()).life
        return StartFailed(
            f"the pod of {session} {said} before its agent was started",
            output=state.last_words(pod),
        )


def _is_taken(pod: Pod) -> bool:
    return state.is_staged(pod) and not state.is_over(pod) and not state.is_going(pod)


def _stopped(session: str) -> StartFailed:
    return StartFailed(f"session {session} was stopped while it started")


def _pending(pod: Pod) -> StartPending:
    return StartPending(f"its pod is pending: {state.why_pending(pod)}")


def _is_gone(pod: Pod | None, uid: str) -> bool:
    return pod is None or state.uid(pod) != uid


def _left(deadline: float) -> float:
    return max(deadline - time.monotonic(), 0.01)
