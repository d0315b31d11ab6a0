"""What psutil tells about processes, where there is no `/proc`: the same questions as `procfs`.

psutil is imported when first asked: it costs more than the rest of the keeper together.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import psutil


def started(pid: int) -> str | None:
    """Return what tells this process from others with its pid, or None when it is gone.

    On Linux psutil computes it from the time of day, so it would move with the clock; the
    systems this module is for keep it as a fixed value.
    """
    with _known(pid) as process:
        if process is not None and process.status() not in ("zombie", "dead"):
            return f"at:{process.create_time():.6f}"
    return None


def children(pid: int) -> list[int]:
    """Return the pids of all children."""
    with _known(pid) as process:
        if process is not None:
            return [child.pid for child in process.children()]
    return []


def parent(pid: int) -> int | None:
    """Return the pid of the parent, or None when the process is gone."""
    with _known(pid) as process:
        if process is not None:
            return process.ppid()
    return None


def everyone() -> list[int]:
    """Return all pids there are."""
    import psutil  # noqa: PLC0415  see the top of this file

    return psutil.pids()


Row = tuple[int, int, float, str]  # parent, terminal session, age (later is more), `started`


def snapshot(known: Mapping[int, Row] | None = None) -> dict[int, Row]:
    """Return all living processes by pid; those in `known` are not looked at again."""
    rows: dict[int, Row] = {}
    for pid in everyone():
        if known is not None and pid in known:
            rows[pid] = known[pid]
            continue
        with _known(pid) as process, contextlib.suppress(OSError):
            if process is not None and process.status() not in ("zombie", "dead"):
                age = process.create_time()
                rows[pid] = (process.ppid(), os.getsid(pid), age, f"at:{age:.6f}")
    return rows


def begun_since(age: float, others: Iterable[int] = ()) -> Iterator[int]:
    """Yield what a process of that age may have started: here everyone there is, each once."""
    del age, others
    first = everyone()
    yield from first
    yield from set(everyone()) - set(first)


def ignores(pid: int, signum: int) -> bool:
    """Tell whether the process pays no attention to a signal: nobody says so here."""
    del pid, signum
    return False


def variable(pid: int, name: str) -> str | None:
    """Return a variable the process was started with; None when it has none or may not be read."""
    with _known(pid) as process:
        if process is not None:
            return process.environ().get(name)
    return None


def environment(pid: int) -> dict[str, str]:
    """Return all variables the process was started with; none when it may not be read."""
    with _known(pid) as process:
        if process is not None:
            return process.environ()
    return {}


def program(pid: int) -> tuple[str, str, list[str]]:
    """Return its name, the path of its file, and its arguments; empty what cannot be read."""
    name, path, words = "", "", list[str]()
    with _known(pid) as process:
        if process is not None:
            name = process.name()
            words = process.cmdline()
            path = process.exe()
    return name, path, words


@contextlib.contextmanager
def _known(pid: int) -> Iterator[psutil.Process | None]:
    import psutil  # noqa: PLC0415  see the top of this file

    try:
        process = psutil.Process(pid)
    except psutil.Error:
        yield None
        return
    with contextlib.suppress(psutil.Error):
        yield process
