"""A city on its own tmux server, persons at terminals, and eyes that do not use the provider."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import pty
import signal
import struct
import subprocess
import sys
import termios
import threading
import uuid
from collections.abc import Iterator, Mapping
from pathlib import Path

import psutil
import pytest
from tests.living import lives

from gascity.core.model import SessionConfig, StartupHints
from gascity.session.provider import CityContext
from gascity.session.receipts import Delivery
from gascity.testing.eventually import eventually
from gascity_tmux import layout
from gascity_tmux.provider import Provider

LIMIT = 60.0
HANDED_OVER = (Delivery.SUBMITTED, Delivery.UNVERIFIED)
# Writes down every line that it is told.
SCRIBE = 'while IFS= read -r line; do printf "%s\\n" "$line" >>heard; done'
ATTACH = """
import sys
from gascity.session.provider import CityContext
from gascity_tmux.provider import Provider
provider = Provider(CityContext("t", "id", sys.argv[1], {}))
sys.exit(provider.attach(sys.argv[2]))
"""


class Terminal:
    """A person at a terminal that shows a session."""

    def __init__(self, state: Path, name: str) -> None:
        self._master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
        self._process = subprocess.Popen(
            [sys.executable, "-c", ATTACH, str(state), name],
            env={**outer_env(), "TERM": "xterm"},
            stdin=slave,
            stdout=slave,
            stderr=slave,
            start_new_session=True,
        )
        os.close(slave)
        self.shown = b""
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def type(self, keys: bytes) -> None:
        os.write(self._master, keys)

    @property
    def status(self) -> int | None:
        return self._process.poll()

    def close(self) -> None:
        """Hang up, with all that runs on the terminal."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        self._reader.join(5.0)
        os.close(self._master)

    def _read(self) -> None:
        with contextlib.suppress(OSError):  # nobody has the other end open any more
            while data := os.read(self._master, 65536):
                self.shown += data


class City:
    """One city with its state in a folder of its own; `token` is in every agent's environment."""

    def __init__(self, folder: Path) -> None:
        self.work = folder / "work"
        self.work.mkdir(parents=True)
        self.state = folder / ".gc"
        self.token = uuid.uuid4().hex
        self.made: list[Provider] = []
        self.terminals: list[Terminal] = []
        self.home = Path(layout.home(str(self.state)))
        self.socket = layout.socket_path("t", str(self.home))

    def provider(self, settings: Mapping[str, object] | None = None) -> Provider:
        self.made.append(Provider(CityContext("t", "id", str(self.state), settings or {})))
        return self.made[-1]

    def config(
        self,
        command: str,
        hints: StartupHints | None = None,
        env: Mapping[str, str] | None = None,
        meta: Mapping[str, str] | None = None,
    ) -> SessionConfig:
        whole = {"PATH": os.environ["PATH"], "TEST_TOKEN": self.token, **(env or {})}
        return SessionConfig(command, str(self.work), whole, hints or StartupHints(), meta or {})

    def attach(self, name: str) -> Terminal:
        self.terminals.append(Terminal(self.state, name))
        return self.terminals[-1]

    def heard(self) -> list[str]:
        """Return the lines that a scribe wrote down."""
        try:
            return (self.work / "heard").read_text("utf-8").splitlines()
        except FileNotFoundError:
            return []

    # --- what a person would do, and see

    def tmux(self, *words: str, env: Mapping[str, str] | None = None) -> str:
        """Run tmux by hand on the city's socket and return what it prints."""
        Path(self.socket).parent.mkdir(mode=0o700, exist_ok=True)
        done = subprocess.run(
            ["tmux", "-f", "/dev/null", "-S", self.socket, *words],
            env={**outer_env(), **(env or {})},
            capture_output=True,
            text=True,
            timeout=LIMIT,
            check=True,
        )
        return done.stdout.rstrip("\n")

    def sessions(self) -> list[str]:
        """Return what tmux calls its sessions, without the hub."""
        try:
            found = self.tmux("list-sessions", "-F", "#{session_name}").split("\n")
        except subprocess.CalledProcessError:
            return []  # there is no server
        return sorted(name for name in found if name != layout.HUB)

    def ask(self, name: str, wanted: str) -> str:
        """Return what tmux says of the active pane of a session."""
        return self.tmux("display-message", "-p", "-t", f"={name}:", wanted)

    def server(self) -> int:
        """Return the pid of the city's server as it was remembered, if that lives; else 0."""
        with contextlib.suppress(OSError, ValueError):
            pid = int(json.loads((self.home / layout.SERVER).read_text())["pid"])
            if pid in self.on_socket():
                return pid
        return 0

    def on_socket(self) -> list[int]:
        """Return the pids of all tmux processes, server or client, with the city's socket."""
        found = []
        for process in psutil.process_iter():
            with contextlib.suppress(psutil.Error):
                if self.socket in process.cmdline() and lives(process.pid):
                    found.append(process.pid)
        return found

    def clients(self) -> list[int]:
        """Return the pids of the control clients of this process."""
        found = []
        for process in psutil.Process().children():
            with contextlib.suppress(psutil.Error):
                if layout.HUB in process.cmdline() and lives(process.pid):
                    found.append(process.pid)
        return found

    def living(self) -> list[int]:
        """Return the pids of all processes with this city's token."""
        found = []
        for process in psutil.process_iter():
            with contextlib.suppress(psutil.Error):
                if process.environ().get("TEST_TOKEN") == self.token and lives(process.pid):
                    found.append(process.pid)
        return found

    def records(self) -> list[str]:
        """Return the files that the provider keeps beside its sessions."""
        folder = self.home / layout.SESSIONS
        return sorted(path.name for path in folder.iterdir()) if folder.exists() else []

    def clean_up(self) -> None:
        for terminal in self.terminals:
            terminal.close()
        for provider in self.made:
            provider.close()
        eventually(self._all_is_ended)
        Path(self.socket).unlink(missing_ok=True)

    def _all_is_ended(self) -> bool:
        """Kill what is there, and tell that nothing was: one may have begun another meanwhile."""
        left = [*self.living(), *self.on_socket()]
        for pid in left:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        return not left


@contextlib.contextmanager
def frozen(city: City) -> Iterator[None]:
    """Have the server do nothing while the block runs."""
    pid = city.server()
    assert pid  # 0 would be everybody in the process group of the tests
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


def outer_env() -> dict[str, str]:
    """Return the environment of a person who is not inside tmux."""
    return {key: value for key, value in os.environ.items() if not key.startswith("TMUX")}


@pytest.fixture
def city(tmp_path: Path) -> Iterator[City]:
    place = City(tmp_path)
    try:
        yield place
    finally:
        place.clean_up()
