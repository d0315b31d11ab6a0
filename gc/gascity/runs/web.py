"""Runs over HTTP, for programs and browsers on this machine: which there are, and what they say.

    GET /runs                 the newest, as JSON; ?lines=N for more or fewer
    GET /runs/RUN             all about one
    GET /runs/RUN/logs        what it says, while it says it, as server-sent events; ?stream=stderr

An agent knows nothing of this: it writes to files, and these are followed. Each event has the place
behind it as its id, so that a reader who was cut off goes on with `Last-Event-ID` and misses
nothing. Whoever asks shows the key, as a bearer token or, since a browser's EventSource cannot send
one, as `?key=`. Only this machine is answered.
"""

from __future__ import annotations

import hmac
import http.server
import json
import threading
import time
import urllib.parse
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Protocol

from gascity.errors import GascityError, NotFound, UsageError
from gascity.runs.tail import follow, lines

LOOPBACK = "127.0.0.1"
MOST = 64  # who is answered at once
PATIENCE = 30.0  # seconds for a caller to ask, and to take what is sent
PULSE = 10.0  # seconds of silence after which it is seen whether a reader is still there
NEWEST = 20
STREAMS = ("stdout", "stderr")
_ENDED = "end"  # what stands behind the place in the id of the last event


@dataclass(frozen=True, slots=True)
class Spoken:
    """What a run says on one of its streams: the file, whether more may come, how it stands."""

    path: str
    lives: Callable[[], bool]
    document: Callable[[], Mapping[str, object]]


class Records(Protocol):
    """The runs that are served. Each method raises GascityError."""

    def newest(self, most: int) -> Mapping[str, object]:
        """Return the newest runs; 0 means all."""

    def one(self, run: str) -> Mapping[str, object]:
        """Return all about one run. Raises NotFound."""

    def spoken(self, run: str, stream: str) -> Spoken:
        """Return what a run says on a stream. Raises NotFound."""


class Server(http.server.ThreadingHTTPServer):
    """Answers on a port of this machine, until it is closed."""

    daemon_threads = True
    request_queue_size = MOST

    def __init__(self, records: Records, key: str, port: int = 0) -> None:
        self.records, self.key = records, key
        self._places = threading.BoundedSemaphore(MOST)
        super().__init__((LOOPBACK, port), _Handler)

    @property
    def url(self) -> str:
        """Where it answers."""
        return f"http://{LOOPBACK}:{self.server_address[1]}"

    def process_request(self, request: Any, client_address: Any) -> None:  # noqa: ANN401  the library's own
        """Answer in a thread, unless there are too many."""
        if self._places.acquire(blocking=False):
            super().process_request(request, client_address)
        else:
            self.shutdown_request(request)

    def process_request_thread(self, request: Any, client_address: Any) -> None:  # noqa: ANN401  the library's own
        """Answer, and make room for the next."""
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._places.release()

    def handle_error(self, request: Any, client_address: Any) -> None:  # noqa: ANN401  the library's own
        """Let a caller go who went away in the middle."""


class _Handler(http.server.BaseHTTPRequestHandler):
    """One question and its answer."""

    server: Server
    server_version = "gc"
    sys_version = ""
    timeout = PATIENCE

    def do_GET(self) -> None:
        asked = urllib.parse.urlsplit(self.path)
        query = dict(urllib.parse.parse_qsl(asked.query))
        words = [urllib.parse.unquote(word) for word in asked.path.split("/") if word]
        if not self._is_known(query):
            self._refuse(HTTPStatus.UNAUTHORIZED, "the key is missing or wrong")
            return
        try:
            self._answer(words, query)
        except NotFound as problem:
            self._refuse(HTTPStatus.NOT_FOUND, problem.message)
        except UsageError as problem:
            self._refuse(HTTPStatus.BAD_REQUEST, problem.message)
        except GascityError as problem:
            self._refuse(HTTPStatus.INTERNAL_SERVER_ERROR, problem.message)

    def log_message(self, *_: object) -> None:
        """Keep addresses out of every log: there may be a key in them."""

    def _is_known(self, query: Mapping[str, str]) -> bool:
        kind, _, token = self.headers.get("Authorization", "").partition(" ")
        shown = token.strip() if kind.lower() == "bearer" else query.get("key", "")
        return hmac.compare_digest(shown.encode(), self.server.key.encode())

    def _answer(self, words: list[str], query: Mapping[str, str]) -> None:
        records = self.server.records
        match words:
            case ["runs"]:
                self._document(HTTPStatus.OK, records.newest(_number("lines", query, NEWEST)))
            case ["runs", run]:
                self._document(HTTPStatus.OK, records.one(run))
            case ["runs", run, "logs"]:
                stream = query.get("stream", STREAMS[0])
                if stream not in STREAMS:
                    raise UsageError(f"stream is {' or '.join(STREAMS)}")
                self._stream(records.spoken(run, stream))
            case _:
                raise NotFound("there is /runs, /runs/RUN and /runs/RUN/logs")

    def _stream(self, spoken: Spoken) -> None:
        after, is_ended = _resumed(self.headers.get("Last-Event-ID", ""))
        if is_ended:  # a browser asks again after the end, until it is told not to
            self.send_response(HTTPStatus.NO_CONTENT)
            self.end_headers()
            return
        self.send_response(HTTPStatus.OK)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Cache-Control", "no-store")
        self.end_headers()
        for event in events(spoken, after):
            self.wfile.write(event)

    def _document(self, status: HTTPStatus, document: Mapping[str, object]) -> None:
        body = json.dumps(document, indent=2).encode() + b"\n"
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Cache-Control", "no-store")
        if status is HTTPStatus.UNAUTHORIZED:
            self.send_header("WWW-Authenticate", "Bearer")
        self.end_headers()
        self.wfile.write(body)

    def _refuse(self, status: HTTPStatus, why: str) -> None:
        self._document(status, {"error": why})


def events(spoken: Spoken, after: int) -> Iterator[bytes]:
    """Yield the events of one stream from a place on; the last one is `end`.

    The data is JSON, because a line may hold what ends a line of an event; its texts, one after
    the other, are what the run wrote. Bytes that are no UTF-8 become lone surrogates.
    """
    place, spoke = after, time.monotonic()
    for line in lines(follow(spoken.path, after, spoken.lives)):
        now = time.monotonic()
        if line:
            place += len(line)
            yield _event(str(place), {"text": line.decode("utf-8", "surrogateescape")})
        elif now - spoke < PULSE:
            continue
        else:
            yield b":\n\n"
        spoke = now
    yield b"event: end\n" + _event(f"{place} {_ENDED}", spoken.document())


def _event(name: str, data: Mapping[str, object]) -> bytes:
    return f"id: {name}\ndata: {json.dumps(data)}\n\n".encode()


def _resumed(name: str) -> tuple[int, bool]:
    """Return the place that the id of an event says, and whether that was the last one."""
    place, _, word = name.strip().partition(" ")
    if word not in {"", _ENDED}:
        raise UsageError("Last-Event-ID is no id of an event")
    return _number("Last-Event-ID", {"Last-Event-ID": place or "0"}, 0), word == _ENDED


def _number(name: str, given: Mapping[str, str], default: int) -> int:
    text = given.get(name, str(default))
    if not (text.isascii() and text.isdigit() and len(text) <= 18):
        raise UsageError(f"{name} is a number")
    return int(text)
