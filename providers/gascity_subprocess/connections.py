"""The keeper's end of its socket: many clients, none of which can make it wait.

Speaks the format of `gascity.jsonrpc` (one JSON-RPC 2.0 message a line), which it does not import:
the dataclasses there would be a third of the keeper's start.
"""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Mapping

from gascity_subprocess import layout

LONGEST = 16 * 1024 * 1024
REFUSED = -32000
_NOT_JSON, _NOT_A_REQUEST, _NO_METHOD, _BROKEN = -32700, -32600, -32601, -32603

Params = Mapping[str, object]


class Refused(Exception):
    """What a method raises to say no: a `kind` from `layout`, and a sentence."""

    def __init__(self, kind: str, sentence: str, **facts: object) -> None:
        super().__init__(sentence)
        self.kind = kind
        self.facts = facts


class Connection:
    """One client. Everything said to it is kept until it takes it."""

    def __init__(self, sock: socket.socket) -> None:
        sock.settimeout(0)
        self.sock = sock
        self.subscribed = False
        self.told = 0  # the number of the last change a subscriber was told of
        self._unread = b""
        self._unsent = bytearray()

    @property
    def is_behind(self) -> bool:
        """Whether there is something it has not taken yet."""
        return bool(self._unsent)

    def lines(self) -> list[bytes] | None:
        """Return the lines that came in; None when the client hung up or talks nonsense."""
        try:
            data = self.sock.recv(1 << 20)
        except BlockingIOError:
            return []
        except OSError:
            return None
        if not data or len(self._unread) + len(data) > LONGEST:
            return None
        *complete, self._unread = (self._unread + data).split(b"\n")
        return complete

    def say(self, line: bytes) -> None:
        """Send a line, now or as soon as the client takes it."""
        self._unsent += line
        self.push()

    def notify(self, method: str, params: Params) -> None:
        """Say something that nobody asked for."""
        self.say(_line({"method": method, "params": params}))

    def push(self) -> None:
        """Send what is left over."""
        try:
            while self._unsent:
                del self._unsent[: self.sock.send(self._unsent)]
        except BlockingIOError:
            return
        except OSError:
            self._unsent.clear()  # it hung up; reading will tell


class Call:
    """One request, which may be answered later."""

    def __init__(self, connection: Connection, method: str, params: Params, id_: object) -> None:
        self.connection = connection
        self.method = method
        self.params = params
        self._id = id_

    @property
    def is_given_up(self) -> bool:
        """Whether the caller waits no longer, so that nothing may be done."""
        until = self.params.get(layout.UNTIL)
        return isinstance(until, int | float) and time.monotonic() >= until

    def answer(self, value: object) -> None:
        """Send the result."""
        self.connection.say(_line({"id": self._id, "result": value}))

    def refuse(self, problem: Refused) -> None:
        """Send a refusal."""
        facts = {"kind": problem.kind, **problem.facts}
        self._error(REFUSED, str(problem), facts)

    def no_such_method(self) -> None:
        """Say that the keeper does not know the method."""
        self._error(_NO_METHOD, f"the keeper has no method {self.method}", {})

    def broke(self, problem: BaseException) -> None:
        """Say that the keeper itself is at fault."""
        self._error(_BROKEN, f"{type(problem).__name__}: {problem}", {})

    def text(self, key: str) -> str:
        """Return a parameter that must be a string."""
        value = self.params.get(key)
        if not isinstance(value, str):
            raise TypeError(f"{key} must be a string")
        return value

    def number(self, key: str) -> float:
        """Return a parameter that must be a number."""
        value = self.params.get(key)
        if not isinstance(value, int | float):
            raise TypeError(f"{key} must be a number")
        return value

    def names(self, key: str) -> list[str]:
        """Return a parameter that must be a list of strings, each once."""
        value = self.params.get(key)
        if not isinstance(value, list):
            raise TypeError(f"{key} must be a list")
        return [str(name) for name in dict.fromkeys(value)]

    def texts(self, key: str) -> dict[str, str]:
        """Return a parameter that must map strings to strings."""
        value = self.params.get(key)
        if not isinstance(value, dict):
            raise TypeError(f"{key} must be an object")
        return {str(name): str(text) for name, text in value.items()}

    def _error(self, code: int, message: str, data: Params) -> None:
        body = {"code": code, "message": message, "data": data}
        self.connection.say(_line({"id": self._id, "error": body}))


def understand(connection: Connection, line: bytes) -> Call | None:
    """Return the request in a line; what is none is answered here with an error."""
    try:
        body = json.loads(line)
    except (ValueError, RecursionError):
        error = {"code": _NOT_JSON, "message": "this line is not JSON"}
        connection.say(_line({"id": None, "error": error}))
        return None
    if isinstance(body, dict) and isinstance(body.get("method"), str):
        params = body.get("params", {})
        if isinstance(params, dict):
            return Call(connection, body["method"], params, body.get("id"))
    error = {"code": _NOT_A_REQUEST, "message": "this line is not a request"}
    connection.say(_line({"id": None, "error": error}))
    return None


def _line(body: Params) -> bytes:
    return json.dumps({"jsonrpc": "2.0", **body}, separators=(",", ":")).encode() + b"\n"
