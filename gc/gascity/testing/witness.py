"""Seeing what runs without asking the provider under test.

A suite that asked the provider about itself would believe its lies. Every command in the
conformance suite carries an unguessable token as an argument of its own, taken from the
environment, so the token stands in no command line but those of the session's processes.
"""

# ruff: noqa: D102  what the methods promise stands in `Witness`

from __future__ import annotations

import contextlib
import os
import subprocess
from abc import ABC, abstractmethod
from collections.abc import Iterator
from pathlib import Path

from gascity.core.observed import Alive, Exited
from gascity.testing.fake import FakeWorld

TOKEN = "GC_WITNESS"  # noqa: S105  the name of the variable that carries a test's token


class Witness(ABC):
    """Finds what carries a token, and ends it, by means of its own."""

    @abstractmethod
    def living(self, token: str) -> list[int]:
        """Return the pids of all living processes with `token` among their arguments."""

    @abstractmethod
    def kill(self, token: str, signal: int) -> None:
        """Send `signal` to everything that carries `token`."""


class ProcessWitness(Witness):
    """Reads the machine's process table: /proc, or `ps` where there is none."""

    def living(self, token: str) -> list[int]:
        return [pid for pid, words in _processes() if token in words]

    def kill(self, token: str, signal: int) -> None:
        for pid in self.living(token):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal)


class FakeWitness(Witness):
    """Looks straight into a `FakeWorld`."""

    def __init__(self, world: FakeWorld) -> None:
        self._world = world

    def living(self, token: str) -> list[int]:
        with self._world.changed:
            return [
                session.process.pid
                for session in self._world.sessions.values()
                if isinstance(session.life, Alive) and session.config.env.get(TOKEN) == token
            ]

    def kill(self, token: str, signal: int) -> None:
        pids = self.living(token)
        with self._world.changed:
            for session in self._world.sessions.values():
                if session.process.pid in pids:
                    session.life = Exited(signal=signal)
        self._world.wake()


def _processes() -> Iterator[tuple[int, list[str]]]:
    if not Path("/proc/self/cmdline").exists():
        yield from _processes_from_ps()
        return
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            # A zombie has no command line, so one that waits to be reaped counts as dead.
            with contextlib.suppress(OSError):
                words = Path("/proc", entry, "cmdline").read_bytes().split(b"\0")
                yield int(entry), [os.fsdecode(word) for word in words]


def _processes_from_ps() -> Iterator[tuple[int, list[str]]]:
    listing = subprocess.run(
        ["ps", "-axo", "pid=,args="], capture_output=True, text=True, check=True
    )
    for line in listing.stdout.splitlines():
        pid, *words = line.split()
        yield int(pid), words
