"""Asking over a Unix socket, in the wire format of `gascity.jsonrpc`.

`Client` asks and waits for the answer; `Listener` asks once and then hears. Neither knows a method
by name. What comes back and is no answer is a fault of the other side, told as one.
"""

from __future__ import annotations

import contextlib
import json
import socket
import threading

from gascity import unixsocket
from gascity.awake import Patience
from gascity.errors import HungUp, RemoteError, Unanswered, Unheard, Unreachable
from gascity.jsonrpc import INTERNAL_ERROR, LONGEST_LINE, Lines, Params, Request, request


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
        within `timeout` seconds, HungUp when they end before that, Unheard when they end before
        they read the question, and RemoteError when the answer is an error. Seconds in which the
        whole machine stood still do not count.
        """
        patience = Patience(timeout)
        self._take_turn(patience)
        try:
            return self._ask(method, params, patience)
        except (FileNotFoundError, ConnectionRefusedError) as problem:
            self._drop()
            raise Unreachable(f"nobody listens on {self._path}") from problem
        except _Ended as problem:
            self._drop()
            raise HungUp(f"no answer on {self._path}: {problem}") from problem
        except (ConnectionResetError, BrokenPipeError) as problem:
            # The kernel says so only of what was not read to its end, and our line was the last.
            self._drop()
            raise Unheard(f"no answer on {self._path}: {_reason(problem)}") from problem
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
        patience = Patience(timeout)
        with self._lock:
            try:
                while self._sock is not None:
                    _received(self._sock, patience)
            except TimeoutError:
                return False
            except OSError:
                self._drop()
            return True

    def close(self) -> None:
        """Hang up."""
        with self._lock:
            self._drop()

    def _take_turn(self, patience: Patience) -> None:
        """Take the lock. Raises Unanswered when others have it all the time."""
        try:
            while not self._lock.acquire(timeout=patience.step()):
                pass
        except TimeoutError:
            said = f"no answer on {self._path}: another call took all the time"
            raise Unanswered(said) from None

    def _ask(self, method: str, params: Params, patience: Patience) -> object:
        if self._sock is None:
            self._sock = unixsocket.connect(self._path, timeout=patience.step())
            self._lines = Lines()
        self._next += 1
        _send(self._sock, request(method, params, self._next), patience)
        while True:
            data = _received(self._sock, patience)
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
        patience = Patience(timeout)
        try:
            self._sock = unixsocket.connect(path, timeout=patience.step())
        except (FileNotFoundError, ConnectionRefusedError) as problem:
            raise Unreachable(f"nobody listens on {path}") from problem
        except OSError as problem:
            raise Unanswered(f"no answer on {path}: {_reason(problem)}") from problem
        try:
            _send(self._sock, request(method, params, 1), patience)
            while not self._heard:
                self._heard += self._read(_received(self._sock, patience))
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
            bodies = self._heard or self._read(_some(self._sock))
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

    def _read(self, data: bytes) -> list[Params]:
        return [_read_answer(line) for line in self._lines.feed(data)]


class _Ended(ConnectionError):
    """The other side read everything, and hung up."""


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


def _send(sock: socket.socket, data: bytes, patience: Patience) -> None:
    """Send all of it; raises TimeoutError when the other side does not take it in time."""
    rest = memoryview(data)
    while rest:
        sock.settimeout(patience.step())
        with contextlib.suppress(TimeoutError):
            rest = rest[sock.send(rest) :]


def _received(sock: socket.socket, patience: Patience) -> bytes:
    """Return what comes; raises TimeoutError when nothing does in time, _Ended at the end."""
    while True:
        sock.settimeout(patience.step())
        with contextlib.suppress(TimeoutError):
            return _some(sock)


def _some(sock: socket.socket) -> bytes:
    data = sock.recv(65536)
    if not data:
        raise _Ended("the other side hung up")
    return data


def _reason(problem: OSError) -> str:
    if isinstance(problem, TimeoutError):
        return "no answer in time"
    return problem.strerror or str(problem)
