"""The controller's socket: JSON-RPC for the people and programs of the same user.

A thread per connection reads questions and writes answers; the loop never touches a socket, so a
client that does not read cannot hold it up. What is streamed is none of the loop's business: the
thread of the connection sends it, and the connection is for nothing else from then on.
"""

from __future__ import annotations

import contextlib
import os
import queue
import socket
import threading
import time
from collections.abc import Callable, Mapping

from gascity import jsonrpc, unixsocket
from gascity.controller.messages import Asked
from gascity.errors import GascityError

LONGEST_LINE = 1024 * 1024

Stream = Callable[[socket.socket, jsonrpc.Request], None]


class ControlSocket:
    """Listens at a path and hands each request to `post` as an `Asked`.

    A method in `streams` is called instead, with its connection, which ends with the call.
    """

    def __init__(
        self,
        path: str,
        post: Callable[[Asked], None],
        streams: Mapping[str, Stream] | None = None,
    ) -> None:
        self._path = path
        self._post = post
        self._streams = streams or {}
        self._open = 0
        self._changed = threading.Condition()
        self._closed = threading.Event()
        self._server = unixsocket.listen(path)
        threading.Thread(target=self._accept, name="control", daemon=True).start()

    def close(self, *, patience: float = 1.0) -> None:
        """Stop listening and wait a little until every answer that was given is written."""
        with contextlib.suppress(OSError):
            os.unlink(self._path)
        deadline = time.monotonic() + patience
        with self._changed:
            while self._open and time.monotonic() < deadline:
                self._changed.wait(deadline - time.monotonic())
        self._closed.set()
        self._server.close()

    def _accept(self) -> None:
        while not self._closed.is_set():
            try:
                connection, _ = self._server.accept()
            except OSError:  # out of descriptors, perhaps: that passes
                self._closed.wait(0.1)
                continue
            if not unixsocket.peer_is_me(connection):
                connection.close()
                continue
            threading.Thread(
                target=self._serve, args=(connection,), name="control-client", daemon=True
            ).start()

    def _serve(self, connection: socket.socket) -> None:
        lines = jsonrpc.Lines(LONGEST_LINE)
        with connection, contextlib.suppress(OSError):
            while data := connection.recv(65536):
                for line in lines.feed(data):
                    if not self._respond(connection, line):
                        return

    def _respond(self, connection: socket.socket, line: bytes | None) -> bool:
        """Answer; tell whether the connection goes on."""
        if line is None:
            problem = jsonrpc.error(None, jsonrpc.INVALID_REQUEST, "the line is too long")
            connection.sendall(problem)
            return True
        request = jsonrpc.read_request(line)
        if isinstance(request, jsonrpc.BadRequest):
            connection.sendall(jsonrpc.error(request.id, request.code, request.message))
            return True
        if request.method in self._streams:
            self._streams[request.method](connection, request)
            return False
        self._ask(connection, request)
        return True

    def _ask(self, connection: socket.socket, request: jsonrpc.Request) -> None:
        answers: queue.SimpleQueue[object | GascityError] = queue.SimpleQueue()
        with self._changed:
            self._open += 1
        try:
            self._post(Asked(request.method, request.params, answers.put))
            reply = _line(request.id, answers.get())
            if request.id is not None:
                connection.sendall(reply)
        finally:
            with self._changed:
                self._open -= 1
                self._changed.notify_all()


def _line(id_: int | None, answer: object | GascityError) -> bytes:
    if isinstance(answer, GascityError):
        data = {"exit": int(answer.exit_code), "hint": answer.hint}
        return jsonrpc.error(id_, jsonrpc.FAILED, answer.message, data)
    return jsonrpc.result(id_, answer)
