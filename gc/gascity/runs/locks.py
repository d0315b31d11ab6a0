"""Locks on files: held by a process, and given back by the kernel at any death of it."""

from __future__ import annotations

import contextlib
import fcntl
import os
import time
from collections.abc import Callable, Iterator
from typing import IO, Any

_GLANCE = 0.02  # seconds


def lock(file: int | IO[Any], *, shared: bool = False) -> bool:
    """Lock an open file if nobody else has; tell whether that was so. Raises OSError."""
    how = fcntl.LOCK_SH if shared else fcntl.LOCK_EX
    try:
        fcntl.flock(file, how | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def is_locked(path: str) -> bool:
    """Tell whether somebody holds the lock of a file; False where there is none."""
    try:
        descriptor = os.open(path, os.O_RDONLY)
    except FileNotFoundError:
        return False
    try:
        return not lock(descriptor, shared=True)
    finally:
        os.close(descriptor)


def lock_by(file: int | IO[Any], give_up: Callable[[], bool], *, shared: bool = False) -> bool:
    """Lock an open file as soon as nobody else has; False when it is given up. Raises OSError."""
    while not lock(file, shared=shared):
        if give_up():
            return False
        time.sleep(_GLANCE)  # nothing tells when a lock is given back
    return True


@contextlib.contextmanager
def locked(path: str) -> Iterator[None]:
    """Hold the lock of a file, which others have for an instant only. Raises OSError."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)
