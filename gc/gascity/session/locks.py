"""One hand at a time on a session.

A file lock, because the command line is another process than the controller. It holds between
threads too, goes away with its holder however that ends, and says nothing about whether the
session exists. The lock files stay: removing one while another waits on it would make two holders.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import time
from collections.abc import Iterator

from gascity.errors import Exit, GascityError

AT_ONCE = 0.25  # seconds; a child of the last holder has the file open until it is another program


class SessionBusy(GascityError):
    """Someone else kept the session's lock for the whole time limit."""

    exit_code = Exit.TIMED_OUT


@contextlib.contextmanager
def session_lock(
    state_dir: str, name: str, timeout: float, *, purpose: str = "input"
) -> Iterator[None]:
    """Hold the session's lock for `purpose` while the block runs.

    Locks of different purposes do not meet. Raises SessionBusy after `timeout` seconds;
    `AT_ONCE` is for who does not want to wait.
    """
    folder = os.path.join(state_dir, "locks")
    os.makedirs(folder, mode=0o700, exist_ok=True)
    path = os.path.join(folder, f"{name}.{purpose}")
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
    try:
        if not _taken(descriptor, time.monotonic() + timeout):
            raise SessionBusy(
                f"session {name} is busy: its {purpose} lock was not free within {timeout:.3g} s",
                hint=f"`fuser {path}` shows who holds it",
            )
        yield
    finally:
        os.close(descriptor)


def _taken(descriptor: int, deadline: float) -> bool:
    pause = 0.001
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= deadline:
                return False
            time.sleep(pause)  # flock cannot wait with a limit
            pause = min(pause * 2, 0.02)
        else:
            return True
