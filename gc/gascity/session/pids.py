"""Processes as bare numbers: which one a pid and a start mean, what is below it, how to reach it.

The part of `processes` that the keeper of the subprocess provider needs as well. It imports next
to nothing, because the keeper must be up in milliseconds.
"""

from __future__ import annotations

import os
import signal
import sys

if sys.platform == "linux":
    from gascity.session import procfs

    table = procfs
else:
    from gascity.session import psutil_table

    table = psutil_table

Started = tuple[int, str]  # a pid and what `table.started` says of it


def below(pid: int) -> list[Started]:
    """Return all living processes below `pid`, parents first, without `pid` itself."""
    found: dict[int, Started] = {}
    waiting = [pid]
    while waiting:
        for child in table.children(waiting.pop(0)):
            started = table.started(child)
            if started is not None and child not in found:
                found[child] = (child, started)
                waiting.append(child)
    return list(found.values())


def send(pid: int, started: str, signum: int) -> bool:
    """Signal the process that is meant; False when it is gone or not ours to signal.

    Where the kernel has descriptors for processes, no other process can be hit even if the pid
    is recycled in between.
    """
    descriptor = descriptor_of(pid)
    try:
        if table.started(pid) != started:
            return False
        if descriptor is None:
            os.kill(pid, signum)
        else:
            signal.pidfd_send_signal(descriptor, signum)
        return True
    except OSError:
        return False
    finally:
        if descriptor is not None:
            os.close(descriptor)


def descriptor_of(pid: int) -> int | None:
    """Return a descriptor that becomes readable when the process ends.

    None when there is no such process or the kernel has no such thing.
    """
    if sys.platform != "linux":
        return None
    try:
        return os.pidfd_open(pid)
    except OSError:
        return None
