"""The thread that follows the pods: list, watch, resume, and begin anew when it must.

A watch that ends or breaks off is resumed where it stopped, at once. Only when that fails are the
pods lost, and then only a list brings them back: what was missed is not told twice.
A server that holds the connection and says nothing is asked something small; if that is not
answered either, the pods are lost too.
"""

from __future__ import annotations

import contextlib
import random
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from gascity.errors import GascityError
from gascity_kubernetes.api import Api
from gascity_kubernetes.listing import list_pods
from gascity_kubernetes.problems import ApiRefused, ApiSilent, Expired, Forbidden

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gascity_kubernetes.watches import Watch

_HASTY = 1.0  # a watch that ends sooner was none
_MOST_HASTY = 4
_FIRST_WAIT, _LONGEST_WAIT = 0.2, 5.0


@dataclass(frozen=True, slots=True)
class Patience:
    """How long a follower waits, in seconds.

    `idle` is the silence after which the API is asked whether it is there, `probe` the time it
    has to answer that; `asked` is what a list or the beginning of a watch may take. `quiet` is a
    silence after which a watch is begun anew, for a server that sends bookmarks never is as
    quiet; `lasts` is how long a watch is asked to last.
    """

    idle: float = 10.0
    probe: float = 5.0
    asked: float = 15.0
    quiet: float = 75.0
    lasts: float = 300.0


class Told(Protocol):
    """Who is told what the follower learns."""

    def replace(self, listed: Mapping[str, Mapping[str, Any]], version: str) -> None:
        """Take in a whole list, which held at a version."""

    def see(self, kind: str, pod: Mapping[str, Any]) -> None:
        """Take in one event."""

    def lose(self, problem: GascityError) -> None:
        """Take in that nothing is known any more, and why."""


class Follower:
    """Follows the pods of one selector until it is closed."""

    def __init__(
        self, told: Told, api: Callable[[], Api], selector: str, patience: Patience
    ) -> None:
        self._told = told
        self._patience = patience
        self._api = api
        self._selector = selector
        self._closed = threading.Event()
        self._lock = threading.Lock()
        self._watch: Watch | None = None
        self._failures = 0
        self._thread = threading.Thread(target=self._follow, name="gc-kube-pods", daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def close(self) -> None:
        """End within a second, unless a request is under way, which is left to its own end."""
        self._closed.set()
        with self._lock:
            if self._watch is not None:
                self._watch.close()
        if threading.current_thread() is not self._thread:
            self._thread.join(timeout=1.0)

    def _follow(self) -> None:
        try:
            while not self._closed.is_set():
                try:
                    self._list_and_watch()
                except Expired as problem:
                    if self._failures >= _MOST_HASTY:
                        self._told.lose(problem)
                    self._pause()
                except GascityError as problem:
                    self._told.lose(problem)
                    self._pause()
        finally:
            self._told.lose(ApiSilent("the pods are followed no longer"))

    def _list_and_watch(self) -> None:
        """List, and watch from there on, one watch after the other; ends when closed.

        Nothing is told before the API agreed to both. Raises Expired when a new list is needed,
        and whatever else the API did not do.
        """
        query = {"labelSelector": self._selector}
        listed, version = list_pods(self._api(), query, time.monotonic() + self._patience.asked)
        watch = self._open(version)
        self._told.replace(listed, version)
        while not self._closed.is_set():
            began = time.monotonic()
            version = self._read(watch, version)
            if time.monotonic() - began >= _HASTY:
                self._failures = 0
            elif self._failures >= _MOST_HASTY:
                raise ApiSilent("the Kubernetes API ends every watch at once")
            else:
                self._pause()
            if not self._closed.is_set():
                watch = self._open(version)

    def _open(self, version: str) -> Watch:
        wait = self._patience
        lasts = wait.lasts * random.uniform(0.9, 1.1)  # noqa: S311  no secret
        query = {
            "labelSelector": self._selector,
            "resourceVersion": version,
            "allowWatchBookmarks": "true",
            "timeoutSeconds": str(max(1, round(lasts))),
        }
        api = self._api()
        watch = api.open_watch(api.pod_path(), query=query, idle=wait.idle, timeout=wait.asked)
        with self._lock:
            self._watch = watch
            if self._closed.is_set():
                watch.close()
        return watch

    def _read(self, watch: Watch, version: str) -> str:
        """Take in a watch until it ends or breaks off; return the version up to where it told."""
        heard = time.monotonic()
        try:
            while True:
                try:
                    event = next(watch)
                except (StopIteration, ApiSilent):
                    return version  # whether the API is gone shows when it is asked again
                except TimeoutError:
                    self._probe()
                    if time.monotonic() - heard > self._patience.quiet:
                        return version
                    continue
                heard = time.monotonic()
                version = self._see(event) or version
        finally:
            watch.close()

    def _see(self, event: Mapping[str, Any]) -> str:
        pod = event.get("object")
        if not isinstance(pod, dict) or not isinstance(pod.get("metadata"), dict):
            raise ApiSilent("the Kubernetes API told of a change to nothing")
        pod["metadata"].pop("managedFields", None)
        self._told.see(str(event.get("type")), pod)
        return str(pod["metadata"].get("resourceVersion") or "")

    def _probe(self) -> None:
        """Raise ApiSilent when the API does not answer; any answer will do."""
        with contextlib.suppress(ApiRefused, Forbidden):  # it will not tell, but it is there
            self._api().request("GET", "/version", timeout=self._patience.probe)

    def _pause(self) -> None:
        """Wait, not at all the first time and then longer each time until a watch lasts."""
        if self._failures:
            longest = min(_LONGEST_WAIT, _FIRST_WAIT * 2.0 ** (self._failures - 1))
            self._closed.wait(longest * random.uniform(0.5, 1.0))  # noqa: S311  no secret
        self._failures += 1
