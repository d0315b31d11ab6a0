"""Making the pod of a session, or going on with one that an earlier start left behind.

A pod that waits for a node or an image is nobody's failure: it is left as it is, and the next start
goes on where this one stopped, unless the pod would be another by now.
"""

from __future__ import annotations

import contextlib
import secrets
import time
from collections.abc import Mapping

from gascity.core.model import SessionConfig
from gascity.errors import (
    GascityError,
    ProviderUnavailable,
    SessionExists,
    SessionNotFound,
    StartFailed,
    StartPending,
)
from gascity_kubernetes import entry, manifest, names, state
from gascity_kubernetes.api import Api
from gascity_kubernetes.hands import Hands
from gascity_kubernetes.manifest import City
from gascity_kubernetes.pods import Pods
from gascity_kubernetes.problems import Absent, ApiRefused, ApiSilent, Forbidden, Taken
from gascity_kubernetes.removal import remove
from gascity_kubernetes.settings import Settings
from gascity_kubernetes.state import Pod

SHARE = 0.5  # of a start's time that may be spent waiting for the pod: the rest is for the agent
STUCK = 10.0  # seconds for a pod that lacks something; then whoever decides may decide otherwise
REHEARSAL = 10.0  # seconds to ask whether a pod would be taken
DISCARD = 10.0  # seconds to remove the pod of a start that failed
QUOTA = "exceeded quota"
INVALID = 422
MERGE = "application/merge-patch+json"
SOON, LATER = 0.05, 1.0
# An agent may have been begun by a start that did not live to tell.
_UNTOUCHED = (
    f"[ ! -e {entry.BEGUN} ] && ! tmux -S {entry.SOCKET} has-session -t ={entry.SESSION} 2>&1"
)


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
        found = self._named(names.pod_name(self._city.id, session), deadline)
        if found is None or not self._is_of(session, found):
            return None
        self._pods.put(found)
        return found

    def _named(self, name: str, deadline: float) -> Pod | None:
        """Return the pod of a name, whoever made it."""
        try:
            found: Pod = self._api.request("GET", self._api.pod_path(name), timeout=_left(deadline))
        except Absent:
            return None
        return found

    def _is_of(self, session: str, pod: Pod) -> bool:
        return state.session_of(pod) == session and state.owner(pod) == self._city.id

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
        """Delete a pod and return when it is gone. Raises StopTimedOut."""
        remove(self._api, self._pods, pod, grace=grace, deadline=deadline)

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
            name = str(wanted["metadata"]["name"])
            there = self._named(name, until)
            if there is not None and not self._is_of(session, there):
                raise _in_the_way(name) from problem
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
        return hand.run(_UNTOUCHED, deadline=until).status == 0

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


def _in_the_way(name: str) -> StartPending:
    return StartPending(
        f"pod {name} is in the way: it has the name of ours, and this city did not make it",
        hint=f"`kubectl get pod {name} -o yaml` shows whose it is",
    )


def _left(deadline: float) -> float:
    return max(deadline - time.monotonic(), 0.01)
