"""Asking a guest: its methods as functions, with typed answers.

One question at a time, over one connection that is made when first needed and again after a
failure. A connection on which an answer is still to come is never used again, so that no late
answer is taken for that to another question; an answer with another id is passed over all the same.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

from gascity import jsonrpc
from gascity.errors import HungUp, RemoteError, Unanswered, Unreachable
from gascity.guest.connection import Address, Connection, Params, left

TIMEOUT = 30.0


@dataclass(frozen=True, slots=True)
class ExecResult:
    """How a command ended, and what it wrote; -1 when it could not be started."""

    exit_code: int
    stdout: str
    stderr: str


@dataclass(frozen=True, slots=True)
class FileEntry:
    """One entry of a folder; `size` is 0 for what is no regular file."""

    name: str
    is_dir: bool
    size: int


class Client:
    """A guest at an address; thread-safe: who comes second waits for its turn.

    Every method takes a `timeout` in seconds, or that of the client, and raises Unreachable when
    nobody is there, Unanswered when no answer comes in time, HungUp when the guest goes away before
    its answer (what was asked may have been done), and RemoteError for an answer that is an error.
    """

    def __init__(
        self,
        address: str | Address,
        *,
        token: str = "",
        timeout: float = TIMEOUT,
    ) -> None:
        """Remember where it is; raises UsageError for an address that is none."""
        self.address = Address.read(address) if isinstance(address, str) else address
        self.timeout = timeout
        self._token = token
        self._lock = threading.Lock()
        self._connection: Connection | None = None
        self._next = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Hang up; the next question connects again."""
        with self._lock:
            self._drop()

    # --- the methods

    def ping(self, *, timeout: float | None = None) -> None:
        """Return when the guest has answered."""
        found = self.call("ping", {}, timeout=timeout)
        if not isinstance(found, dict) or found.get("pong") is not True:
            raise self._odd("ping")

    def exec(self, cmd: str, *, timeout: float | None = None) -> ExecResult:
        """Run a command in a shell of the guest, and return how it ended."""
        return self._executed("exec", {"cmd": cmd}, timeout)

    def exec_code(self, lang: str, code: str, *, timeout: float | None = None) -> ExecResult:
        """Run a piece of code, and return how it ended."""
        return self._executed("exec_code", {"lang": lang, "code": code}, timeout)

    def read_file(self, path: str, *, timeout: float | None = None) -> str:
        """Return the text of a file."""
        found = self.call("read_file", {"path": path}, timeout=timeout)
        content = found.get("content") if isinstance(found, dict) else None
        if not isinstance(content, str):
            raise self._odd("read_file")
        return content

    def write_file(self, path: str, content: str, *, timeout: float | None = None) -> None:
        """Write a text into a file, in place of what is there."""
        found = self.call("write_file", {"path": path, "content": content}, timeout=timeout)
        if not isinstance(found, dict) or found.get("success") is not True:
            raise self._odd("write_file")

    def list_dir(self, path: str, *, timeout: float | None = None) -> tuple[FileEntry, ...]:
        """Return what is in a folder."""
        found = self.call("list_dir", {"path": path}, timeout=timeout)
        entries = found.get("entries") if isinstance(found, dict) else None
        read = [_entry(one) for one in entries] if isinstance(entries, list) else [None]
        whole = tuple(one for one in read if one is not None)
        if len(whole) != len(read):
            raise self._odd("list_dir")
        return whole

    def call(self, method: str, params: Params, *, timeout: float | None = None) -> object:
        """Return the result of any method."""
        limit = self.timeout if timeout is None else timeout
        deadline = time.monotonic() + limit
        if not self._lock.acquire(timeout=max(limit, 0)):
            raise Unanswered(f"no answer from the guest at {self.address}: it is busy with another")
        try:
            return self._call(method, params, deadline)
        finally:
            self._lock.release()

    # --- how

    def _call(self, method: str, params: Params, deadline: float) -> object:
        where = f"the guest at {self.address}"
        is_met = False
        if self._connection is not None and not self._connection.is_of_use:
            self._drop()  # the guest was started anew
        try:
            if self._connection is None:
                self._connection = self._meet(deadline)
            is_met = True
            return self._ask(self._connection, method, params, deadline)
        except RemoteError:
            if not is_met:
                self._drop()
            raise
        except OSError as problem:
            self._drop()
            why = str(problem.strerror or problem)
            if isinstance(problem, TimeoutError):
                raise Unanswered(f"no answer from {where} in time") from problem
            if not is_met:
                raise Unreachable(f"{where} cannot be reached: {why}") from problem
            if isinstance(problem, ConnectionResetError | BrokenPipeError):
                raise HungUp(f"no answer from {where}: it hung up") from problem
            raise Unanswered(f"no answer from {where}: {why}") from problem
        except BaseException:  # an interrupt must not leave an answer to be read later
            self._drop()
            raise

    def _meet(self, deadline: float) -> Connection:
        """Connect, and say the token where there is one."""
        connection = Connection(self.address, deadline=deadline)
        try:
            if self._token:
                self._ask(connection, "auth", {"token": self._token}, deadline)
        except BaseException:  # whatever it is: it is closed and raised again
            connection.close()
            raise
        return connection

    def _ask(self, connection: Connection, method: str, params: Params, deadline: float) -> object:
        self._next += 1
        connection.ask(method, params, self._next, deadline=deadline)
        while True:
            left(deadline)  # who never stops answering what was not asked is no answer
            body = connection.receive(deadline=deadline)
            # Without an id it is about the connection, and what was asked on it last.
            if body["id"] is None and "error" in body:
                self._drop()
                raise _refused(body["error"])
            if body["id"] == self._next and not isinstance(body["id"], bool):
                if "error" in body:
                    raise _refused(body["error"])
                return body["result"]

    def _drop(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _executed(
        self, method: str, params: Mapping[str, object], timeout: float | None
    ) -> ExecResult:
        found = self.call(method, params, timeout=timeout)
        if isinstance(found, dict):
            code, out, err = (found.get(key) for key in ("exit_code", "stdout", "stderr"))
            if isinstance(code, int) and isinstance(out, str) and isinstance(err, str):
                return ExecResult(code, out, err)
        raise self._odd(method)

    def _odd(self, method: str) -> RemoteError:
        said = f"the guest at {self.address} answered {method} with something else than its result"
        return RemoteError(said, code=jsonrpc.INTERNAL_ERROR)


def _entry(found: object) -> FileEntry | None:
    if not isinstance(found, dict):
        return None
    name, is_dir, size = (found.get(key) for key in ("name", "is_dir", "size"))
    if isinstance(name, str) and isinstance(is_dir, bool) and isinstance(size, int):
        return FileEntry(name, is_dir, size)
    return None


def _refused(problem: object) -> RemoteError:
    told = problem if isinstance(problem, dict) else {}
    code = told.get("code")
    message = str(told.get("message") or "an error without a word")
    return RemoteError(message, code=code if isinstance(code, int) else jsonrpc.INTERNAL_ERROR)
