"""Bringing a control client to its server in one piece.

tmux crashes, and every agent with it, when it has something to tell to all control clients while
one of them has not finished introducing itself, or goes away before it has. A client introduces
itself in several messages, between which the server does other things. So the client is given a
socket of ours; what it says is collected, with the descriptors it passes, and handed on at once:
the server reads it in one turn. After that the two are connected through us.
"""

from __future__ import annotations

import contextlib
import os
import select
import shutil
import socket
import tempfile
import threading
import time

from gascity.errors import ProviderUnavailable

PAUSE = 0.5  # seconds of silence after which the introduction counts as complete


class Introduction:
    """A door for one client. `path` is the socket it has to be sent to."""

    def __init__(self) -> None:
        try:
            # Not where TMPDIR says: the path of a socket has to be short.
            self._folder = tempfile.mkdtemp(prefix="gc-tmux-", dir="/tmp")
            self._door = socket.socket(socket.AF_UNIX)
            self.path = os.path.join(self._folder, "s")
            self._door.bind(self.path)
            self._door.listen(1)
        except OSError as problem:
            raise ProviderUnavailable(f"no way to tmux could be opened: {problem}") from problem

    def pass_on(
        self, server: str, last_word: str, is_gone: threading.Event, *, deadline: float
    ) -> bool:
        """Connect the client that comes with the server on that socket.

        Its introduction ends with `last_word`, the last argument it was given. False when the
        client `is_gone` or does not come, and when the server does not let it in.
        """
        try:
            client = self._admit(is_gone, deadline)
            if client is None:
                return False
            there = _led_to(server, client, last_word.encode() + b"\0", deadline)
        except OSError:
            return False
        finally:
            self.close()
        if there is None:
            return False
        threading.Thread(
            target=_relay, args=[client, there], name="tmux-relay", daemon=True
        ).start()
        return True

    def close(self) -> None:
        """Shut the door."""
        self._door.close()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _admit(self, is_gone: threading.Event, deadline: float) -> socket.socket | None:
        self._door.settimeout(0.05)
        while time.monotonic() < deadline and not is_gone.is_set():
            with contextlib.suppress(TimeoutError):
                return self._door.accept()[0]
        return None


def _led_to(
    server: str, client: socket.socket, end: bytes, deadline: float
) -> socket.socket | None:
    """Return a connection to the server that knows all the client said."""
    passed: list[int] = []
    try:
        said = _listen(client, end, passed, deadline)
        return _introduce(server, said, passed, deadline)
    except OSError:
        client.close()
        return None
    finally:
        for descriptor in passed:
            os.close(descriptor)


def _listen(client: socket.socket, end: bytes, passed: list[int], deadline: float) -> bytes:
    """Return what a client says until it comes to the end; what it passes is put into `passed`."""
    said = b""
    while not said.endswith(end):
        client.settimeout(max(min(PAUSE, deadline - time.monotonic()), 0.001))
        try:
            data, descriptors, _, _ = socket.recv_fds(client, 1 << 16, 8)
        except TimeoutError:
            break  # another version may end otherwise
        passed += descriptors
        if not data:
            break
        said += data
    client.settimeout(None)
    return said


def _introduce(server: str, said: bytes, passed: list[int], deadline: float) -> socket.socket:
    """Say it all to the server. A descriptor needs a byte to travel with; the rest is one piece."""
    there = socket.socket(socket.AF_UNIX)
    try:
        there.settimeout(max(deadline - time.monotonic(), 0.001))
        there.connect(server)
        for number, descriptor in enumerate(passed):
            socket.send_fds(there, [said[number : number + 1]], [descriptor])
        there.sendall(said[len(passed) :])
    except OSError:
        there.close()
        raise
    there.settimeout(None)
    return there


def _relay(one: socket.socket, other: socket.socket) -> None:
    """Carry what each says to the other, until one of them goes."""
    poll = select.poll()
    to = {one.fileno(): (one, other), other.fileno(): (other, one)}
    for descriptor in to:
        poll.register(descriptor, select.POLLIN)
    with one, other, contextlib.suppress(OSError):
        while True:
            for descriptor, _ in poll.poll():
                source, target = to[descriptor]
                data = source.recv(1 << 16)
                if not data:
                    return
                target.sendall(data)
