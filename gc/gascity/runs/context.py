"""What a one-shot backend is given: everything about its run, and a way to be told to stop.

A backend has two operations: its `type`, and `execute`, which returns when the work is done and
raises BackendError when it is not. It writes what it has to say to the two files of its context
and to nothing else: who wants to see it live reads these.
"""

from __future__ import annotations

import contextlib
import math
import os
import select
import time
import weakref
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from gascity.errors import BackendError

GLANCE = 1.0  # seconds after which a signal is heard that came just before the kernel was asked


@dataclass(frozen=True, slots=True)
class RunContext:
    """One run, for the backend that executes it. Paths are absolute; the prompt may be empty.

    `environment` is laid over the environment of whoever executes.
    """

    run_id: str
    project_id: str
    task_id: str
    prompt: str
    working_dir: str
    stdout_path: str
    stderr_path: str
    environment: Mapping[str, str] = field(default_factory=dict, repr=False)  # it holds a token


class Cancel:
    """Tells a backend, from any thread or signal handler, that its run is to end.

    Can be polled: its descriptor is readable from then on. Nothing here takes a lock, which a
    signal handler might find taken by the very thread that it interrupts.
    """

    def __init__(self) -> None:
        self._reasons: list[str] = []
        self._reading, self._writing = os.pipe()
        os.set_blocking(self._writing, False)
        weakref.finalize(self, _close, self._reading, self._writing)

    @property
    def reason(self) -> str:
        """Why it is to end; empty while it is not."""
        return self._reasons[0] if self._reasons else ""

    def set(self, reason: str) -> None:
        """End the run; the first reason given is the one that counts."""
        self._reasons.append(reason)
        with contextlib.suppress(BlockingIOError):  # it was told thousands of times already
            os.write(self._writing, b".")

    def is_set(self) -> bool:
        """Tell whether the run is to end."""
        return bool(self._reasons)

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until it is, and tell whether it is."""
        poll = select.poll()
        poll.register(self._reading, select.POLLIN)
        until = math.inf if timeout is None else time.monotonic() + timeout
        while not self.is_set():
            left = until - time.monotonic()
            if poll.poll(1000 * min(max(left, 0.0), GLANCE)) or left <= 0:
                break
        return self.is_set()

    def fileno(self) -> int:
        """Return a descriptor that is readable when the run is to end."""
        return self._reading


class Backend(Protocol):
    """How one-shot work is given to one kind of agent."""

    @property
    def type(self) -> str:
        """The name of its kind, in small letters."""

    def execute(self, context: RunContext, cancel: Cancel) -> None:
        """Do the work of a run, and return when it is done.

        Raises BackendError when it failed, could not begin, or was cancelled.
        """


def check(context: RunContext | None) -> RunContext:
    """Return a context that a backend can begin with. Raises BackendError, in the agreed words."""
    if context is None:
        raise BackendError("run context is nil")
    for value, name in (
        (context.run_id, "run id"),
        (context.working_dir, "working directory"),
        (context.stdout_path, "stdout path"),
        (context.stderr_path, "stderr path"),
    ):
        if not value:
            raise BackendError(f"{name} is empty")
    return context


def _close(*descriptors: int) -> None:
    for descriptor in descriptors:
        os.close(descriptor)
