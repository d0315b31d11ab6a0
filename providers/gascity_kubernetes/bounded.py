"""Work that knows no limit of its own, given one."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def within(seconds: float, work: Callable[[], T]) -> T:
    """Return what `work` returns, and raise what it raises, if it does so in time.

    Raises TimeoutError if it does not; it is then left to itself, in a thread of its own.
    """
    came: queue.SimpleQueue[tuple[T, None] | tuple[None, BaseException]] = queue.SimpleQueue()

    def run() -> None:
        try:
            came.put((work(), None))
        except BaseException as problem:  # noqa: BLE001  it is raised where it is waited for
            came.put((None, problem))

    threading.Thread(target=run, name="gc-kube-bounded", daemon=True).start()
    try:
        found, problem = came.get(timeout=max(seconds, 0.001))
    except queue.Empty:
        raise TimeoutError from None
    if problem is not None:
        raise problem
    return found  # type: ignore[return-value] # None only where T may be
