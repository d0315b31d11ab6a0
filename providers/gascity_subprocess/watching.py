"""Being told at once that something changed, and what.

A connection of its own on which the keeper says so. What it says is complete together with what the
mirror holds, so a look can be spared. The connection is made again when the keeper goes away,
which is a change too. Where there is no keeper, nothing runs: the watch hears of one that this
process starts, and looks now and then for one that another started.
"""

from __future__ import annotations

import contextlib
import os
import socket
import threading
from collections.abc import Callable

from gascity import jsonrpc, unixsocket
from gascity.errors import ProviderUnavailable
from gascity.session.watch import SeenCallback, Watch
from gascity_subprocess import layout
from gascity_subprocess.asking import Keeper
from gascity_subprocess.mirror import Mirror

TIMEOUT = 5.0
LOOK = 0.2  # seconds between two looks for a keeper


class KeeperWatch(Watch):
    """Calls `seen`, where all is known, or `wake` from a thread of its own until closed."""

    def __init__(
        self,
        keeper: Keeper,
        mirror: Mirror,
        wake: Callable[[], None],
        seen: SeenCallback | None,
        interval: float,
    ) -> None:
        self._keeper = keeper
        self._mirror = mirror
        self._wake = wake
        self._seen = seen
        self._interval = interval
        self._ended = threading.Event()
        self._stirred = threading.Event()
        keeper.on_launch.add(self._stirred.set)
        self._lock = threading.Lock()
        self._sock: socket.socket | None = None
        self._thread = threading.Thread(target=self._run, name="subprocess-watch", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop calling back; when this returns, no call is under way (unless it is the caller)."""
        self._ended.set()
        self._stirred.set()
        self._keeper.on_launch.discard(self._stirred.set)
        with self._lock, contextlib.suppress(OSError):  # the keeper may be gone this moment
            if self._sock is not None:
                self._sock.shutdown(socket.SHUT_RDWR)
        if threading.current_thread() is not self._thread:
            self._thread.join(TIMEOUT)

    def _run(self) -> None:
        while not self._ended.is_set():
            self._stirred.clear()
            sock = self._connect()
            if sock is None:
                if not self._ended.is_set():
                    self._stirred.wait(min(self._interval, LOOK))
                continue
            try:
                self._listen(sock)
            finally:
                with self._lock:
                    self._sock = None
                sock.close()
            if not self._ended.is_set():
                self._wake()
                self._revive()

    def _listen(self, sock: socket.socket) -> None:
        """Wake on everything the keeper says, until it hangs up."""
        with self._lock:
            self._sock = sock
            if self._ended.is_set():
                return
        try:
            sock.settimeout(None)
            sock.sendall(jsonrpc.request("subscribe", {}, 1))
            lines = jsonrpc.Lines()
            while (data := sock.recv(65536)) and not self._ended.is_set():
                for line in lines.feed(data):
                    self._hear(line)
        except OSError:
            return

    def _hear(self, line: bytes | None) -> None:
        """Pass on what the keeper said; the first line only says that it will say more."""
        news = jsonrpc.read_request(line or b"")
        if self._seen is not None and isinstance(news, jsonrpc.Request):
            sessions = self._mirror.told(news.params)
            at = news.params.get("at")
            if sessions is not None and isinstance(at, float):
                self._seen(sessions, at)
                return
        self._wake()

    def _connect(self) -> socket.socket | None:
        try:
            return unixsocket.connect(
                os.path.join(self._keeper.home, layout.SOCKET), timeout=TIMEOUT
            )
        except OSError:
            return None

    def _revive(self) -> None:
        """Have a keeper again if there is something to keep."""
        try:
            if self._keeper.has_sessions():
                self._keeper.ensure(TIMEOUT)
        except ProviderUnavailable:
            return  # the loop that was woken will ask, and say so
