"""The wire format, once: JSON-RPC 2.0, one message a line, in both directions.

The controller's socket, the guest daemon and the session providers that have a server of their own
speak it. This module turns values into lines and lines into values; `gascity.asking` asks over a
Unix socket. It knows no method by name. Bad input never ends a connection: it is answered with an
error.

It is also shipped alone, into machines with nothing but Python 3.9: the standard library is all it
may import, and newer syntax has no place in it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Optional

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603
FAILED = -32000  # the method ran and says no; `data` holds `exit` and `hint`

LONGEST_ID = 2**64 - 1
LONGEST_LINE = 16 * 1024 * 1024
LONGEST_NUMBER = 1000  # digits

Id = Optional[int]  # 3.9 could not evaluate `int | None`
Params = Mapping[str, object]


@dataclass(frozen=True)
class Request:
    """Something asked for. `id` is None for a notification, which gets no answer."""

    method: str
    params: Params
    id: Id


@dataclass(frozen=True)
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


def read_request(
    line: bytes,
    *,
    notifications: bool = True,
    names: Mapping[str, Sequence[str]] | None = None,
) -> Request | BadRequest:
    """Understand one line: not JSON is -32700, JSON that is no request is -32600.

    Without `notifications` every request needs an id. `names` are the parameters of each method in
    their order: with it they may come in an array, too.
    """
    try:
        body = _DECODER.decode(line.decode())
    except (ValueError, RecursionError):
        return BadRequest(None, PARSE_ERROR, "this line is not JSON")
    if not isinstance(body, dict):
        return BadRequest(None, INVALID_REQUEST, "a request is an object")
    given = body.get("id")
    known = isinstance(given, int) and not isinstance(given, bool) and 0 <= given <= LONGEST_ID
    id_ = given if known else None
    if "id" in body and not known:
        return BadRequest(None, INVALID_REQUEST, "id must be a whole number from 0 to 2^64-1")
    if not known and not notifications:
        return BadRequest(None, INVALID_REQUEST, "id is missing")
    if body.get("jsonrpc") != "2.0":
        return BadRequest(id_, INVALID_REQUEST, 'jsonrpc must be "2.0"')
    method = body.get("method")
    if not isinstance(method, str):
        return BadRequest(id_, INVALID_REQUEST, "method must be a string")
    params = body.get("params", {})
    if names is not None and isinstance(params, list):
        params = dict(zip(names.get(method, ()), params))
    if not isinstance(params, dict):
        wanted = "an object" if names is None else "an object or an array"
        return BadRequest(id_, INVALID_PARAMS, f"params must be {wanted}")
    return Request(method, params, id_)


def _no_number(word: str) -> object:
    raise ValueError(f"{word} is not JSON")


def _whole(digits: str) -> int | float:
    """Return a whole number; what is long beyond use is not worked out, which takes for ever."""
    return int(digits) if len(digits) <= LONGEST_NUMBER else float(digits)


_DECODER = json.JSONDecoder(parse_constant=_no_number, parse_int=_whole)
_ENCODER = json.JSONEncoder(separators=(",", ":"))


class Lines:
    """Cuts a stream into lines and refuses to remember one longer than `limit`.

    Another limit holds from the next line on.
    """

    def __init__(self, limit: int = LONGEST_LINE) -> None:
        self.limit = limit
        self._kept = bytearray()  # one block: many small ones would not be given back
        self._skipping = False

    def feed(self, data: bytes) -> Iterator[bytes | None]:
        """Yield the lines that `data` completes; None stands for one that was too long."""
        *complete, rest = data.split(b"\n")
        for piece in complete:
            if not (self._kept or self._skipping) and len(piece) <= self.limit:
                yield piece
                continue
            self._keep(piece)
            yield None if self._skipping else bytes(self._kept)
            self._kept, self._skipping = bytearray(), False
        self._keep(rest)

    @property
    def overlong(self) -> bool:
        """Whether the line that is not complete yet is too long already."""
        return self._skipping

    def rest(self) -> bytes:
        """Return what came after the last newline, for a stream that has ended."""
        return bytes(self._kept)

    def _keep(self, piece: bytes) -> None:
        if self._skipping or len(self._kept) + len(piece) > self.limit:
            self._kept, self._skipping = bytearray(), True
        else:
            self._kept += piece


def _line(body: Mapping[str, object]) -> bytes:
    return _ENCODER.encode(body).encode() + b"\n"
