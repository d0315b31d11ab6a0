"""Asking a Kubernetes API: JSON in, JSON out, every request within its time.

No models of the client library: a pod is the mapping the API sent. What the API does not do, or
does not say, is raised as one of `problems`. Nothing is asked twice that may have been done.
"""

from __future__ import annotations

import json
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from gascity.errors import GascityError, NotInstalled
from gascity_kubernetes.answers import doing, kind, problem
from gascity_kubernetes.problems import ApiSilent
from gascity_kubernetes.settings import Settings

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gascity_kubernetes.credentials import Access
    from gascity_kubernetes.streams import Stream
    from gascity_kubernetes.watches import Watch

_RELOADED_AT_MOST_EVERY = 10.0
_LOADED_WITHIN = 30.0
_JSON = "application/json"


class Api:
    """One Kubernetes API, and one namespace in it; for any number of threads.

    `requests` counts what was asked, by kind: list, watch, get, write, exec, probe.
    """

    def __init__(self, settings: Settings, fence: Callable[[], None] = lambda: None) -> None:
        """Find out where the API is and who we are; asks nothing yet.

        `fence` is called right before each request that changes something, and may raise; so it is
        before anything is run in a container, for that may change something.
        Raises ConfigError when that is not known, NotInstalled without the client library, and
        ApiSilent when what should tell who we are does not answer.
        """
        self.namespace = settings.namespace
        self.requests: Counter[str] = Counter()
        self._settings = settings
        self.fence = fence
        self._lock = threading.Lock()
        self._access = self._load(_LOADED_WITHIN)
        self._loaded = time.monotonic()

    def about(self) -> str:
        """Say where this is, as in "https://host, namespace gc"."""
        return f"{self._access.host}, namespace {self.namespace}"

    def pod_path(self, name: str = "") -> str:
        """Return the path of a pod, or of all."""
        return f"/api/v1/namespaces/{self.namespace}/pods" + (f"/{name}" if name else "")

    def request(
        self,
        method: str,
        path: str,
        *,
        body: object = None,
        query: Mapping[str, str] | None = None,
        content_type: str = _JSON,
        timeout: float,
    ) -> dict[str, Any]:
        """Return the object the API answers with.

        Raises Absent, Taken, Expired or ApiRefused when it says no, Forbidden when it does not
        say, ApiSilent when it does not answer within `timeout` seconds.
        """
        data = None if body is None else json.dumps(body).encode()
        answer = self._ask(method, path, data, query or {}, content_type, timeout)
        try:
            found = json.loads(answer)
        except ValueError:
            found = None
        if not isinstance(found, dict):
            raise ApiSilent(
                f"what answers at {self._access.host} is not a Kubernetes API "
                f"(while {doing(method, path)})"
            )
        return found

    def request_text(
        self, method: str, path: str, *, query: Mapping[str, str] | None = None, timeout: float
    ) -> str:
        """Return the text the API answers with, as a log is; raises as `request` does."""
        return self._ask(method, path, None, query or {}, _JSON, timeout).decode("utf-8", "replace")

    def open_watch(
        self, path: str, *, query: Mapping[str, str], idle: float, timeout: float
    ) -> Watch:
        """Begin to watch, and return once the API agreed to it; raises as `request` does.

        `query` says where from and for how long; `idle` is the silence after which the watch's
        next event is a TimeoutError.
        """
        from urllib3.exceptions import HTTPError  # noqa: PLC0415  only who asks a cluster has it

        from gascity_kubernetes.exchange import read_all, send, silence  # noqa: PLC0415  as above
        from gascity_kubernetes.watches import Watch  # noqa: PLC0415  as above

        what = doing("GET", path).replace("listing", "watching", 1)
        deadline = time.monotonic() + timeout
        for may_reload in (True, False):
            access = self._count("watch")
            try:
                answer = send(
                    access,
                    "GET",
                    path,
                    query={**query, "watch": "true"},
                    body=None,
                    headers={"accept": _JSON},
                    deadline=deadline,
                )
                if answer.status == 200:
                    return Watch(answer, access.host, what, idle=idle)
                said = read_all(answer, deadline)
            except (HTTPError, OSError) as trouble:
                raise silence(access.host, what, trouble, timeout) from trouble
            if not (answer.status == 401 and may_reload and self._reload(access, deadline)):
                break
        raise problem(access.host, what, answer.status, said)

    def open_stream(
        self,
        pod: str,
        container: str,
        argv: Sequence[str],
        *,
        stdin: bool,
        tty: bool = False,
        timeout: float,
    ) -> Stream:
        """Run a program in a container, and return what talks to it.

        Raises Absent when there is no such pod, or its container does not run; else as `request`.
        """
        from gascity_kubernetes.upgrade import open_stream  # noqa: PLC0415  as above

        path = self.pod_path(pod) + "/exec"
        query = [("container", container), *(("command", one) for one in argv)]
        wanted = {"stdin": stdin, "stdout": True, "stderr": not tty, "tty": tty}
        query += [(name, "true" if is_on else "false") for name, is_on in wanted.items()]
        deadline = time.monotonic() + timeout
        self.fence()
        access = self._count("exec")
        found = open_stream(access, path, query, doing("GET", path), deadline=deadline)
        if isinstance(found, tuple) and found[0] == 401 and self._reload(access, deadline):
            access = self._count("exec")
            found = open_stream(access, path, query, doing("GET", path), deadline=deadline)
        if isinstance(found, tuple):
            raise problem(access.host, doing("GET", path), *found)
        return found

    def close(self) -> None:
        """Close the connections that nobody uses."""
        self._access.close()

    def _ask(
        self,
        method: str,
        path: str,
        body: bytes | None,
        query: Mapping[str, str],
        content_type: str,
        timeout: float,
    ) -> bytes:
        from gascity_kubernetes.exchange import exchange  # noqa: PLC0415  as above

        headers = {"accept": "application/json, */*"}
        if body is not None:
            headers["content-type"] = content_type
        what = doing(method, path)
        deadline = time.monotonic() + timeout
        for may_reload in (True, False):
            access = self._count(kind(method, path))
            if method != "GET":
                self.fence()
            status, said = exchange(
                access,
                method,
                path,
                query=query,
                body=body,
                headers=headers,
                what=what,
                timeout=deadline - time.monotonic(),
            )
            if 200 <= status < 300:
                return said
            if not (status == 401 and may_reload and self._reload(access, deadline)):
                break
        raise problem(access.host, what, status, said)

    def _count(self, kind_: str) -> Access:
        with self._lock:
            self.requests[kind_] += 1
            return self._access

    def _reload(self, refused: Access, deadline: float) -> bool:
        """Read the credentials anew after some were refused; tell whether to try again.

        That a request was refused (401) means that it was not done, so it may be sent again.
        """
        with self._lock:
            if self._access is not refused:
                return True
            if time.monotonic() - self._loaded < _RELOADED_AT_MOST_EVERY:
                return False
            self._loaded = time.monotonic()
        try:
            found = self._load(deadline - time.monotonic())
        except GascityError:
            return False  # that the old ones were refused is the news
        with self._lock:
            self._access = found
        return True

    def _load(self, timeout: float) -> Access:
        try:
            from gascity_kubernetes.credentials import load_access  # noqa: PLC0415  half a second
        except ImportError as missing:
            raise NotInstalled(
                f"sessions on Kubernetes need the Python package {missing.name}",
                hint="pip install 'gascity[kubernetes]'",
            ) from missing
        return load_access(self._settings, timeout=timeout)
