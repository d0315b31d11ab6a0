"""Which process is meant, and what belongs to it.

A pid is recycled; a pid with its start is not. Everything that signals goes through `signal` here,
which never reaches a process other than the one that was identified. On Linux the facts come from
`/proc`, elsewhere from psutil.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping

from gascity.core.observed import ProcessId
from gascity.session import pids

COMM = 15  # the kernel keeps this many bytes of a program's name

# Programs that run another: the program a person means is their first argument.
INTERPRETERS = ("python", "pypy", "node", "bun", "deno", "ruby", "perl", "php", "java")
SHELLS = ("sh", "bash", "dash", "zsh", "ksh", "fish", "busybox")
_RUN = ("run", "exec", "x")  # `bun run FILE`, `deno run FILE`


def identify(pid: int) -> ProcessId | None:
    """Return the process that has this pid now; None when there is none, or only a zombie."""
    started = pids.table.started(pid)
    return ProcessId(pid, started) if started is not None else None


def is_alive(process: ProcessId) -> bool:
    """Tell whether this very process still runs."""
    return pids.table.started(process.pid) == process.started


def environment(process: ProcessId) -> dict[str, str]:
    """Return the variables this very process was started with.

    None of them when it is gone, belongs to somebody else, or has written over them.
    """
    if not is_alive(process):
        return {}
    found = pids.table.environment(process.pid)
    is_another = pids.table.started(process.pid) not in (process.started, None)
    return {} if is_another else found


def descendants(pid: int) -> list[ProcessId]:
    """Return all processes below `pid`, parents first, without `pid` itself."""
    return [ProcessId(child, started) for child, started in pids.below(pid)]


def signal(process: ProcessId, signum: int) -> bool:
    """Send a signal to this very process; False when it is gone or not ours to signal."""
    return pids.send(process.pid, process.started, signum)


def names_in_tree(pid: int) -> set[str]:
    """Return every name a person may use for `pid` or a process below it (see `names_of`)."""
    found = names_of(*pids.table.program(pid)) if identify(pid) is not None else set()
    for process in descendants(pid):
        found |= names_of(*pids.table.program(process.pid))
    return found


def alive_in_trees(
    wanted: Mapping[str, Iterable[str]], roots: Mapping[str, int]
) -> dict[str, bool]:
    """Tell of each session whether one of its wanted names lives below its root, from one pass.

    No names: true for a session that has a root.
    """
    trees = _names_in_trees(roots)
    return {
        session: session in trees and (not names or matches(names, trees[session]))
        for session, names in wanted.items()
    }


def _names_in_trees(roots: Mapping[str, int]) -> dict[str, set[str]]:
    below: dict[int, list[int]] = {}
    for pid, (parent, *_) in pids.table.snapshot().items():
        below.setdefault(parent, []).append(pid)
        below.setdefault(pid, [])
    found: dict[str, set[str]] = {}
    for name, root in roots.items():
        found[name] = set()
        waiting = [root] if root in below else []
        while waiting:
            pid = waiting.pop()
            found[name] |= names_of(*pids.table.program(pid))
            waiting += below[pid]
    return found


def names_of(comm: str, path: str, words: list[str]) -> set[str]:
    """Return the names of one program: the kernel's, its file's, what it calls itself.

    For an interpreter also the script it runs, with and without its ending.
    """
    called = os.path.basename(words[0]).lstrip("-") if words else ""
    names = {comm, os.path.basename(path), called}
    if any(_interprets(name) for name in names):
        script = os.path.basename(_script(words[1:]))
        names |= {script, os.path.splitext(script)[0]}
    return names - {""}


def matches(wanted: Iterable[str], names: set[str]) -> bool:
    """Tell whether one of the wanted names is there; a long one also as the kernel cuts it."""
    return any(
        name in names or (len(os.fsencode(name)) > COMM and _cut(name) in names) for name in wanted
    )


def _cut(name: str) -> str:
    return os.fsencode(name)[:COMM].decode(errors="ignore")


def _interprets(name: str) -> bool:
    return name in SHELLS or any(
        name.startswith(known) and not name[len(known) :].strip("0123456789.")
        for known in INTERPRETERS
    )


def _script(words: list[str]) -> str:
    for index, word in enumerate(words):
        if word in ("-c", "-e", "--eval", "-p", "--print"):
            return ""
        if word == "-m":
            return words[index + 1] if index + 1 < len(words) else ""
        if not word.startswith("-") and word not in _RUN:
            return word
    return ""
