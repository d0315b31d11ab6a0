"""A real daemon in a process of its own, and a conversation with it over either transport.

Speaks the wire itself, byte by byte, and leaves the program's own client out of it.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from gascity.testing.eventually import eventually

MODULE = (sys.executable, "-m", "gascity.guest.main")
LIMIT = 60.0
TRANSPORTS = ("socket", "stdio")

Answer = dict[str, Any]  # a JSON object, looked at by the test that asked for it


def request(method: str, params: object = None, id_: object = 1) -> bytes:
    body: dict[str, object] = {"jsonrpc": "2.0", "id": id_, "method": method}
    if params is not None:
        body["params"] = params
    return json.dumps(body).encode() + b"\n"


class Conversation:
    """Bytes there and back; descriptors, so that both transports are the same."""

    def __init__(self, reading: int, writing: int) -> None:
        self._reading = reading
        self._writing = writing
        self._rest = b""

    def send(self, data: bytes) -> None:
        view = memoryview(data)
        while view:
            view = view[os.write(self._writing, view) :]

    def line(self) -> bytes:
        """Return the next line; b"" when the other side has hung up."""
        until = time.monotonic() + LIMIT
        while b"\n" not in self._rest:
            ready, _, _ = select.select([self._reading], [], [], max(0, until - time.monotonic()))
            assert ready, "no answer"
            try:
                data = os.read(self._reading, 1 << 20)
            except ConnectionResetError:
                data = b""
            if not data:
                return b""
            self._rest += data
        line, _, self._rest = self._rest.partition(b"\n")
        return line + b"\n"

    def answer(self) -> Answer:
        found = json.loads(self.line())
        assert isinstance(found, dict)
        return found

    def ask(self, method: str, params: object = None, id_: object = 1) -> Answer:
        self.send(request(method, params, id_))
        return self.answer()

    def result(self, method: str, **params: object) -> Any:  # noqa: ANN401  a JSON value
        answer = self.ask(method, params)
        assert "error" not in answer, answer
        return answer["result"]

    def no_more(self) -> None:
        """Say that nothing more will come; what is answered can still be read."""
        if self._reading == self._writing:
            with socket.socket(fileno=os.dup(self._writing)) as same:
                same.shutdown(socket.SHUT_WR)
        else:
            os.close(self._writing)
            self._writing = -1

    def close(self) -> None:
        for descriptor in {self._reading, self._writing} - {-1}:
            os.close(descriptor)
        self._reading = self._writing = -1


class Daemon:
    """A daemon, and how to reach it."""

    def __init__(
        self, transport: str, home: Path, words: Sequence[str], env: Mapping[str, str]
    ) -> None:
        self.transport = transport
        self.home = home
        self.path = str(home / "guest.sock")
        self.env = {**os.environ, **env}
        self._words = words
        self._processes: list[subprocess.Popen[bytes]] = []
        self._talks: list[Conversation] = []
        if transport == "socket":
            self._start(["--socket", self.path], pipes=False)
            eventually(self._is_up, within=LIMIT)

    @property
    def process(self) -> subprocess.Popen[bytes]:
        return self._processes[-1]

    @property
    def complaints(self) -> str:
        return (self.home / "stderr").read_text("utf-8")

    def connect(self) -> Conversation:
        """Return another conversation; over stdio that is another daemon."""
        if self.transport == "socket":
            sock = socket.socket(socket.AF_UNIX)
            sock.connect(self.path)
            descriptor = sock.detach()
            talk = Conversation(descriptor, descriptor)
        else:
            process = self._start(["--stdio"], pipes=True)
            assert process.stdin is not None
            assert process.stdout is not None
            talk = Conversation(os.dup(process.stdout.fileno()), os.dup(process.stdin.fileno()))
            process.stdin.close()
            process.stdout.close()
        self._talks.append(talk)
        return talk

    def served(self) -> Conversation:
        """Return a connection once there is room: one that was closed counts a while longer."""

        def attempt() -> Conversation | None:
            talk = self.connect()
            with contextlib.suppress(BrokenPipeError):
                talk.send(request("ping"))
            return talk if "result" in talk.answer() else None

        talk = eventually(attempt)
        assert talk is not None
        return talk

    def rss(self) -> int:
        """Return the most memory it has had, in bytes."""
        with open(f"/proc/{self.process.pid}/status", encoding="utf-8") as file:
            found = next(line for line in file if line.startswith("VmHWM"))
        return int(found.split()[1]) * 1024

    def close(self) -> None:
        for talk in self._talks:
            talk.close()
        for process in self._processes:
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)
        for process in self._processes:
            process.wait(LIMIT)

    def _start(self, words: list[str], *, pipes: bool) -> subprocess.Popen[bytes]:
        stream = subprocess.PIPE if pipes else subprocess.DEVNULL
        with open(self.home / "stderr", "ab") as stderr:
            process = subprocess.Popen(
                [*MODULE, *words, *self._words],
                stdin=stream,
                stdout=stream,
                stderr=stderr,
                env=self.env,
            )
        self._processes.append(process)
        return process

    def _is_up(self) -> bool:
        assert self.process.poll() is None, self.complaints
        with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX) as probe:
            probe.connect(self.path)
            return True
        return False


@contextlib.contextmanager
def running(
    home: Path, *words: str, transport: str = "socket", env: Mapping[str, str] | None = None
) -> Iterator[Daemon]:
    """Yield a daemon that is gone afterwards; `home` holds its socket and what it complains of."""
    home.mkdir(parents=True, exist_ok=True)
    daemon = Daemon(transport, home, words, env or {})
    try:
        yield daemon
    finally:
        daemon.close()
