"""One conversation: lines in, an answer for each, in order.

Bad input is answered and the conversation goes on, with two exceptions: a line beyond the limit,
and the third wrong token. Nothing of what is asked is ever logged.
"""

from __future__ import annotations

import contextlib
import hmac
import os
import re
import select
from collections.abc import Callable
from dataclasses import dataclass

from gascity import jsonrpc
from gascity.guest.methods import NAMES, Failed, Methods, text

NOT_AUTHORISED = -32001
MOST_TRIES = 3
LONGEST_UNTRUSTED = 65536  # bytes of a line; what it says may take twenty times its size
PIECE = 65536
CONNECT = re.compile(rb"CONNECT\s+(?:(\d{1,10})|\S+)\s*\Z")  # to a Firecracker
PORT = 52

Read = Callable[[int, bool], bytes]  # how much at most, and whether the other side is trusted


@dataclass(frozen=True)
class Rules:
    """What holds for all conversations of a daemon."""

    methods: Methods
    token: bytes | None = None
    longest: int = jsonrpc.LONGEST_LINE


class Talk:
    """A conversation over anything that can be read and written."""

    def __init__(
        self,
        rules: Rules,
        read: Read,
        write: Callable[[bytes], object],
        *,
        greets: bool,
    ) -> None:
        """`greets`: whether the first line may be a CONNECT."""
        self._rules = rules
        self._read = read
        self._write = write
        self._greets = greets
        self._is_trusted = rules.token is None
        longest = rules.longest if self._is_trusted else min(rules.longest, LONGEST_UNTRUSTED)
        self._lines = jsonrpc.Lines(longest)
        self._tries = 0

    def run(self) -> bool:
        """Answer until the other side has no more to say, or is to be hung up on.

        Tells whether it is still writing then. Raises OSError when it has gone.
        """
        while True:
            data = self._read(PIECE, self._is_trusted)
            for line in self._lines.feed(data):
                if line is None:
                    return self._refuse_length()
                if not self._hear(line):
                    return False
            if self._lines.overlong:
                return self._refuse_length()
            if not data:
                self._hear(self._lines.rest())
                return False

    def _hear(self, line: bytes) -> bool:
        """Answer one line; False when that was the last."""
        greeted, self._greets = self._greets and CONNECT.match(line), False
        if greeted:
            self._write(b"OK %d\n" % int(greeted[1] or PORT))
        elif line.strip():
            self._write(self._answer(line))
        return self._tries < MOST_TRIES

    def _answer(self, line: bytes) -> bytes:
        asked = jsonrpc.read_request(line, notifications=False, names=NAMES)
        if isinstance(asked, jsonrpc.BadRequest):
            return jsonrpc.error(asked.id, asked.code, asked.message)
        try:
            return jsonrpc.result(asked.id, self._result(asked))
        except Failed as problem:
            return jsonrpc.error(asked.id, problem.code, problem.message)
        except Exception as problem:  # noqa: BLE001  a defect here must not end the conversation
            complain(f"a request could not be answered: {type(problem).__name__}")
            return jsonrpc.error(asked.id, jsonrpc.INTERNAL_ERROR, "internal error")

    def _result(self, asked: jsonrpc.Request) -> dict[str, object]:
        if asked.method == "auth":
            self._check(asked.params)
            return {"success": True}
        if not self._is_trusted:
            raise Failed(NOT_AUTHORISED, "not authorised")
        return self._rules.methods.answer(asked.method, asked.params)

    def _check(self, params: jsonrpc.Params) -> None:
        token = self._rules.token
        if token is None:
            return
        given = text(params, "token").encode()
        if not hmac.compare_digest(given, token):
            self._tries += 1
            complain("a wrong token was refused")
            raise Failed(NOT_AUTHORISED, "not authorised")
        self._is_trusted = True
        self._lines.limit = self._rules.longest

    def _refuse_length(self) -> bool:
        message = f"the line is longer than {self._lines.limit} bytes"
        self._write(jsonrpc.error(None, jsonrpc.INVALID_REQUEST, message))
        return True


def complain(problem: str) -> None:
    """Write a line for whoever looks after the daemon; nobody waits until it is read."""
    with contextlib.suppress(OSError, ValueError):
        if select.select([], [2], [], 0)[1]:
            os.write(2, f"gc guest: {problem}\n".encode(errors="replace"))
