"""What the kernel tells about processes, through `/proc` (Linux).

Facts about one pid at a moment, as plain values: `pids` and `processes` build identity on them.
A zombie counts as gone everywhere: it runs nothing, and only its parent can make it vanish.
"""

from __future__ import annotations

import errno
import os
import time

TYPE_CHECKING = False  # typing, which has it, takes as long to import as Python to start
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

_AFTER_NAME = {
    "state": 0,
    "parent": 1,
    "session": 3,
    "flags": 6,
    "started": 19,
    "variables": 47,
    "variables_end": 48,
}  # fields of `stat` after `pid (name)`
_LONGEST_ENVIRON = 4 * 1024 * 1024
_EXITING, _OF_THE_KERNEL = 0x4, 0x200000  # flags of those that have no variables any more, or never
_CHANGE = 1.0  # seconds that a process may take to become another program
_GONE = (b"Z", b"X", b"x")
_boot: list[str] = []


def started(pid: int) -> str | None:
    """Return what no other process with this pid will ever have, or None when it is gone.

    It is the boot and the clock ticks since: times of day would move when the clock is set.
    """
    fields = _stat(pid)
    if fields is None or fields[_AFTER_NAME["state"]] in _GONE:
        return None
    return _since_boot(fields)


def born(pid: int) -> str | None:
    """Return the same also for a process that has ended and was not reaped."""
    fields = _stat(pid)
    return _since_boot(fields) if fields is not None else None


def children(pid: int) -> list[int]:
    """Return the pids of all children, zombies included.

    A child may be missing when a sibling is reaped during the call: ask again before you
    conclude that there is none. The list of the calling process itself is always complete.
    """
    found: list[int] = []
    try:
        threads = os.listdir(f"/proc/{pid}/task")
    except OSError:
        return []
    for thread in threads:
        listed = _read(f"/proc/{pid}/task/{thread}/children")
        if listed is None and not _lists_children():
            return [other for other in everyone() if parent(other) == pid]
        found.extend(int(word) for word in (listed or b"").split())
    return found


def parent(pid: int) -> int | None:
    """Return the pid of the parent, or None when the process is gone."""
    fields = _stat(pid)
    return int(fields[_AFTER_NAME["parent"]]) if fields is not None else None


def everyone() -> list[int]:
    """Return all pids there are."""
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]


Row = tuple[int, int, float, str]  # parent, terminal session, age (later is more), `started`


def snapshot(known: Mapping[int, Row] | None = None) -> dict[int, Row]:
    """Return all living processes by pid, in one pass.

    Those in `known` are taken from there without another look, even if they have ended since.
    """
    rows: dict[int, Row] = {}
    boot = _boot_id()
    for pid in everyone():
        if known is not None and pid in known:
            rows[pid] = known[pid]
            continue
        fields = _stat(pid)
        if fields is not None and fields[0] not in _GONE:
            ticks = fields[_AFTER_NAME["started"]].decode()
            parent = int(fields[_AFTER_NAME["parent"]])
            session = int(fields[_AFTER_NAME["session"]])
            rows[pid] = (parent, session, float(ticks), f"{boot}:{ticks}")
    return rows


def begun_since(age: float, others: Iterable[int] = ()) -> Iterator[int]:
    """Yield the processes whose terminal session is not older than `age`, each once.

    What a process of that age ever started is among them. `others` are pids whose sessions are
    known to be somebody else's. Listed twice: one may fork and end while the rest is looked at.
    """
    young = dict.fromkeys(others, False)
    listed: set[int] = set()
    for _ in range(2):
        fresh = set(everyone()) - listed
        listed |= fresh
        for pid in fresh:
            try:
                session = os.getsid(pid)
            except OSError:
                continue  # it is gone
            if session not in young:
                leader = _stat(session)  # its number is nobody else's while it has members
                young[session] = leader is None or float(leader[_AFTER_NAME["started"]]) >= age
            if young[session]:
                yield pid


def ignores(pid: int, signum: int) -> bool:
    """Tell whether the process pays no attention to a signal."""
    for line in (_read(f"/proc/{pid}/status") or b"").splitlines():
        if line.startswith(b"SigIgn:"):
            return bool(int(line.split()[1], 16) >> (signum - 1) & 1)
    return False


def variable(pid: int, name: str) -> str | None:
    """Return a variable the process was started with; None when it has none or may not be read."""
    start = name.encode() + b"="
    for entry in _environ(pid).split(b"\0"):
        if entry.startswith(start):
            return os.fsdecode(entry[len(start) :])
    return None


def environment(pid: int) -> dict[str, str]:
    """Return all variables the process was started with; none when it may not be read."""
    entries = (entry.partition(b"=") for entry in _environ(pid).split(b"\0") if b"=" in entry)
    return {os.fsdecode(name): os.fsdecode(value) for name, _, value in entries}


def program(pid: int) -> tuple[str, str, list[str]]:
    """Return the kernel's name for it (15 bytes at most), the path of its file, and its arguments.

    What cannot be read is empty.
    """
    comm = os.fsdecode((_read(f"/proc/{pid}/comm") or b"").rstrip(b"\n"))
    try:
        path = os.readlink(f"/proc/{pid}/exe").removesuffix(" (deleted)")
    except OSError:
        path = ""
    words = (_read(f"/proc/{pid}/cmdline") or b"").split(b"\0")
    return comm, path, [os.fsdecode(word) for word in words[:-1]]


def _since_boot(fields: list[bytes]) -> str:
    return f"{_boot_id()}:{fields[_AFTER_NAME['started']].decode()}"


def _environ(pid: int) -> bytes:
    """Return the variables as the kernel has them.

    A process shows none while it becomes another program. It is looked at again then: taken for one
    without a mark it would be left behind, or ended with those that it is not of.
    """
    deadline = time.monotonic() + _CHANGE
    while True:
        raw = _read(f"/proc/{pid}/environ", _LONGEST_ENVIRON)
        if raw != b"" or not _becomes_another(pid) or time.monotonic() >= deadline:
            return raw or b""
        time.sleep(0.001)  # nothing tells when it is done


def _becomes_another(pid: int) -> bool:
    """Tell whether a process that showed no variables may have some in a moment."""
    fields = _stat(pid)
    if fields is None or fields[_AFTER_NAME["state"]] in _GONE:
        return False
    if int(fields[_AFTER_NAME["flags"]]) & (_EXITING | _OF_THE_KERNEL):
        return False
    start, end = (fields[_AFTER_NAME[name]] for name in ("variables", "variables_end"))
    return start != end or start == b"0"


def _stat(pid: int) -> list[bytes] | None:
    try:
        descriptor = os.open(f"/proc/{pid}/stat", os.O_RDONLY)
    except OSError as problem:
        _is_about_it(problem)
        return None
    try:
        raw = os.read(descriptor, 4096)
    except OSError:
        return None
    finally:
        os.close(descriptor)
    # The name stands in parentheses and may hold blanks and parentheses itself.
    return raw.rpartition(b")")[2].split() if raw else None


def _read(path: str, size: int = 65536) -> bytes | None:
    try:
        descriptor = os.open(path, os.O_RDONLY)
    except OSError as problem:
        _is_about_it(problem)
        return None
    try:
        parts = []
        while part := os.read(descriptor, size):
            parts.append(part)
        return b"".join(parts)
    except OSError:
        return None
    finally:
        os.close(descriptor)


def _is_about_it(problem: OSError) -> None:
    """Let pass what says that a process is gone; raise when this one is short of something."""
    if problem.errno in (errno.EMFILE, errno.ENFILE, errno.ENOMEM):
        raise problem


def _boot_id() -> str:
    if not _boot:
        _boot.append((_read("/proc/sys/kernel/random/boot_id") or b"").decode().strip())
    return _boot[0]


def _lists_children() -> bool:
    return os.path.exists(f"/proc/self/task/{os.getpid()}/children")
