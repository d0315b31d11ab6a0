"""Whether a process lives, as the kernel sees it."""

from __future__ import annotations

import os
from pathlib import Path


def lives(pid: int) -> bool:
    """Tell whether anything of a process runs; one that only waits to be reaped does not.

    A process that is killed looks like that as soon as its first thread is gone. Its files and
    sockets are open until the last one is.
    """
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        return state not in "ZX" or len(os.listdir(f"/proc/{pid}/task")) > 1
    except OSError:
        return False
