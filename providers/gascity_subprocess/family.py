"""Which processes belong to which session, whatever they did to get away.

The keeper is the reaper of everything below it, so a process that leaves its parent, its group and
its terminal becomes a child of the keeper: it is recognised by the mark in its environment, else
by the terminal session it is in. One that wiped both belongs to the last session that is left.
Processes from before this keeper are found by their mark among all processes.
"""

from __future__ import annotations

import os

from gascity.session import pids
from gascity.session.marks import MARK
from gascity_subprocess import layout
from gascity_subprocess.records import Record, Records


class Family:
    """Knows whose a process is. `reaper` says that orphans come to this keeper."""

    def __init__(self, records: Records, *, reaper: bool) -> None:
        self._records = records
        self._reaper = reaper
        self._marks: dict[int, str] = {}
        self._orphans: list[int] | None = None
        self._marked: dict[str, list[int]] | None = None
        self._unsettled = False

    def refresh(self) -> None:
        """Forget what was read of the process table: call on every turn and after reaping."""
        self._orphans = None
        self._marked = None

    def reaped(self, pid: int) -> None:
        """Forget a child that is no more, since its number may come again."""
        self._marks.pop(pid, None)

    def members(self, record: Record) -> list[pids.Started]:
        """Return every living process of the session, its root first."""
        found: dict[int, str] = {}
        for top in self.tops(record):
            started = pids.table.started(top)
            if started is not None and top not in found:
                found[top] = started
                found.update(pids.below(top))
        return list(found.items())

    def is_gone(self, record: Record) -> bool:
        """Tell whether nothing of the session is left.

        For a session `is_outside` of this keeper ask twice: a process may fork and end between
        being listed and being looked at.
        """
        return not self.tops(record) and not self._unsettled

    def is_outside(self, record: Record) -> bool:
        """Tell whether processes of the session may end without the keeper being told."""
        return record.adopted or not self._reaper

    def tops(self, record: Record) -> list[int]:
        """Return the pids from which everything of the session can be reached."""
        tops = [record.pid] if self.root_lives(record) else []
        if self.is_outside(record):
            return tops + [pid for pid in self._everyone().get(record.mark, []) if pid not in tops]
        owner = [(pid, self._owner(pid)) for pid in self._own_orphans()]
        tops += [pid for pid, mark in owner if mark == record.mark]
        if not any(other.alive for other in self._records if other is not record):
            tops += [pid for pid, mark in owner if mark == ""]
        return tops

    def root_lives(self, record: Record) -> bool:
        """Tell whether the session's own program runs, and is not another with its pid."""
        if not record.alive:
            return False
        return not record.adopted or pids.table.started(record.pid) == record.started

    def has_orphans(self) -> bool:
        """Tell whether something of a session that ended still runs below this keeper."""
        marks = {record.mark for record in self._records}
        return any(self._owner(pid) in {*marks, ""} for pid in self._own_orphans())

    def of_folder(self, folder: str) -> list[int]:
        """Return the pids of all processes anywhere whose mark names this session folder."""
        marked = self._everyone().items()
        return [pid for mark, pids_ in marked if mark.startswith(f"{folder}#") for pid in pids_]

    def _own_orphans(self) -> list[int]:
        if self._orphans is None:
            roots = {record.pid for record in self._records if record.alive}
            children = pids.table.children(os.getpid()) if self._reaper else []
            strays = [pid for pid in children if pid not in roots]
            self._orphans = [pid for pid in strays if pids.table.started(pid) is not None]
            # One that ended since may have left a child that is not in the list: reap it first.
            self._unsettled = len(self._orphans) < len(strays)
        return self._orphans

    def _owner(self, pid: int) -> str:
        """Return whose a child of the keeper is; empty when nothing tells."""
        known = self._marks.get(pid)
        if known is None:
            known = pids.table.variable(pid, MARK)
            if known is None and pids.table.variable(pid, layout.KEEPER) is not None:
                known = layout.KEEPER  # of another city, started by one of our agents
            if known is None:
                known = self._by_session(pid)
            if known:
                self._marks[pid] = known
        return known

    def _by_session(self, pid: int) -> str:
        try:
            leader = os.getsid(pid)
        except OSError:
            return ""
        led = [r for r in self._records if r.pid == leader and not r.adopted]
        return max(led, key=lambda record: record.created).mark if led else ""

    def _everyone(self) -> dict[str, list[int]]:
        if self._marked is None:
            self._marked = {}
            for pid in pids.table.everyone():
                mark = pids.table.variable(pid, MARK)
                if mark is not None and pids.table.started(pid) is not None:
                    self._marked.setdefault(mark, []).append(pid)
        return self._marked
