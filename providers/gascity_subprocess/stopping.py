"""Ending a session with everything it started.

Asks all its processes, waits, then kills them, and looks again until nothing is left: programs
fork while they are being killed. Nothing here blocks; the keeper's loop calls `go_on` when a
process ended or time passed.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable

from gascity.session import pids
from gascity_subprocess.family import Family
from gascity_subprocess.records import Record

TICK = 0.01  # between two looks while killing, and at processes whose end nobody reports


class Stop:
    """One session on its way out. Times are those of a pulse: none pass in a standstill."""

    def __init__(self, record: Record) -> None:
        self.record = record
        self._kill_at = float("inf")
        self._waiting: list[tuple[float, Callable[[list[int]], None]]] = []
        self._looked_gone = 0

    def join(self, *, kill_at: float, deadline: float, done: Callable[[list[int]], None]) -> None:
        """Add someone who wants the session gone: the least patient decides when to kill.

        `done` is called once: with an empty list when all is gone, else, at `deadline`, with the
        pids of those that survived.
        """
        self._kill_at = min(self._kill_at, kill_at)
        self._waiting.append((deadline, done))

    def begin(self, family: Family, now: float) -> bool:
        """Ask all processes to end, unless there is no patience at all; then as `go_on`."""
        if now < self._kill_at:
            _ask(self.record, family)
        return self.go_on(family, now)

    def go_on(self, family: Family, now: float) -> bool:
        """Do what is due now and tell whether nobody waits for this any more."""
        if now < self._kill_at and self.record.alive and not family.is_outside(self.record):
            return self._give_up(family, now)  # the usual case, and it costs nothing
        if self._is_gone(family):
            for _, done in self._waiting:
                done([])
            return True
        if now >= self._kill_at:
            for pid, started in family.members(self.record):
                pids.send(pid, started, signal.SIGKILL)
        return self._give_up(family, now)

    def due(self, family: Family, now: float) -> float:
        """Return the moment at which `go_on` must be called at the latest."""
        first = min(deadline for deadline, _ in self._waiting)
        if family.is_outside(self.record) or now >= self._kill_at:
            return min(now + TICK, first)
        return min(self._kill_at, first)

    def _is_gone(self, family: Family) -> bool:
        if not family.is_gone(self.record):
            self._looked_gone = 0
            return False
        self._looked_gone += 1
        return self._looked_gone > 1 or not family.is_outside(self.record)

    def _give_up(self, family: Family, now: float) -> bool:
        late = [done for deadline, done in self._waiting if now >= deadline]
        if late:
            survivors = [pid for pid, _ in family.members(self.record)] or [self.record.pid]
            self._waiting = [waiter for waiter in self._waiting if now < waiter[0]]
            for done in late:
                done(survivors)
        return not self._waiting


def interrupt(record: Record, family: Family) -> None:
    """Send what Ctrl-C sends to the program in the foreground."""
    if family.root_lives(record):
        _to_group(record.pid, signal.SIGINT)


def _ask(record: Record, family: Family) -> None:
    members = family.members(record)
    grouped = family.root_lives(record)
    # Who shares the root's group is asked through it, and so only once.
    for pid, started in members:
        if not (grouped and _group(pid) == record.pid):
            pids.send(pid, started, signal.SIGTERM)
            pids.send(pid, started, signal.SIGCONT)
    if grouped:
        _to_group(record.pid, signal.SIGTERM)
        _to_group(record.pid, signal.SIGCONT)


def _to_group(group: int, signum: int) -> None:
    try:
        os.killpg(group, signum)
    except OSError:
        return


def _group(pid: int) -> int:
    try:
        return os.getpgid(pid)
    except OSError:
        return 0
