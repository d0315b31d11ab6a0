"""The processes of a run whose guard is no more, found by their mark and ended.

Every process of a run inherits `GC_RUN_MARK`, and so does what it starts. One that has no mark is
of the run when it is below one that has it; one with another mark is of another run, and so is all
below that. What wiped its mark and left its parent is found by a guard only.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Mapping

from gascity import awake
from gascity.core.observed import ProcessId
from gascity.session import kin, pids

RUN_MARK = "GC_RUN_MARK"
GRACE = 2.0  # seconds for processes nobody waits for
PATIENCE = 10.0  # seconds of killing: what survives them cannot be killed by us
_LOOKS = 2  # that find nothing: a process shows no variables while it becomes another program


def end_marked(mark: str, *, grace: float = GRACE, patience: float = PATIENCE) -> list[int]:
    """End what carries the mark, wait for it, and return the pids of those that survived.

    Asks each process once, kills it after `grace` seconds, and looks again until nothing is left:
    programs fork while they end. This process itself is never among them.
    """
    asked: set[ProcessId] = set()
    kill_at = awake.seconds() + grace  # who stands still with the machine cannot end
    clean = 0
    while True:
        living = marked(mark)
        now = awake.seconds()
        clean = 0 if living else clean + 1
        if clean == _LOOKS or now >= kill_at + patience:
            return [process.pid for process in living]
        if not living:
            time.sleep(kin.GLANCE)  # the kernel needs a moment
        elif now < kill_at:
            kin.ask(process for process in living if process not in asked)
            asked.update(living)
            kin.await_end(living, time.monotonic() + kill_at - now)
        else:
            for process in living:
                pids.send(process.pid, process.started, signal.SIGKILL)
            kin.await_end(living, time.monotonic() + kin.GLANCE)


def marked(mark: str) -> list[ProcessId]:
    """Return the living processes of a run."""
    if not mark:
        return []
    rows = pids.table.snapshot()
    marks = {pid: pids.table.variable(pid, RUN_MARK) for pid in rows if pid != os.getpid()}
    below: dict[int, list[int]] = {}
    for pid, (parent, *_) in rows.items():
        below.setdefault(parent, []).append(pid)
    own = [pid for pid, found in marks.items() if found == mark]
    return [ProcessId(pid, rows[pid][3]) for pid in _with_unmarked(own, marks, below)]


def _with_unmarked(
    own: list[int], marks: Mapping[int, str | None], below: Mapping[int, list[int]]
) -> list[int]:
    """Return these, and who has no mark and is below them."""
    found = dict.fromkeys(own)
    waiting = list(own)
    while waiting:
        for child in below.get(waiting.pop(), []):
            if child in marks and marks[child] is None and child not in found:
                found[child] = None
                waiting.append(child)
    return list(found)
