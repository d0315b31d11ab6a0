"""A line to an API server that can be frozen and cut, for one test alone."""

from __future__ import annotations

import contextlib
import copy
import json
import selectors
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

from tests.cluster.where import kubectl

PIECE = 1 << 16


class Line:
    """Passes connections on to an API server as they are; TLS goes through untouched."""

    def __init__(self) -> None:
        config = json.loads(kubectl("config", "view", "--raw", "--minify", "-o", "json"))
        self._config = config
        server = urlsplit(config["clusters"][0]["cluster"]["server"])
        self._target = (server.hostname, server.port or 443)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self._passing = threading.Event()
        self._passing.set()
        self._refusing = False
        self._pairs: set[tuple[socket.socket, socket.socket]] = set()
        self._lock = threading.Lock()
        threading.Thread(target=self._accept, name="line", daemon=True).start()

    def write_config(self, path: Path, *, by_name: bool = False) -> str:
        """Write a configuration that leads over this line; `by_name` says who is at its end."""
        config = copy.deepcopy(self._config)
        cluster = config["clusters"][0]["cluster"]
        if by_name:
            cluster["tls-server-name"] = self._target[0]
        cluster["server"] = f"https://127.0.0.1:{self.port}"
        path.write_text(json.dumps(config))
        path.chmod(0o600)
        return str(path)

    @contextlib.contextmanager
    def frozen(self) -> Iterator[None]:
        """Let nothing through, in either direction, without telling anybody."""
        self._passing.clear()
        try:
            yield
        finally:
            self._passing.set()

    @contextlib.contextmanager
    def cut(self) -> Iterator[None]:
        """End every connection, and refuse new ones."""
        self._refusing = True
        self.drop()
        try:
            yield
        finally:
            self._refusing = False

    def drop(self) -> None:
        """End every connection once."""
        with self._lock:
            pairs = tuple(self._pairs)
        for pair in pairs:
            for end in pair:
                with contextlib.suppress(OSError):
                    end.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """End it all."""
        self._passing.set()
        self._listener.close()
        self.drop()

    def _accept(self) -> None:
        while True:
            try:
                near, _ = self._listener.accept()
            except OSError:
                return
            if self._refusing:
                near.close()
                continue
            threading.Thread(target=self._pass_on, args=[near], daemon=True).start()

    def _pass_on(self, near: socket.socket) -> None:
        with near, contextlib.suppress(OSError), socket.create_connection(self._target) as far:
            pair = (near, far)
            with self._lock:
                self._pairs.add(pair)
            try:
                self._copy(near, far)
            finally:
                with self._lock:
                    self._pairs.discard(pair)

    def _copy(self, near: socket.socket, far: socket.socket) -> None:
        with selectors.DefaultSelector() as ready:
            ready.register(near, selectors.EVENT_READ, far)
            ready.register(far, selectors.EVENT_READ, near)
            while True:
                for key, _ in ready.select():
                    self._passing.wait()
                    data = key.fileobj.recv(PIECE)  # type: ignore[union-attr] # a socket of ours
                    if not data:
                        return
                    key.data.sendall(data)
