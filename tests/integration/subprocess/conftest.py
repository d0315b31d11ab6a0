"""A city of real processes, and eyes that do not use the provider."""

from __future__ import annotations

import contextlib
import os
import signal
import uuid
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from tests.living import lives

from gascity.core.model import SessionConfig, StartupHints
from gascity.session.provider import CityContext
from gascity.testing.eventually import eventually
from gascity_subprocess import layout
from gascity_subprocess.provider import Provider

LIMIT = 60.0


class City:
    """One city with its state in a folder of its own; `token` is in every process's environment."""

    def __init__(self, folder: Path) -> None:
        self.work = folder / "work"
        self.work.mkdir(parents=True)
        self.state = folder / ".gc"
        self.token = uuid.uuid4().hex
        self.made: list[Provider] = []

    @property
    def home(self) -> Path:
        return Path(layout.home(str(self.state)))

    def provider(self) -> Provider:
        self.made.append(Provider(CityContext("t", "id", str(self.state), {})))
        return self.made[-1]

    def config(self, command: str, hints: StartupHints | None = None) -> SessionConfig:
        env = {"PATH": os.environ["PATH"], "TEST_TOKEN": self.token}
        return SessionConfig(command, str(self.work), env, hints or StartupHints())

    def keeper(self) -> int:
        """Return the pid of the keeper that lives, else 0."""
        with contextlib.suppress(OSError, ValueError):
            pid = int((self.home / layout.LOCK).read_text())
            if str(self.home).encode() in Path(f"/proc/{pid}/cmdline").read_bytes():
                return pid
        return 0

    def kill_keeper(self) -> None:
        pid = self.keeper()
        assert pid  # 0 would be everybody in the process group of the tests
        os.kill(pid, signal.SIGKILL)
        eventually(lambda: self.keeper() != pid)

    def living(self) -> list[int]:
        """Return the pids of all processes with this city's token, or below one that has it."""
        found = []
        for process in psutil.process_iter():
            with contextlib.suppress(psutil.Error):
                if process.environ().get("TEST_TOKEN") == self.token and lives(process.pid):
                    found.append(process.pid)
        return found

    def folder(self, name: str) -> Path:
        return Path(layout.folder(str(self.home), name))


@pytest.fixture
def city(tmp_path: Path) -> Iterator[City]:
    place = City(tmp_path)
    yield place
    try:
        last = place.provider()
        for name in last.observe(timeout=LIMIT):
            last.stop(name, grace=1.0, timeout=LIMIT)
    finally:
        for provider in place.made:
            provider.close()
        for pid in place.living():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
    eventually(lambda: place.keeper() == 0)
