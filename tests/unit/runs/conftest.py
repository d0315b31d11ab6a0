"""A chat API on loopback that answers as it is told."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

LIMIT = 60.0
SSE = "text/event-stream; charset=utf-8"


@dataclass(frozen=True, slots=True)
class Reply:
    """What a server says to one request: a status of 0 hangs up before it says anything.

    `then` is what follows the parts: the "end", a "cut" of the connection, or nothing ("stall").
    """

    parts: tuple[bytes, ...] = ()
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    kind: str = SSE
    then: str = "end"


@dataclass(frozen=True, slots=True)
class Asked:
    """One request that a server got."""

    path: str
    headers: Mapping[str, str]
    body: dict[str, Any]  # Any: a JSON document
    at: float


def event(document: object) -> bytes:
    """Return one event of a stream."""
    return b"data: " + json.dumps(document, ensure_ascii=False).encode() + b"\n\n"


def delta(text: str, **more: object) -> bytes:
    """Return the event of one part of an answer."""
    return event({"choices": [{"delta": {"content": text}}], **more})


DONE = b"data: [DONE]\n\n"


def said(*texts: str) -> Reply:
    """Return a whole answer in these parts."""
    return Reply((*map(delta, texts), DONE))


class Server:
    """A real HTTP server: gives its replies in turn, the last one again and again."""

    def __init__(self, *replies: Reply) -> None:
        self.got: list[Asked] = []
        self.release = threading.Event()
        self._replies = list(replies)
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._http.daemon_threads = True
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.01,), daemon=True)
        self._thread.start()

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self._http.server_address[1]}"

    def close(self) -> None:
        self.release.set()
        self._http.shutdown()
        self._http.server_close()
        self._thread.join(LIMIT)

    def reply(self) -> Reply:
        return self._replies.pop(0) if len(self._replies) > 1 else self._replies[0]

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                raw = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                reply = server.reply()
                body = json.loads(raw)
                server.got.append(Asked(self.path, dict(self.headers), body, time.monotonic()))
                self.close_connection = True
                if not reply.status:
                    return
                self.send_response(reply.status)
                headers = {"Content-Type": reply.kind, "Transfer-Encoding": "chunked"}
                for name, value in {**headers, **reply.headers}.items():
                    self.send_header(name, value)
                self.end_headers()
                for part in reply.parts:
                    self._send(part)
                if reply.then == "end":
                    self._send(b"")
                elif reply.then == "stall":
                    server.release.wait(LIMIT)

            def _send(self, part: bytes) -> None:
                self.wfile.write(b"%x\r\n%s\r\n" % (len(part), part))
                self.wfile.flush()

            def log_message(self, *words: object) -> None:
                pass

        return Handler


MakeServer = Callable[..., Server]


@pytest.fixture
def serve() -> Iterator[MakeServer]:
    """Start servers that answer as told; they end with the test."""
    made: list[Server] = []

    def make(*replies: Reply) -> Server:
        made.append(Server(*replies))
        return made[-1]

    yield make
    for server in made:
        server.close()
