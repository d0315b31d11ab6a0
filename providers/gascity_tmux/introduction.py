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

PAUSE = 0.5  # seconds of silence after which the introduction counts as complete


class Introduction:
    """A door for one client. `path` is the socket it has to be sent to."""

    def __init__(self) -> None:
        self._folder = tempfile.mkdtemp(prefix="gc-tmux-")
        self.path = os.path.join(self._folder, "s")
        self._door = socket.socket(socket.AF_UNIX)
        self._door.bind(self.path)
        self._door.listen(1)

    def pass_on(self, server: str, last_word: str, *, deadline: float) -> bool:
        """Connect the client that comes with the server on that socket.

        Its introduction ends with `last_word`, the last argument it was given. False when the
        client does not come, or there is no server; it notices by itself that nobody answers.
        """
        try:
            client = self._admit(deadline)
            if client is None:
                return False
            said, passed = _listen(client, last_word.encode() + b"\0", deadline)
            try:
                there = _introduce(server, said, passed)
            except OSError:
                client.close()
                return False
            finally:
                for descriptor in passed:
                    os.close(descriptor)
        finally:
            self.close()
        threading.Thread(
            target=_relay, args=[client, there], name="tmux-relay", daemon=True
        ).start()
        return True

    def close(self) -> None:
        """Shut the door."""
        self._door.close()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _admit(self, deadline: float) -> socket.socket | None:
        self._door.settimeout(max(deadline - time.monotonic(), 0.001))
        try:
            client, _ = self._door.accept()
        except OSError:
            return None
        return client


def _listen(client: socket.socket, end: bytes, deadline: float) -> tuple[bytes, list[int]]:
    """Return what a client says until it comes to the end, and the descriptors it passes."""
    said, passed = b"", list[int]()
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
    return said, passed


def _introduce(server: str, said: bytes, passed: list[int]) -> socket.socket:
    """Say it all to the server. A descriptor needs a byte to travel with; the rest is one piece."""
    there = socket.socket(socket.AF_UNIX)
    try:
        there.settimeout(5.0)
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
    with one, other, contextlib.suppress(OSError):
        while True:
            for source in select.select([one, other], [], [])[0]:
                data = source.recv(1 << 16)
                if not data:
                    return
                (other if source is one else one).sendall(data)
