"""A Kubernetes API that fails when it is told to, and what asks it.

It keeps pods and their history as an API server does, and serves lists and watches of them over
real HTTP. What it does wrong is said by the test.
"""

from __future__ import annotations

import asyncio
import json
import threading
from collections import deque
from collections.abc import AsyncIterator, Coroutine, Iterator
from pathlib import Path
from typing import Any, Protocol

import kmock
import pytest

from gascity_kubernetes.api import Api
from gascity_kubernetes.following import Patience
from gascity_kubernetes.pods import Pods
from gascity_kubernetes.settings import Settings

LIMIT = 60.0
PODS = "/api/v1/namespaces/gc/pods"
PATIENT = Patience(asked=5.0)
HASTE = Patience(idle=0.2, probe=0.5, asked=3.0)


class Follow(Protocol):
    def __call__(self, patience: Patience = ...) -> Pods: ...


class Double:
    """An API server in a thread of its own.

    `asked` holds every request it got. The next requests are answered with what is in `answers`,
    in that order, before it answers as it should. `pages` cuts lists into pages of that size.
    `opened` counts the watches that hear what happens.
    """

    def __init__(self) -> None:
        self.asked: list[kmock.Request] = []
        self.answers: deque[kmock.Payload] = deque()
        self.pages = 0
        self.opened = 0
        self.pods: dict[str, dict[str, Any]] = {}
        self._version = 100
        self._oldest = 0
        self._history: list[tuple[int, dict[str, Any]]] = []
        self._watches: list[asyncio.Queue[dict[str, Any] | bytes | None]] = []
        self._handler = kmock.KubernetesScaffold()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self._server: kmock.Server | None = None
        self._port: int | None = None
        self._thaw = asyncio.Event()
        self._thaw.set()
        self._handler << self._serve
        self._do(self._handler.__aenter__())
        self.listen()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._port}"

    def close(self) -> None:
        self.thaw()
        if self._server is not None:
            self.refuse()
        self._do(self._handler.__aexit__(None, None, None))
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def count(self, *, watch: bool) -> int:
        return len(self.asked_for(watch=watch))

    def asked_for(self, *, watch: bool) -> list[kmock.Request]:
        lists = [one for one in self.asked if one.url.path == PODS and one.method.value == "GET"]
        return [one for one in lists if ("watch" in one.params) == watch]

    # --- what happens to pods

    def add(self, name: str, **status: str) -> dict[str, Any]:
        return self._happen("ADDED", name, status)

    def change(self, name: str, **status: str) -> dict[str, Any]:
        return self._happen("MODIFIED", name, status)

    def remove(self, name: str) -> dict[str, Any]:
        return self._happen("DELETED", name, {})

    def bookmark(self) -> str:
        """Tell the watches that they have seen everything up to a new version."""
        self._version += 1
        version = str(self._version)
        self._send({"type": "BOOKMARK", "object": {"metadata": {"resourceVersion": version}}})
        return version

    def forget(self) -> None:
        """Forget all history: who resumes from before now is sent away."""
        self._version += 1
        self._oldest = self._version

    # --- what goes wrong

    def drop(self, half: bytes = b"") -> None:
        """Cut the connections of all watches, after some last bytes."""
        self._send(half) if half else None
        self._send(None)

    def end_watches(self, last: dict[str, Any]) -> None:
        """Say something last to every watch, and end it as a server does."""
        self._send(last)

    def freeze(self) -> None:
        """Accept connections and requests, and say nothing more."""
        self._loop.call_soon_threadsafe(self._thaw.clear)

    async def hold(self) -> bytes:
        """Stop in the middle of an answer, until it thaws."""
        self._thaw.clear()
        await self._thaw.wait()
        return b"late"

    def thaw(self) -> None:
        self._loop.call_soon_threadsafe(self._thaw.set)

    def refuse(self) -> None:
        """Accept no connections any more."""
        server, self._server = self._server, None
        assert server is not None
        self.thaw()
        self.drop()
        self._do(server.__aexit__(None, None, None))

    def listen(self) -> None:
        """Accept connections, on the same port as before."""
        self._server = kmock.Server(self._handler, port=self._port)
        self._do(self._server.__aenter__())
        self._port = self._server.port

    # --- how it answers

    async def _serve(self, request: kmock.Request) -> kmock.Payload:
        self.asked.append(request)
        await self._thaw.wait()
        if self.answers:
            answer = self.answers.popleft()
            if isinstance(answer, Exception):
                raise answer
            return answer
        if request.url.path == "/version":
            return {"gitVersion": "v1.20.2"}
        if request.url.path == PODS and "watch" in request.params:
            return self._watch(request)
        if request.url.path == PODS:
            return self._list(request)
        raise refusal(404, "NotFound", f'pods "{request.name}" not found')

    def _list(self, request: kmock.Request) -> dict[str, Any]:
        start = int(request.params.get("continue", "0"))
        pods = list(self.pods.values())[start:]
        about = {"resourceVersion": str(self._version)}
        if self.pages and len(pods) > self.pages:
            pods = pods[: self.pages]
            about["continue"] = str(start + self.pages)
        return {"kind": "PodList", "metadata": about, "items": pods}

    async def _watch(self, request: kmock.Request) -> AsyncIterator[kmock.Payload]:
        since = int(request.params["resourceVersion"])
        if since < self._oldest:
            raise refusal(410, "Expired", "too old resource version")
        queue: asyncio.Queue[dict[str, Any] | bytes | None] = asyncio.Queue()
        if self._server is None:
            queue.put_nowait(None)  # it came in while the door was closing
        self._watches.append(queue)
        self.opened += 1
        for version, event in self._history:
            if version > since:
                queue.put_nowait(event)
        try:
            yield b""
            while (event_ := await queue.get()) is not None:
                await self._thaw.wait()
                yield event_
                if isinstance(event_, dict) and event_["type"] == "ERROR":
                    return
            assert request._raw_request is not None
            assert request._raw_request.transport is not None
            request._raw_request.transport.abort()
        finally:
            self._watches.remove(queue)

    def _happen(self, kind: str, name: str, status: dict[str, str]) -> dict[str, Any]:
        self._version += 1
        pod = {
            "metadata": {"name": name, "uid": f"uid-{name}", "resourceVersion": str(self._version)},
            "status": status,
        }
        self.pods.pop(name, None)
        if kind != "DELETED":
            self.pods[name] = pod
        event = {"type": kind, "object": pod}
        self._history.append((self._version, event))
        self._send(event)
        return pod

    def _send(self, what: dict[str, Any] | bytes | None) -> None:
        def send() -> None:
            for queue in self._watches:
                queue.put_nowait(what)

        self._loop.call_soon_threadsafe(send)

    def _do(self, work: Coroutine[Any, Any, Any]) -> None:
        asyncio.run_coroutine_threadsafe(work, self._loop).result(LIMIT)


def header(request: kmock.Request, name: str) -> str:
    assert request._raw_request is not None
    return request._raw_request.headers[name]


def refusal(status: int, reason: str, message: str) -> kmock.KubernetesError:
    return kmock.KubernetesError(status, reason, message, {"kind": "pods"})


def kubeconfig(path: Path, server: str, user: dict[str, Any] | None = None) -> Settings:
    """Write a kubeconfig for a server, and return settings that use it."""
    path.write_text(
        json.dumps(
            {
                "apiVersion": "v1",
                "kind": "Config",
                "current-context": "c",
                "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
                "clusters": [{"name": "c", "cluster": {"server": server}}],
                "users": [{"name": "u", "user": user or {}}],
            }
        )
    )
    return Settings.read({"kubeconfig": str(path)}, {})


@pytest.fixture
def double() -> Iterator[Double]:
    double = Double()
    yield double
    double.close()


@pytest.fixture
def api(double: Double, tmp_path: Path) -> Iterator[Api]:
    api = Api(kubeconfig(tmp_path / "kubeconfig", double.url))
    yield api
    api.close()


@pytest.fixture
def follow(api: Api) -> Iterator[Follow]:
    made: list[Pods] = []

    def follow(patience: Patience = PATIENT) -> Pods:
        pods = Pods(lambda: api, "app=gc-agent", patience=patience)
        pods.follow()
        made.append(pods)
        return pods

    yield follow
    for pods in made:
        pods.close()
