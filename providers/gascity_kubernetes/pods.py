"""The city's pods, known without asking: one list, and one watch from there on.

A question is answered from memory while the watch is healthy, and with the reason when it is not:
never with what was true before. Who does not `follow` asks the API each time instead.

Versions are the API's own and only ever compared to tell which of two answers is the newer: what
the watch told so far, what a list said, and what the API answered to a request of ours, which may
be ahead of the watch.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from typing import Any

from gascity.errors import GascityError, ProviderUnavailable
from gascity_kubernetes.api import Api
from gascity_kubernetes.following import Follower, Patience
from gascity_kubernetes.listing import list_pods
from gascity_kubernetes.problems import ApiSilent, Forbidden
from gascity_kubernetes.versions import is_newer

Pod = Mapping[str, Any]  # Any: it is JSON


class Pods:
    """All pods that a label selector means.

    `listeners` are called after every change, and when the API is lost or back; `mourners` with
    every pod that is gone, as it was last, before anybody can miss it. All must return at once and
    raise nothing.
    """

    def __init__(
        self, api: Callable[[], Api], selector: str, *, patience: Patience | None = None
    ) -> None:
        self._patience = patience or Patience()
        self.listeners: set[Callable[[], None]] = set()
        self.mourners: set[Callable[[Pod], None]] = set()
        self._api = api
        self._selector = selector
        self._changed = threading.Condition()
        self._known: dict[str, Pod] = {}
        self._ahead: set[str] = set()  # those that the watch has not told of yet
        self._version = ""  # up to where the watch has told everything
        self._is_known = False
        self._lost: GascityError | None = None
        self._follower: Follower | None = None
        self._is_closed = False

    def all(self, *, deadline: float) -> Mapping[str, Pod]:
        """Return every pod by its name.

        Raises ProviderUnavailable when that is not known and does not become known in time.
        """
        if self._follower is None:
            return self._ask({"labelSelector": self._selector}, deadline)
        with self._changed:
            self._wait_until_known(deadline)
            return dict(self._known)

    def get(self, name: str, *, deadline: float) -> Pod | None:
        """Return a pod, or None if there is none of that name; raises as `all` does."""
        if self._follower is None:
            query = {"labelSelector": self._selector, "fieldSelector": f"metadata.name={name}"}
            return self._ask(query, deadline).get(name)
        with self._changed:
            self._wait_until_known(deadline)
            return self._known.get(name)

    def put(self, pod: Pod) -> None:
        """Take in what the API answered to a request of ours, if the watch is not past it."""
        with self._changed:
            if self._follower is None or not self._accept(pod):
                return
            self._changed.notify_all()
        self._tell()

    def until(
        self, name: str, check: Callable[[Pod | None], bool], *, deadline: float
    ) -> Pod | None:
        """Return a pod as soon as `check` says yes to it; begins to follow.

        Raises TimeoutError when it does not in time, and ProviderUnavailable when the API was
        not there at the end of it. An outage in between is waited for.
        """
        self.follow()
        with self._changed:
            while True:
                if self._is_known and check(found := self._known.get(name)):
                    return found
                left = deadline - time.monotonic()
                if left <= 0 or self._is_closed:
                    self._wait_until_known(deadline)  # raises unless it is known
                    raise TimeoutError
                self._changed.wait(left)

    def follow(self) -> None:
        """Begin to watch, in a thread of its own, unless that was begun already."""
        with self._changed:
            if self._follower is not None or self._is_closed:
                return
            self._follower = Follower(self, self._api, self._selector, self._patience)
        self._follower.start()

    def close(self) -> None:
        """End the watch; whoever waits is told that nothing is known."""
        with self._changed:
            self._is_closed = True
            follower = self._follower
            self._changed.notify_all()
        if follower is not None:
            follower.close()

    # --- what the follower tells

    def replace(self, listed: Mapping[str, Pod], version: str) -> None:
        """Take in a whole list; what it does not name and nobody told since is gone."""
        with self._changed:
            ahead = {
                name: pod
                for name, pod in self._known.items()
                if name in self._ahead and is_newer(_version(pod), version)
            }
            self._ahead = set(ahead)
            now = {**listed, **ahead}
            for name in self._known.keys() - now.keys():
                self._mourn(self._known[name])
            self._known = now
            self._version = version
            self._is_known = True
            self._lost = None
            self._changed.notify_all()
        self._tell()

    def see(self, kind: str, pod: Pod) -> None:
        """Take in one event of the watch."""
        name, version = _name(pod), _version(pod)
        with self._changed:
            self._version = version
            if kind == "BOOKMARK":
                return
            held = self._known.get(name)
            if held is not None and is_newer(_version(held), version):
                return  # an answer of ours told of what came after this
            self._ahead.discard(name)
            if kind == "DELETED":
                self._mourn(pod)
                self._known.pop(name, None)
            else:
                self._known[name] = pod
            self._changed.notify_all()
        self._tell()

    def lose(self, problem: GascityError) -> None:
        """Answer no more, and say why."""
        with self._changed:
            if self._is_closed:
                return
            was_lost = self._lost is not None
            self._is_known = False
            self._lost = problem
            self._changed.notify_all()
        if not was_lost:
            self._tell()

    def _ask(self, query: Mapping[str, str], deadline: float) -> Mapping[str, Pod]:
        try:
            listed, _ = list_pods(self._api(), query, deadline)
        except ProviderUnavailable:
            raise
        except GascityError as problem:  # whatever it is, nothing is known about the pods
            raise ApiSilent(problem.message, hint=problem.hint) from problem
        return listed

    def _accept(self, pod: Pod) -> bool:
        version, held = _version(pod), self._known.get(_name(pod))
        if held is not None and version == _version(held):
            # The answer to a deletion may carry the version from before it.
            is_news = _is_ending(pod) and not _is_ending(held)
        else:
            told = _version(held) if held is not None else ""
            is_news = is_newer(version, self._version) and is_newer(version, told)
        if not is_news:
            return False
        self._known[_name(pod)] = pod
        self._ahead.add(_name(pod))
        return True

    def _wait_until_known(self, deadline: float) -> None:
        while not self._is_known:
            self._refuse_if_lost()
            left = deadline - time.monotonic()
            if left <= 0:
                raise ApiSilent("the Kubernetes API did not list the pods in time")
            self._changed.wait(left)
        self._refuse_if_lost()

    def _refuse_if_lost(self) -> None:
        if self._is_closed:
            raise ApiSilent("the pods are watched no longer")
        if self._lost is not None:
            # A new one each time: the same one raised by many threads would grow without end.
            as_ = Forbidden if isinstance(self._lost, Forbidden) else ApiSilent
            raise as_(self._lost.message, hint=self._lost.hint)

    def _mourn(self, pod: Pod) -> None:
        for mourner in tuple(self.mourners):
            mourner(pod)

    def _tell(self) -> None:
        for listener in tuple(self.listeners):
            listener()


def _name(pod: Pod) -> str:
    return str(pod["metadata"].get("name", ""))


def _is_ending(pod: Pod) -> bool:
    return "deletionTimestamp" in pod["metadata"]


def _version(pod: Pod) -> str:
    return str(pod["metadata"].get("resourceVersion", ""))
