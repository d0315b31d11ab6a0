"""Where attempts at issues are written down.

    <home>/solves/<project>/<issue>/<attempt>/solve.json   what is known of it
    <home>/solves/<project>/<issue>/<attempt>/issue.md     the issue as it was given

One is there as a whole and held by its solver, or not there.
"""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import tempfile
import time
from collections.abc import Callable

from gascity.core.naming import is_component
from gascity.errors import GascityError
from gascity.runs import locks
from gascity.runs.folder import RunFolder
from gascity.runs.places import Home
from gascity.worktrees.names import FOLDER
from gascity.worktrees.place import ISSUE, NEW, RECORD, SOLVER, SolvePlace, remove_empty
from gascity.worktrees.record import Solve, to_json

_STALE = 60.0  # seconds; writing one takes a moment
_TRIES = 20


def create(
    home: Home, project: str, issue: str, least: int, record: Callable[[int], Solve], body: bytes
) -> tuple[SolvePlace, int]:
    """Write down a new attempt, numbered from `least`; return its place, and what holds it.

    It is there as a whole and held, or not there. Raises GascityError.
    """
    home.make()
    folder = os.path.join(home.path, FOLDER, project, issue)
    try:
        for _ in range(_TRIES):
            with contextlib.suppress(FileNotFoundError):  # somebody cleans at this very instant
                return _create(home.path, folder, project, issue, least, record, body)
        return _create(home.path, folder, project, issue, least, record, body)
    except OSError as problem:
        why = problem.strerror or str(problem)
        raise GascityError(f"nothing can be written in {folder}: {why}") from problem


def sweep(home: Home) -> None:
    """Remove what those left who were killed while they wrote down a new attempt."""
    root = os.path.join(home.path, FOLDER)
    for project in _names(root):
        for issue in _names(os.path.join(root, project)):
            folder = os.path.join(root, project, issue)
            with contextlib.suppress(OSError):
                for name in os.listdir(folder):
                    if name.startswith(NEW):
                        _sweep(os.path.join(folder, name))
                remove_empty(folder)


def places(home: Home) -> list[SolvePlace]:
    """Return all attempts, by issue and number."""
    root = os.path.join(home.path, FOLDER)
    return [
        SolvePlace(
            home.path, os.path.join(root, project, issue, str(number)), project, issue, number
        )
        for project in _names(root)
        for issue in _names(os.path.join(root, project))
        for number in _numbers(os.path.join(root, project, issue))
    ]


def _numbers(folder: str) -> list[int]:
    return sorted(int(name) for name in _names(folder) if name.isdecimal())


def _names(folder: str) -> list[str]:
    try:
        return sorted(name for name in os.listdir(folder) if is_component(name))
    except (FileNotFoundError, NotADirectoryError):
        return []


def _create(
    home: str,
    folder: str,
    project: str,
    issue: str,
    least: int,
    record: Callable[[int], Solve],
    body: bytes,
) -> tuple[SolvePlace, int]:
    os.makedirs(folder, mode=0o700, exist_ok=True)
    beside = tempfile.mkdtemp(dir=folder, prefix=NEW)
    descriptor = os.open(os.path.join(beside, SOLVER), os.O_RDWR | os.O_CREAT, 0o600)
    try:
        locks.lock_by(descriptor, lambda: False)  # somebody may look whether it is held
        os.write(descriptor, b"\n")
        with RunFolder(beside).writing(ISSUE) as file:
            file.write(body)
        number = max([least, *(one + 1 for one in _numbers(folder))])
        while True:
            RunFolder(beside).write(RECORD, to_json(record(number)))
            place = SolvePlace(home, os.path.join(folder, str(number)), project, issue, number)
            try:
                os.rename(beside, place.path)
            except OSError as problem:
                if problem.errno not in (errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR):
                    raise
                number += 1
            else:
                return place, descriptor
    except BaseException:  # whatever it is: cleaned up, and raised again
        os.close(descriptor)
        shutil.rmtree(beside, ignore_errors=True)
        raise


def _sweep(beside: str) -> None:
    """Remove a new attempt that nobody writes any more.

    One whose lock is empty may be of somebody who is about to take it.
    """
    lock = os.path.join(beside, SOLVER)
    if os.path.exists(lock) and os.stat(lock).st_size:
        is_dead = not locks.is_locked(lock)
    else:
        is_dead = os.stat(beside).st_mtime < time.time() - _STALE
    if is_dead:
        shutil.rmtree(beside)
