"""The wire format, once: JSON-RPC 2.0, one message a line, in both directions.

The controller's socket and the session providers that have a server of their own speak it. This
module turns values into lines and lines into values; `Client` asks over a Unix socket. It knows no
method by name. Bad input never ends a connection: it is answered with an error.
"""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from gascity import unixsocket
from gascity.errors import HungUp, RemoteError, Unanswered, Unreachable

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603
FAILED = -32000  # the method ran and says no; `data` holds `exit` and `hint`

LONGEST_ID = 2**64 - 1
LONGEST_LINE = 16 * 1024 * 1024

Id = int | None
Params = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Request:
    """Something asked for. `id` is None for a notification, which gets no answer."""

    method: str
    params: Params
    id: Id


@dataclass(frozen=True, slots=True)
class BadRequest:
    """A line that is not a request, with the answer it deserves."""

    id: Id
    code: int
    message: str


def request(method: str, params: Params, id_: Id) -> bytes:
    """Return the line that asks; a notification when `id_` is None."""
    body: dict[str, object] = {"jsonrpc": "2.0", "method": method, "params": params}
    if id_ is not None:
        body["id"] = id_
    return _line(body)


def result(id_: Id, value: object) -> bytes:
    """Return the line that answers."""
    return _line({"jsonrpc": "2.0", "id": id_, "result": value})


def error(id_: Id, code: int, message: str, data: Mapping[str, object] | None = None) -> bytes:
    """Return the line that refuses."""
    body: dict[str, object] = {"code": code, "message": message}
    if data is not None:
        body["data"] = data
    return _line({"jsonrpc": "2.0", "id": id_, "error": body})


def read_request(line: bytes) -> Request | BadRequest:
    """Understand one line: not JSON is -32700, JSON that is no request is -32600."""
    try:
        body = json.loads(line)
    except (ValueError, RecursionError):
        return BadRequest(None, PARSE_ERROR, "this line is not JSON")
    if not isinstance(body, dict):
        return BadRequest(None, INVALID_REQUEST, "a request is an object")
    given = body.get("id")
    known = isinstance(given, int) and not isinstance(given, bool) and 0 <= given <= LONGEST_ID
    id_ = given if known else None
    if "id" in body and not known:
        return BadRequest(None, INVALID_REQUEST, "id must be a whole number from 0 to 2^64-1")
    if body.get("jsonrpc") != "2.0":
        return BadRequest(id_, INVALID_REQUEST, 'jsonrpc must be "2.0"')
    method = body.get("method")
    if not isinstance(method, str):
        return BadRequest(id_, INVALID_REQUEST, "method must be a string")
    params = body.get("params", {})
    if not isinstance(params, dict):
        return BadRequest(id_, INVALID_PARAMS, "params must be an object")
    return Request(method, params, id_)


class Lines:
    """Cuts a stream into lines and refuses to remember one longer than `limit`."""

    def __init__(self, limit: int = LONGEST_LINE) -> None:
        self._limit = limit
        self._parts: list[bytes] = []
        self._size = 0
        self._skipping = False

    def feed(self, data: bytes) -> Iterator[bytes | None]:
        """Yield the lines that `data` completes; None stands for one that was too long."""
        *complete, rest = data.split(b"\n")
        for piece in complete:
            self._keep(piece)
            yield None if self._skipping else b"".join(self._parts)
            self._parts, self._size, self._skipping = [], 0, False
        self._keep(rest)

    def _keep(self, piece: bytes) -> None:
        self._size += len(piece)
        if self._size > self._limit:
            self._parts, self._skipping = [], True
        elif piece:
            self._parts.append(piece)


class Client:
    """Asks one server over a Unix socket, one question at a time; thread-safe.

    Connects when first asked and again after a failure.
    """

    def __init__(self, path: str) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._sock: socket.socket | None = None
        self._lines = Lines()
        self._next = 0

    def call(self, method: str, params: Params, *, timeout: float) -> object:
        """Return the answer's result.

        Raises Unreachable when nobody is there, Unanswered when somebody is but gives no answer
        within `timeout` seconds, HungUp when they end before that, and RemoteError when the answer
        is an error.
        """
        deadline = time.monotonic() + timeout
        if not self._lock.acquire(timeout=max(timeout, 0)):
            raise Unanswered(f"no answer on {self._path}: another call took all the time")
        try:
            return self._ask(method, params, deadline)
        except (FileNotFoundError, ConnectionRefusedError) as problem:
            self._drop()
            raise Unreachable(f"nobody listens on {self._path}") from problem
        except (ConnectionResetError, BrokenPipeError) as problem:
            self._drop()
            raise HungUp(f"no answer on {self._path}: {_reason(problem)}") from problem
        except OSError as problem:
            self._drop()
            raise Unanswered(f"no answer on {self._path}: {_reason(problem)}") from problem
        except BaseException as problem:  # an interrupt must not leave half an answer to be read
            if not isinstance(problem, RemoteError):
                self._drop()
            raise
        finally:
            self._lock.release()

    def wait_for_end(self, *, timeout: float) -> bool:
        """Wait until the other side hangs up, as it does when its process ends; tell if it did."""
        deadline = time.monotonic() + timeout
        with self._lock:
            try:
                while self._sock is not None:
                    self._sock.settimeout(_left(deadline))
                    if not self._sock.recv(65536):
                        self._drop()
            except TimeoutError:
                return False
            except OSError:
                self._drop()
            return True

    def close(self) -> None:
        """Hang up."""
        with self._lock:
            self._drop()

    def _ask(self, method: str, params: Params, deadline: float) -> object:
        if self._sock is None:
            self._sock = unixsocket.connect(self._path, timeout=_left(deadline))
            self._lines = Lines()
        self._next += 1
        self._sock.settimeout(_left(deadline))
        self._sock.sendall(request(method, params, self._next))
        while True:
            self._sock.settimeout(_left(deadline))
            data = self._sock.recv(65536)
            if not data:
                raise ConnectionResetError("the other side hung up")
            for line in list(self._lines.feed(data)):  # all of it, or a rest would be lost
                body = _read_answer(line)
                if body.get("id") == self._next:
                    return _result_of(body)

    def _drop(self) -> None:
        if self._sock is not None:
            self._sock.close()
            self._sock = None


class Listener:
    """Asks once over a Unix socket, and then hears what the other side sends of itself.

    One thread. `fileno` can be waited for; `hear` returns what has come.
    """

    def __init__(self, path: str, method: str, params: Params, *, timeout: float) -> None:
        """Ask; raises as `Client.call` does when the answer is not that it will be told."""
        self._path = path
        self._lines = Lines()
        self._heard: list[Params] = []
        deadline = time.monotonic() + timeout
        try:
            self._sock = unixsocket.connect(path, timeout=timeout)
        except (FileNotFoundError, ConnectionRefusedError) as problem:
            raise Unreachable(f"nobody listens on {path}") from problem
        except OSError as problem:
            raise Unanswered(f"no answer on {path}: {_reason(problem)}") from problem
        try:
            self._sock.sendall(request(method, params, 1))
            while not self._heard:
                self._sock.settimeout(_left(deadline))
                self._heard += self._receive()
            _result_of(self._heard.pop(0))
        except OSError as problem:
            self.close()
            raise Unanswered(f"no answer on {path}: {_reason(problem)}") from problem
        except BaseException:  # whatever it is: it is closed and raised again
            self.close()
            raise

    def fileno(self) -> int:
        """Return the descriptor that can be read when something has come."""
        return self._sock.fileno()

    @property
    def pending(self) -> bool:
        """Whether something has come with the answer already."""
        return bool(self._heard)

    def hear(self) -> list[Request]:
        """Return what was sent, waiting for it if need be.

        Raises Unanswered when the other side has hung up, RemoteError when it gives up.
        """
        try:
            self._sock.settimeout(None)
            bodies = self._heard or self._receive()
        except OSError as problem:
            raise Unanswered(f"no more from {self._path}: {_reason(problem)}") from problem
        self._heard = []
        for body in bodies:
            if "method" not in body:
                _result_of(body)
        return [_notification(body) for body in bodies]

    def close(self) -> None:
        """Hang up."""
        self._sock.close()

    def _receive(self) -> list[Params]:
        data = self._sock.recv(65536)
        if not data:
            raise ConnectionResetError("the other side hung up")
        return [_read_answer(line) for line in self._lines.feed(data)]


def _notification(body: Params) -> Request:
    params = body.get("params")
    return Request(str(body.get("method")), params if isinstance(params, dict) else {}, None)


def _read_answer(line: bytes | None) -> Params:
    if line is None:
        raise ConnectionError(f"the answer is longer than {LONGEST_LINE} bytes")
    try:
        body = json.loads(line)
    except (ValueError, RecursionError):
        body = None
    if not isinstance(body, dict):
        raise ConnectionError("the other side does not speak JSON-RPC")
    return body


def _result_of(body: Params) -> object:
    problem = body.get("error")
    if problem is None and "result" in body:
        return body["result"]
    told = problem if isinstance(problem, dict) else {"message": problem or "an empty answer"}
    code, data = told.get("code"), told.get("data")
    extra = data if isinstance(data, dict) else {}
    raise RemoteError(
        str(told.get("message")),
        code=code if isinstance(code, int) else INTERNAL_ERROR,
        hint=str(extra.get("hint", "")),
        data=extra,
    )


def _left(deadline: float) -> float:
    left = deadline - time.monotonic()
    if left <= 0:
        raise TimeoutError("time is up")
    return left


def _reason(problem: OSError) -> str:
    if isinstance(problem, TimeoutError):
        return "no answer in time"
    return problem.strerror or str(problem)


def _line(body: Mapping[str, object]) -> bytes:
    return json.dumps(body, separators=(",", ":")).encode() + b"\n"
