"""Eyes that use nothing of ours: the kernel's process table, read by hand."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Process:
    """A process, for as long as its number means the same one."""

    pid: int
    started: str

    def lives(self) -> bool:
        """Tell whether it is there, and not only waiting to be reaped."""
        facts = _stat(self.pid)
        return facts is not None and facts[19] == self.started and facts[0] not in "ZX"

    def signal(self, number: int) -> None:
        """Send it a signal; nothing happens when it is gone."""
        if self.lives():
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, number)


@dataclass(frozen=True, slots=True)
class Sleeper:
    """The living program of an agent: whose it is, who started it, and with what."""

    process: Process
    parent: int
    agent: str
    argument: str
    env: str
    run: str

    @property
    def pid(self) -> int:
        return self.process.pid


@dataclass(frozen=True, slots=True)
class Foreign:
    """A session that a person made by hand; `agent` is whose name it took, if any."""

    name: str
    id: str
    process: Process
    server: Process
    agent: str = ""


def process(pid: int) -> Process | None:
    """Return a living process by number."""
    facts = _stat(pid)
    return None if facts is None or facts[0] in "ZX" else Process(pid, facts[19])


def living(key: int) -> list[Sleeper]:
    """Return the living programs of the agents of one city."""
    beginning = f"sleep\0{key}".encode()
    found = []
    for pid in _pids():
        with contextlib.suppress(OSError):
            words = Path(f"/proc/{pid}/cmdline").read_bytes()
            if not words.startswith(beginning):
                continue
            facts = _stat(pid)
            env = _environment(pid)
            if facts is not None and env:
                argument = words.split(b"\0")[1].decode()
                agent, version, run = (env.get(k, "") for k in ("GC_AGENT", "CHAOS_ENV", "GC_RUN"))
                one = Process(pid, facts[19])
                found.append(Sleeper(one, int(facts[1]), agent, argument, version, run))
    return found


def doubles(seen: Iterable[Sleeper]) -> list[tuple[Sleeper, Sleeper]]:
    """Return programs of one agent that live at the same time, of those that were seen.

    The table is not read at one instant: the first of two is looked at again after the second was
    seen, so that a successor is not taken for a double.
    """
    first: dict[str, Sleeper] = {}
    found = []
    for one in sorted(seen, key=lambda sleeper: int(sleeper.process.started)):
        other = first.setdefault(one.agent, one)
        if other is not one and other.process.lives() and one.process.lives():
            found.append((other, one))
    return found


def named_in_environment(mark: bytes) -> dict[int, str]:
    """Return the processes, other than this one, with a text in their words or variables."""
    found = {}
    for pid in _pids():
        if pid == os.getpid():
            continue
        with contextlib.suppress(OSError):
            words = Path(f"/proc/{pid}/cmdline").read_bytes()
            if mark in words + Path(f"/proc/{pid}/environ").read_bytes():
                found[pid] = words.replace(b"\0", b" ").decode(errors="replace")
    return found


def _pids() -> Iterator[int]:
    return (int(entry) for entry in os.listdir("/proc") if entry.isdigit())


def _environment(pid: int) -> dict[str, str]:
    pairs = Path(f"/proc/{pid}/environ").read_bytes().decode(errors="replace").split("\0")
    return dict(pair.split("=", 1) for pair in pairs if "=" in pair)


def _stat(pid: int) -> list[str] | None:
    """Return what /proc/PID/stat says behind the name: the state first, the start time at 19."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
