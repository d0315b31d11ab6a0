"""A daemon of this machine, with its own folder, that stands for the one inside a VM."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from gascity import unixsocket
from gascity.testing.eventually import eventually

SERVE = [sys.executable, "-c", "import sys; from gascity.guest.main import main; sys.exit(main())"]


class Daemon:
    """One guest: it can be frozen, killed and started again where it was."""

    def __init__(self, folder: Path, *options: str, env: Mapping[str, str] | None = None) -> None:
        self.socket = str(folder / "guest.sock")
        self._folder = folder
        self._options = options
        self._env = env
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it, and return when it answers."""
        own = {"PATH": os.environ["PATH"], "HOME": str(self._folder)}
        self._process = subprocess.Popen(
            [*SERVE, "--socket", self.socket, "--workdir", str(self._folder), *self._options],
            env=dict(self._env or own),
            stdin=subprocess.DEVNULL,
        )
        eventually(self._answers)

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    def stop(self, number: int = signal.SIGTERM) -> None:
        """End it; what it started lives on."""
        if self._process is not None:
            os.kill(self._process.pid, signal.SIGCONT)
            self._process.send_signal(number)
            self._process.wait(60)
            self._process = None

    @contextmanager
    def frozen(self) -> Iterator[None]:
        """Keep it from answering."""
        os.kill(self.pid, signal.SIGSTOP)
        try:
            yield
        finally:
            os.kill(self.pid, signal.SIGCONT)

    def _answers(self) -> bool:
        """Tell whether it listens; the socket of one that was killed is still there."""
        with contextlib.suppress(OSError):
            unixsocket.connect(self.socket, timeout=5.0).close()
            return True
        return False


@contextmanager
def daemon(folder: Path, *options: str, env: Mapping[str, str] | None = None) -> Iterator[Daemon]:
    """Return one that runs while the block does."""
    made = Daemon(folder, *options, env=env)
    made.start()
    try:
        yield made
    finally:
        made.stop()
