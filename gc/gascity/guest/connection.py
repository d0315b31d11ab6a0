"""One connection to a guest: how it is reached, and lines in both directions.

An address is the path of a Unix socket, `PATH?connect=52` for one that has to be told which port
of the machine behind it is meant, as Firecracker's has, or `vsock:CID:PORT`.
"""

from __future__ import annotations

import json
import re
import select
import socket
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from gascity import jsonrpc, unixsocket
from gascity.errors import UsageError

# A file of 10 MiB may be written with six bytes for each of its own.
LONGEST_ANSWER = 96 * 1024 * 1024
LONGEST_GREETING = 128
_PIECE = 256 * 1024
_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")
Params = Mapping[str, object] | Sequence[object]


@dataclass(frozen=True, slots=True)
class Address:
    """Where a guest answers: a `path`, with a port to be told or not, or a vsock."""

    path: str = ""
    connect: int | None = None
    cid: int = 0
    port: int = 0

    def __str__(self) -> str:
        if not self.path:
            return f"vsock:{self.cid}:{self.port}"
        return self.path if self.connect is None else f"{self.path}?connect={self.connect}"

    @classmethod
    def read(cls, text: str) -> Address:
        """Understand an address; raises UsageError for what is none."""
        if text.startswith("vsock:"):
            cid, _, port = text.removeprefix("vsock:").partition(":")
            return cls(cid=_number(cid, text), port=_number(port, text))
        path, asked, port = text.partition("?connect=")
        if not path or "\0" in path:
            raise UsageError(f"{text!r} is no address of a guest", hint=_KINDS)
        return cls(path=path, connect=_number(port, text) if asked else None)


_KINDS = "an address is PATH, PATH?connect=PORT or vsock:CID:PORT"


def _number(text: str, whole: str) -> int:
    if not (text.isascii() and text.isdigit()) or int(text) >= 2**32:
        raise UsageError(f"{whole!r} is no address of a guest", hint=_KINDS)
    return int(text)


class Connection:
    """Sends requests and reads answers. Not thread-safe; any OSError ends its use.

    What comes is checked: ConnectionError is raised for what is no JSON-RPC, or too long.
    """

    def __init__(self, address: Address, *, deadline: float) -> None:
        """Connect; raises OSError, as TimeoutError when `deadline`, a monotonic time, is over."""
        self._sock = _connected(address, deadline)
        self._lines = jsonrpc.Lines(LONGEST_ANSWER)
        self._waiting: list[bytes | None] = []
        try:
            if address.connect is not None:
                self._greet(address.connect, deadline)
        except BaseException:  # whatever it is, an interrupt too: it is closed and raised again
            self.close()
            raise

    def ask(self, method: str, params: Params, id_: int, *, deadline: float) -> None:
        """Send one request."""
        body = {"jsonrpc": "2.0", "id": id_, "method": method, "params": params}
        self._send(json.dumps(body, separators=(",", ":")).encode() + b"\n", deadline)

    @property
    def is_of_use(self) -> bool:
        """Whether the other side has neither hung up nor said anything that nobody asked for."""
        readable = select.poll()  # `select` takes no descriptor above 1023
        readable.register(self._sock, select.POLLIN)
        return not readable.poll(0) and not self._waiting

    def receive(self, *, deadline: float) -> Mapping[str, object]:
        """Return the next answer."""
        while not self._waiting:
            self._sock.settimeout(left(deadline))
            data = self._sock.recv(_PIECE)
            if not data:
                raise ConnectionResetError("it hung up")
            self._waiting += self._lines.feed(data)
        return _answer(self._waiting.pop(0))

    def close(self) -> None:
        """Hang up."""
        self._sock.close()

    def _send(self, line: bytes, deadline: float) -> None:
        self._sock.settimeout(left(deadline))
        self._sock.sendall(line)

    def _greet(self, port: int, deadline: float) -> None:
        """Say which port is meant, and take no more than the line that answers it."""
        self._send(b"CONNECT %d\n" % port, deadline)
        said = b""
        while not said.endswith(b"\n"):
            self._sock.settimeout(left(deadline))
            byte = self._sock.recv(1)
            if not byte or len(said) >= LONGEST_GREETING:
                raise ConnectionRefusedError(f"it does not let through to port {port}")
            said += byte
        if not said.startswith(b"OK"):
            raise ConnectionRefusedError(f"it does not let through to port {port}")


def _connected(address: Address, deadline: float) -> socket.socket:
    if address.path:
        return unixsocket.connect(address.path, timeout=left(deadline))
    family = getattr(socket, "AF_VSOCK", None)
    if family is None:
        raise ConnectionError("this Python knows no vsock")
    sock = socket.socket(family, socket.SOCK_STREAM)
    try:
        sock.settimeout(left(deadline))
        sock.connect((address.cid, address.port))
    except BaseException:  # as above
        sock.close()
        raise
    return sock


def _answer(line: bytes | None) -> Mapping[str, object]:
    if line is None:
        raise ConnectionError(f"its answer is longer than {LONGEST_ANSWER} bytes")
    try:
        body = json.loads(line)
        if _SURROGATE.search(line):  # half a character is none, and can be written nowhere
            whole = json.dumps(body, ensure_ascii=False).encode(errors="replace")
            body = json.loads(whole)
    except (ValueError, RecursionError):
        body = None
    if not isinstance(body, dict) or body.get("jsonrpc") != "2.0" or "id" not in body:
        raise ConnectionError("it does not speak JSON-RPC")
    if ("result" in body) == ("error" in body):
        raise ConnectionError("its answer is neither a result nor an error")
    return body


def left(deadline: float) -> float:
    """Return the seconds until then; raises TimeoutError when there are none."""
    rest = deadline - time.monotonic()
    if rest <= 0:
        raise TimeoutError("no answer in time")
    return rest
