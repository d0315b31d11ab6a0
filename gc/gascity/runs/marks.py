"""The marks of runs that are not over: one small file for each, in a folder of the home.

Whoever runs a run holds a lock on its mark for as long as it lives: the kernel gives it back at any
death, so nobody has to guess from a process id. What lies in that folder may be anything: what is
no mark is nobody's.
"""

from __future__ import annotations

import contextlib
import json
import os
import stat
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import IO, Any

from gascity.core.observed import ProcessId
from gascity.runs.folder import RunFolder
from gascity.runs.locks import lock
from gascity.session import pids

_NEW = ".new-"  # how the name of a mark begins that is not written yet
_STALE = 60.0  # seconds; writing one takes a moment
_LARGEST = 100_000  # bytes of a mark that are read


@dataclass(frozen=True, slots=True)
class OpenRun:
    """A run that is not settled: where it lies, and the process that runs it."""

    run_id: str
    folder: str
    runner: ProcessId | None

    @property
    def lives(self) -> bool:
        """Whether somebody runs it."""
        return (
            self.runner is not None and pids.table.started(self.runner.pid) == self.runner.started
        )


class Held:
    """A run that this process runs, until it lets it go."""

    def __init__(self, folder: RunFolder, mark: str, file: IO[str]) -> None:
        self.folder = folder
        self._mark = mark
        self._file = file

    def settled(self) -> None:
        """Say that all about the run is written down."""
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self._mark)
        self._file.close()

    def leave(self) -> None:
        """Let it go as it is; whoever comes next settles it."""
        self._file.close()


def make(marks: str, run: RunFolder) -> Held:
    """Mark a run; from the first moment that the mark is there it is held. Raises OSError."""
    os.makedirs(marks, mode=0o700, exist_ok=True)
    pid = os.getpid()
    said = {"folder": run.path, "runner": pid, "runner_started": pids.table.started(pid)}
    text = json.dumps(said)
    descriptor, beside = tempfile.mkstemp(dir=marks, prefix=_NEW)
    file = os.fdopen(descriptor, "w", encoding="utf-8")
    try:
        lock(file)
        file.write(text)
        file.flush()
        path = os.path.join(marks, run.run_id)
        os.rename(beside, path)
    except OSError:
        with contextlib.suppress(OSError):
            os.unlink(beside)
        with contextlib.suppress(OSError):  # what could not be written is tried again
            file.close()
        raise
    return Held(run, path, file)


def read(path: str) -> OpenRun | None:
    """Return what a mark says; None when it is gone, or is none. One that is torn is nobody's."""
    said: Any = None
    try:
        # A pipe without a writer must not keep anybody waiting.
        with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK), "rb") as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                return None
            said = json.loads(file.read(_LARGEST))
    except OSError:
        return None
    except (ValueError, RecursionError):
        pass
    name = os.path.basename(path)
    match said:
        case {"folder": str(folder), "runner": int(pid), "runner_started": str(started)}:
            return OpenRun(name, folder, ProcessId(pid, started))
        case _:
            return OpenRun(name, "", None)


@contextlib.contextmanager
def taken_over(path: str) -> Iterator[bool]:
    """Hold a mark that nobody holds any more; yields False where somebody does.

    It is gone when this ends without an exception.
    """
    try:
        file = open(path, encoding="utf-8")  # noqa: SIM115  closed below
    except FileNotFoundError:
        yield False
        return
    with file:
        if not lock(file) or not _is_still(file, path):
            yield False
            return
        yield True
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)


def sweep(marks: str) -> None:
    """Remove what those left who were killed while they made a mark.

    An empty one may be of somebody who is about to lock it.
    """
    with contextlib.suppress(OSError):
        for name in os.listdir(marks):
            path = os.path.join(marks, name)
            if not name.startswith(_NEW):
                continue
            about = os.stat(path)
            if about.st_size or about.st_mtime < time.time() - _STALE:
                with taken_over(path):
                    pass


def _is_still(file: IO[str], path: str) -> bool:
    """Tell whether a file that was opened is the one that lies there."""
    with contextlib.suppress(FileNotFoundError):
        return os.path.samestat(os.fstat(file.fileno()), os.stat(path))
    return False
