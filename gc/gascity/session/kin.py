"""The processes of a session, however far they went, and how they are ended.

For providers whose sessions are somebody else's children: nobody tells what becomes of them. A
process belongs to a session when it is below the session's root, when it is in the terminal
session that the root leads, or when it carries the session's mark in its environment. One pass over
the process table serves any number of sessions.
"""

from __future__ import annotations

import os
import select
import signal
import threading
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from gascity import awake
from gascity.core.observed import ProcessId
from gascity.session import pids
from gascity.session.marks import MARK

Row = pids.table.Row
NOBODY: Mapping[int, Row] = MappingProxyType({})
GLANCE = 0.05  # seconds between two looks while killing, and where the kernel cannot tell of an end


@dataclass(frozen=True, slots=True)
class Kin:
    """What the processes of one session have in common.

    Their mark begins with `mark`; `root` is the session's own process, if it is known.
    """

    mark: str
    root: ProcessId | None = None


def members(kin: Mapping[str, Kin]) -> dict[str, list[ProcessId]]:
    """Return the living processes of each session, parents before what they started."""
    return _members(kin, _table.rows())


def remain(kin: Kin, others: Iterable[int] = ()) -> bool:
    """Tell whether something lives of a session whose root is known and has ended.

    Sooner told than by `members`: what the root started is in its terminal session or in a later
    one, and not in that of the `others`, the roots of other sessions. Once nothing is left nothing
    can come back, because nobody is there to start it.
    """
    own = kin.root.pid if kin.root is not None else 0
    elsewhere = [pid for pid in others if pid != own]
    return any(
        (pids.table.variable(pid, MARK) or "").startswith(kin.mark)
        for pid in pids.table.begun_since(_age(kin.root), elsewhere)
    )


def end(kin: Mapping[str, Kin], *, kill_at: float, deadline: float) -> dict[str, list[int]]:
    """End all processes of the sessions; return, of those that have survivors, their pids.

    Asks each process once, waits until `kill_at` (monotonic), then kills, and looks again until
    nothing is left: programs fork while they end. Returns the moment all is gone. Both moments are
    as much later as the machine stands still meanwhile: who cannot do anything cannot end.
    """
    passed = awake.seconds() - time.monotonic()
    kill_at, deadline = kill_at + passed, deadline + passed
    left = dict(kin)
    asked: set[ProcessId] = set()
    while True:
        rows = _table.rows()
        living = _members(left, rows)
        if not any(living.values()):
            # One may have forked and ended between being listed and being looked at: its child is
            # not in the list.
            living = _members(left, pids.table.snapshot(rows), known=rows)
        left = {name: one for name, one in left.items() if living[name]}
        everyone = [process for processes in living.values() for process in processes]
        now = awake.seconds()
        if not left:
            return {}
        if now >= deadline:
            return {name: [process.pid for process in living[name]] for name in left}
        if now < kill_at:
            ask(process for process in everyone if process not in asked)
            asked.update(everyone)
            await_end(everyone, time.monotonic() + min(kill_at, deadline) - now)
        else:
            for process in everyone:
                pids.send(process.pid, process.started, signal.SIGKILL)
            await_end(everyone, time.monotonic() + min(GLANCE, deadline - now))


class _Table:
    """The process table, read once for all who ask at the same time.

    What a caller gets was read after it asked, never before.
    """

    def __init__(self) -> None:
        self._turn = threading.Condition()
        self._begun = self._done = 0
        self._is_reading = False
        self._rows: dict[int, Row] = {}

    def rows(self) -> dict[int, Row]:
        """Return all living processes."""
        with self._turn:
            too_old = self._begun
            self._turn.wait_for(lambda: self._done > too_old or not self._is_reading)
            if self._done > too_old:
                return self._rows
            self._is_reading = True
            self._begun += 1
            number = self._begun
        rows: dict[int, Row] | None = None
        try:
            rows = pids.table.snapshot()
        finally:
            with self._turn:
                self._is_reading = False
                if rows is not None:
                    self._rows, self._done = rows, number
                self._turn.notify_all()
        return rows


_table = _Table()


def _members(
    kin: Mapping[str, Kin], rows: Mapping[int, Row], known: Mapping[int, Row] = NOBODY
) -> dict[str, list[ProcessId]]:
    """Return who belongs to whom, without looking at those that are `known` to be nobody's."""
    owner = _marked(kin, rows, known) if kin else {}
    below: dict[int, list[int]] = {}
    for pid, (parent, *_) in rows.items():
        below.setdefault(parent, []).append(pid)
    found: dict[str, list[ProcessId]] = {name: [] for name in kin}
    waiting = sorted(owner, key=lambda pid: rows[pid][2])
    seen: set[int] = {os.getpid()}
    while waiting:
        pid = waiting.pop(0)
        if pid not in seen:
            seen.add(pid)
            found[owner[pid]].append(ProcessId(pid, rows[pid][3]))
            for child in below.get(pid, []):
                owner.setdefault(child, owner[pid])
                waiting.append(child)
    return found


def _marked(
    kin: Mapping[str, Kin], rows: Mapping[int, Row], known: Mapping[int, Row]
) -> dict[int, str]:
    """Return who is recognised by itself: roots, those in their terminal session, the marked."""
    roots = {
        one.root.pid: name
        for name, one in kin.items()
        if one.root is not None
        and one.root.pid in rows
        and rows[one.root.pid][3] == one.root.started
    }
    oldest = min(_age(one.root) for one in kin.values())
    owner: dict[int, str] = {}
    for pid, (_, session, age, _started) in rows.items():
        if age < oldest or pid in known:
            continue  # what was there before the session is not of it
        if session in roots:
            owner[pid] = roots[session]
            continue
        mark = pids.table.variable(pid, MARK)
        if mark is not None:
            name = next((name for name, one in kin.items() if mark.startswith(one.mark)), None)
            if name is not None:
                owner[pid] = name
    return owner


def _age(root: ProcessId | None) -> float:
    return float(root.started.rpartition(":")[2]) if root is not None else 0.0


def ask(processes: Iterable[ProcessId]) -> None:
    """Ask to end, by the signal that will be heard: an interactive shell ignores SIGTERM."""
    for process in processes:
        deaf = pids.table.ignores(process.pid, signal.SIGTERM)
        pids.send(process.pid, process.started, signal.SIGHUP if deaf else signal.SIGTERM)
        pids.send(process.pid, process.started, signal.SIGCONT)


def await_end(processes: Iterable[ProcessId], until: float) -> None:
    """Return when all of them ended, or at `until`."""
    poll = select.poll()
    waiting: set[int] = set()
    try:
        for process in processes:
            descriptor = pids.descriptor_of(process.pid)
            if descriptor is not None:
                waiting.add(descriptor)
                poll.register(descriptor, select.POLLIN)
            elif pids.table.started(process.pid) == process.started:
                until = min(until, time.monotonic() + GLANCE)  # nobody will tell
        while waiting and (rest := until - time.monotonic()) > 0:
            for descriptor, _ in poll.poll(rest * 1000 + 1):
                poll.unregister(descriptor)
                waiting.discard(descriptor)
                os.close(descriptor)
    finally:
        for descriptor in waiting:
            os.close(descriptor)
