"""One controller per city: a file lock that dies with its holder.

The pid in the file is for the message alone; whether the city is held is the kernel's to say.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import time

from gascity.errors import CityHeld, GascityError

PATIENCE = 0.5


class CityLock:
    """The right to be the controller of a city, held until `release` or death."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._file = -1

    def acquire(self) -> None:
        """Take the lock; raises CityHeld, naming the holder, when another process has it.

        Tries for a moment: one who only looks whether the city is held holds it for that long.
        """
        try:
            file = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as problem:
            raise GascityError(f"{self._path} cannot be opened: {problem.strerror}") from problem
        deadline = time.monotonic() + PATIENCE
        while not _locked(file):
            if time.monotonic() >= deadline:
                os.close(file)
                raise CityHeld(
                    f"another controller holds this city: {self._holder()}",
                    hint="`gc status` shows it, `gc stop` ends the city and the controller",
                )
            time.sleep(0.01)  # flock cannot wait with a limit
        self._file = file
        with contextlib.suppress(OSError):  # a full disk costs the name, not the lock
            os.ftruncate(file, 0)
            os.pwrite(file, f"{os.getpid()}\n".encode(), 0)

    def release(self) -> None:
        """Let the city go."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

    def _holder(self) -> str:
        pid = holder(self._path)
        return f"process {pid}" if pid is not None else "a process that has not said its name yet"


def _locked(file: int) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def holder(path: str) -> int | None:
    """Return the pid of the process that holds the lock, or None when nobody does."""
    try:
        file = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    try:
        with contextlib.suppress(BlockingIOError):
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
            return None
        text = os.pread(file, 32, 0).strip()
        return int(text) if text.isdigit() else None
    finally:
        os.close(file)
