"""All processes of one command, wherever they have gone, and their end.

A command runs in a session of its own and carries a mark in its environment. What it starts is
known by either, or by its parent: a grandchild that made itself a session has the mark, and one
that threw the environment away has a parent.
"""

from __future__ import annotations

import contextlib
import os
import signal
import time

MARK = "GC_GUEST_EXEC"
PATIENCE = 5.0  # seconds until what cannot be ended is left alone
STEP = 0.01


def end(leader: int, mark: str) -> None:
    """Kill the processes of the command whose shell is `leader`, until two looks find none.

    All are stopped before one is killed: the child of who is gone has no parent to be known by.
    The shell must not have been waited for: its number is not given to another process before.
    """
    deadline = time.monotonic() + PATIENCE
    stopped: set[int] = set()
    while time.monotonic() < deadline:
        found = members(leader, mark) - stopped
        if not found:
            break
        _send(found, signal.SIGSTOP)
        stopped |= found
    with contextlib.suppress(OSError):
        os.killpg(leader, signal.SIGKILL)
    _send(stopped, signal.SIGKILL)
    quiet = 0
    while quiet < 2 and time.monotonic() < deadline:
        found = members(leader, mark)
        quiet = 0 if found else quiet + 1
        _send(found, signal.SIGKILL)
        if found:
            time.sleep(STEP)  # the kernel needs a moment


def _send(pids: set[int], number: int) -> None:
    for pid in pids:
        with contextlib.suppress(OSError):
            os.kill(pid, number)


def members(leader: int, mark: str) -> set[int]:
    """Return the living processes of the command; none where there is no /proc."""
    table = _processes()
    wanted = f"{MARK}={mark}".encode()
    found = {
        pid
        for pid, (_, session) in table.items()
        if leader in (session, pid) or _carries(pid, wanted)
    }
    size = -1
    while size != len(found):
        size = len(found)
        found |= {pid for pid, (parent, _) in table.items() if parent in found}
    return found


def orphans(known: set[int]) -> set[int]:
    """Return the ended children of this process that are not `known`."""
    me = os.getpid()
    return {pid for pid, (parent, _) in _processes(ended=True).items() if parent == me} - known


def _processes(*, ended: bool = False) -> dict[int, tuple[int, int]]:
    """Return parent and session of every process that lives, or of those that have `ended`."""
    table = {}
    try:
        names = os.listdir("/proc")
    except OSError:
        return {}
    for name in names:
        if not name.isdigit():
            continue
        try:
            with open(f"/proc/{name}/stat", "rb") as file:
                fields = file.read().rpartition(b")")[2].split()
        except OSError:
            continue  # it ended meanwhile
        if (fields[0] in (b"Z", b"X")) == ended:
            table[int(name)] = (int(fields[1]), int(fields[3]))
    return table


def _carries(pid: int, wanted: bytes) -> bool:
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            return wanted in file.read().split(b"\0")
    except OSError:
        return False
