"""Receivers of alerts for one test: an HTTP server that answers as it is told, and notices."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from gascity.core.alerts import Severity
from gascity.patrol.notice import Notice, NoticeKind

LIMIT = 60.0


def notice(
    text: str = "a needs a person",
    *,
    kind: NoticeKind = NoticeKind.RAISED,
    city: str = "town",
    screen: str = "",
) -> Notice:
    """Return a notice of an agent `a`."""
    return Notice(
        kind, city, "dialog:gc-town-a", "a", Severity.CRITICAL, text, 2000.0, 1000.0, screen
    )


@dataclass(frozen=True, slots=True)
class Answer:
    """What a server says to one request; a status of 0 hangs up."""

    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Posted:
    """One request that a server got."""

    path: str
    headers: Mapping[str, str]
    raw: bytes
    at: float

    @property
    def body(self) -> dict[str, Any]:  # Any: a JSON document
        read: dict[str, Any] = json.loads(self.raw)
        return read


class Server:
    """A real HTTP server on loopback: gives its answers in turn, the last one again and again."""

    def __init__(self, *answers: Answer) -> None:
        self.got: list[Posted] = []
        self.release = threading.Event()
        self._answers = list(answers) or [Answer()]
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._http.daemon_threads = True
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.01,), daemon=True)
        self._thread.start()

    @property
    def port(self) -> int:
        return int(self._http.server_address[1])

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}/alerts"

    def close(self) -> None:
        self.release.set()
        self._http.shutdown()
        self._http.server_close()
        self._thread.join(LIMIT)

    def answer(self) -> Answer:
        return self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        server = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                raw = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                said = server.answer()
                server.got.append(Posted(self.path, dict(self.headers), raw, time.monotonic()))
                if said.status < 0:
                    self._dribble()
                elif said.status:
                    self.send_response(said.status)
                    for name, value in said.headers.items():
                        self.send_header(name, value)
                    self.send_header("Content-Length", "0")
                    self.end_headers()

            def _dribble(self) -> None:
                """Send a byte of an answer now and then, without end."""
                self.wfile.write(b"HTTP/1.1 200 OK\r\nX: ")
                while not server.release.wait(0.05):
                    try:
                        self.wfile.write(b"x")
                        self.wfile.flush()
                    except OSError:
                        return

            def log_message(self, *words: object) -> None:
                pass

        return Handler


DRIBBLE = Answer(-1)
HANG_UP = Answer(0)
MakeServer = Callable[..., Server]


@pytest.fixture
def serve() -> Iterator[MakeServer]:
    """Start servers that answer as told; they end with the test."""
    made: list[Server] = []

    def make(*answers: Answer) -> Server:
        made.append(Server(*answers))
        return made[-1]

    yield make
    for server in made:
        server.close()
