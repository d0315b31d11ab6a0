"""The record of a task as two processes change it: its supervisor, and who wants something else.

A change reads, decides and writes under a lock, so that a stop is never lost to a supervisor that
writes at the same instant. Another lock says who supervises: the kernel gives it back at any death,
so a record that says `running` while nobody holds it is of a supervisor that was killed.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Iterator
from dataclasses import replace

from gascity.errors import Exit, GascityError, NotFound
from gascity.runs import locks
from gascity.runs.folder import RunFolder
from gascity.runs.info import utc
from gascity.runs.places import TaskPlace
from gascity.runs.task_info import (
    INFO,
    PROMPT,
    BrokenTask,
    TaskInfo,
    TaskState,
    Wanted,
    from_yaml,
    to_yaml,
)
from gascity.session import pids

KILLED = "its supervisor was killed"
STOPPED = "somebody stopped it"
_CHANGES, _SUPERVISOR = ".task-info.lock", ".supervisor.lock"
_LARGEST = 1_000_000
_PATIENCE, _GLANCE = 1.0, 0.02  # seconds for those who only look whether it is held

Change = Callable[[TaskInfo], TaskInfo]


class TaskHeld(GascityError):
    """Another process supervises the task."""

    exit_code = Exit.HELD


def read(place: TaskPlace) -> TaskInfo:
    """Return what is written of a task. Raises NotFound, BrokenTask."""
    try:
        text = RunFolder(place.path).read(INFO, _LARGEST)
    except (FileNotFoundError, NotADirectoryError):
        raise NotFound(
            f'there is no task "{place.project}/{place.name}"',
            hint="`gc task status` shows which there are",
        ) from None
    except OSError as problem:
        why = problem.strerror or str(problem)
        name = f"{place.project}/{place.name}"
        raise BrokenTask(f"the record of task {name} cannot be read: {why}") from problem
    return from_yaml(place.project, place.name, text)


def write(place: TaskPlace, info: TaskInfo) -> None:
    """Keep a record, whatever was there. Raises GascityError."""
    with _written(place), locks.locked(os.path.join(place.path, _CHANGES)):
        RunFolder(place.path).write(INFO, to_yaml(info))


def change(place: TaskPlace, how: Change) -> TaskInfo:
    """Change the record, with no other change in between; return what it is then.

    Raises NotFound, BrokenTask, GascityError.
    """
    with _written(place), locks.locked(os.path.join(place.path, _CHANGES)):
        before = read(place)
        after = how(before)
        if after != before:
            RunFolder(place.path).write(INFO, to_yaml(after))
        return after


def read_prompt(place: TaskPlace) -> str:
    """Return what is to be done. Raises NotFound."""
    path = os.path.join(place.path, PROMPT)
    try:
        with open(path, "rb") as file:
            return file.read().decode("utf-8", "surrogateescape")
    except OSError as problem:
        raise NotFound(f"{path} does not say what is to be done: {problem.strerror}") from None


def write_prompt(place: TaskPlace, text: str) -> None:
    """Keep what is to be done. Raises GascityError."""
    beside = os.path.join(place.path, f".{PROMPT}.new")
    with _written(place):
        descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with open(descriptor, "wb") as file:
            file.write(text.encode("utf-8", "surrogateescape"))
        os.replace(beside, os.path.join(place.path, PROMPT))


def hold(place: TaskPlace) -> int:
    """Become the supervisor; return the descriptor that says so, for as long as it is open.

    Raises TaskHeld where there is one.
    """
    with _written(place):
        os.makedirs(place.path, mode=0o700, exist_ok=True)
        path = os.path.join(place.path, _SUPERVISOR)
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        deadline = time.monotonic() + _PATIENCE
        while not locks.lock(descriptor):
            holder = _holder(place)
            if holder is not None or time.monotonic() >= deadline:
                os.close(descriptor)
                raise TaskHeld(
                    f"task {place.project}/{place.name} is supervised by"
                    f" {'another process' if holder is None else f'process {holder}'}",
                    hint=f"`gc task stop {place.name}` ends it",
                )
            time.sleep(_GLANCE)  # somebody looks whether it is held
        return descriptor


def is_held(place: TaskPlace) -> bool:
    """Tell whether somebody supervises it."""
    return locks.is_locked(os.path.join(place.path, _SUPERVISOR))


def truth(place: TaskPlace) -> TaskInfo:
    """Return what is so: of one whose supervisor was killed that is written down first.

    Raises NotFound, BrokenTask, GascityError.
    """
    info = read(place)
    if info.state.is_over or is_held(place):
        return info
    try:
        descriptor = hold(place)
    except TaskHeld:
        return read(place)
    try:
        return change(place, _killed)
    finally:
        os.close(descriptor)


def _killed(info: TaskInfo) -> TaskInfo:
    if info.state.is_over:
        return info
    was_stopped = info.wanted is Wanted.STOPPED
    return replace(
        info,
        state=TaskState.STOPPED if was_stopped else TaskState.FAILED,
        why=STOPPED if was_stopped else KILLED,
        ended=utc(time.time()),
        supervisor=None,
        supervisor_started="",
    )


def _holder(place: TaskPlace) -> int | None:
    """Return the pid of a supervisor that lives and was written down."""
    with contextlib.suppress(GascityError):
        process = read(place).process
        if process is not None and pids.table.started(process.pid) == process.started:
            return process.pid
    return None


@contextlib.contextmanager
def _written(place: TaskPlace) -> Iterator[None]:
    try:
        yield
    except OSError as problem:
        why = problem.strerror or str(problem)
        raise GascityError(f"nothing can be written in {place.path}: {why}") from problem
