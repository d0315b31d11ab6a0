"""One program that runs in a container, its input and its output over a websocket.

Reading and writing may be done by different threads. The socket never blocks and is touched under
one lock, for TLS state is not made for two threads at once; waiting is done outside of it. Whoever
waits to write takes in what arrives meanwhile, so a program that answers while it is written to
never stalls both sides.

The protocol (v4.channel.k8s.io) puts a channel's number before every message, and cannot say
that the input has ended: nobody may rely on that.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import select
import socket
import ssl
import threading
import time
from collections import deque

from gascity.errors import ProviderError
from gascity_kubernetes import frames
from gascity_kubernetes.answers import read_object
from gascity_kubernetes.problems import ApiSilent

STDIN, STDOUT, STDERR, STATUS, RESIZE = range(5)
PROTOCOL = "v4.channel.k8s.io"
FRAME = 32 * 1024  # bytes that go in one message
_PIECE = 1 << 16
_STALLED = 30.0  # seconds without a byte taken, after which a write gives up
_LINGERS = 1.0  # seconds; not every cluster closes the connection of a program that was written to
_WAIT = (ssl.SSLWantReadError, ssl.SSLWantWriteError, BlockingIOError)


class StreamEnded(ProviderError):
    """The program has ended, or the way to it: nothing more can be written."""


class Stream:
    """What talks to one program in a container.

    `status` is its exit status once it ended; None before, and when it was cut off. `failure` is
    what the cluster said when it could not run it or lost it.
    """

    def __init__(self, connection: socket.socket, where: str) -> None:
        self.status: int | None = None
        self.failure = ""
        self._where = where
        self._socket = connection
        self._socket.settimeout(0.0)
        self._io = threading.Lock()
        self._turn = threading.Lock()
        self._frames = frames.Frames()
        self._inbox: deque[tuple[int, bytes]] = deque()
        self._ended = False
        self._owed: deque[bytes] = deque()  # answers to pings
        self._waiting = 0
        self._closed = False
        self._left_open = math.inf  # until when more may come of a program that has ended

    def read(self, timeout: float | None) -> tuple[int, bytes] | None:
        """Return the next of the output, as (1 stdout or 2 stderr, data); None when it ended.

        Raises TimeoutError when nothing comes within `timeout` seconds.
        """
        deadline = None if timeout is None else time.monotonic() + timeout
        while True:
            with self._io:
                took = self._take()
                if self._inbox:
                    return self._inbox.popleft()
                if self._ended:
                    return None
            self._pay()
            if took:
                continue
            now = time.monotonic()
            if now >= self._left_open:
                return None
            if deadline is not None and now >= deadline:
                raise TimeoutError
            until = min(self._left_open, math.inf if deadline is None else deadline)
            self._wait(select.POLLIN, None if until == math.inf else until - now)

    def write(self, data: bytes, *, deadline: float = math.inf) -> None:
        """Hand data of any size to the program's input.

        Raises StreamEnded when it has ended, ApiSilent when nothing is taken for long, or not all
        of it in time. Then a message may be half sent: the stream is of no more use.
        """
        with self._turn:
            for start in range(0, len(data), FRAME):
                self._send(bytes([STDIN]) + data[start : start + FRAME], deadline)

    def resize(self, columns: int, rows: int) -> None:
        """Tell the program's terminal its size; raises as `write` does."""
        size = json.dumps({"Width": columns, "Height": rows}).encode()
        with self._turn:
            self._send(bytes([RESIZE]) + size, math.inf)

    def close(self) -> None:
        """End it, from any thread; whoever reads is told that it ended."""
        with self._io:
            if self._closed:
                return
            self._closed = self._ended = True
            goodbye = frames.pack(frames.CLOSE, b"\x03\xe8", os.urandom(4))
            with contextlib.suppress(OSError, ValueError):
                self._socket.send(goodbye)
            with contextlib.suppress(OSError):
                self._socket.shutdown(socket.SHUT_RDWR)  # wakes everybody who waits
            self._release()

    def _send(self, message: bytes, deadline: float) -> None:
        self._push(frames.pack(frames.BINARY, message, os.urandom(4)), deadline)
        while self._owed:
            self._push(self._owed.popleft(), deadline)

    def _pay(self) -> None:
        """Answer the pings that came, unless somebody writes, who will do it."""
        if not self._owed or not self._turn.acquire(blocking=False):
            return
        try:
            while self._owed:
                self._push(self._owed.popleft(), math.inf)
        except StreamEnded:
            pass  # whoever reads is told in his own way
        finally:
            self._turn.release()

    def _push(self, data: bytes, deadline: float) -> None:
        left = memoryview(data)
        moved = time.monotonic()
        while left:
            if time.monotonic() >= deadline:
                raise ApiSilent(f"the Kubernetes API at {self._where} did not take it all in time")
            with self._io:
                took = self._take()
                if self._ended or self._left_open < math.inf:
                    raise StreamEnded(self.failure or "the program in the pod has ended")
                try:
                    sent = self._socket.send(left)
                except _WAIT:
                    sent = 0
                except OSError as problem:
                    self._ended = True
                    raise StreamEnded(f"the connection to {self._where} broke off") from problem
            if sent:
                left = left[sent:]
                moved = time.monotonic()
            elif took:
                continue
            elif time.monotonic() - moved > _STALLED:
                raise ApiSilent(
                    f"the Kubernetes API at {self._where} takes nothing since {_STALLED:g} s"
                )
            else:
                patience = min(_STALLED, deadline - time.monotonic())
                self._wait(select.POLLIN | select.POLLOUT, patience)

    def _wait(self, events: int, seconds: float | None) -> None:
        """Wait until the socket is ready, or the stream was closed."""
        poll = select.poll()
        with self._io:
            if self._ended:
                return
            poll.register(self._socket, events)
            self._waiting += 1
        try:
            poll.poll(None if seconds is None else max(1, int(seconds * 1000)))
        finally:
            with self._io:
                self._waiting -= 1
                self._release()

    def _release(self) -> None:
        """Give the descriptor back once nobody waits for it, who might else wait for another's."""
        if self._closed and not self._waiting:
            self._socket.close()

    def _take(self) -> bool:
        """Take in some of what has arrived, and tell whether there was any; needs the lock."""
        if self._ended:
            return False
        try:
            data = self._socket.recv(_PIECE)
        except _WAIT:
            return False
        except OSError:
            data = b""
        if not data:
            self._ended = True
        for opcode, payload in self._frames.feed(data):
            self._sort(opcode, payload)
        return True

    def _sort(self, opcode: int, payload: bytes) -> None:
        if opcode == frames.CLOSE:
            self._ended = True
        elif opcode == frames.PING:
            self._owed.append(frames.pack(frames.PONG, payload, os.urandom(4)))
        elif opcode in (frames.TEXT, frames.BINARY) and payload:
            channel, data = payload[0], payload[1:]
            if channel == STATUS:
                self.status, self.failure = read_status(data)
                self._left_open = time.monotonic() + _LINGERS
            elif data:  # an empty message only says that the channel is there
                self._inbox.append((channel, data))


def read_status(data: bytes) -> tuple[int | None, str]:
    """Return the exit status that the status channel tells, and what went wrong if there is none.

    None means that the program was not run, or that nobody knows how it ended.
    """
    said = read_object(data)
    if said.get("status") == "Success":
        return 0, ""
    details = said.get("details")
    causes = details.get("causes") if isinstance(details, dict) else None
    for cause in causes if isinstance(causes, list) else []:
        if isinstance(cause, dict) and cause.get("reason") == "ExitCode":
            with contextlib.suppress(TypeError, ValueError):
                return int(cause.get("message", "")), ""
    message = said.get("message")
    return None, " ".join(str(message or data.decode("utf-8", "replace")).split())
