"""Where the files of a city lie on the disk, and whether they are as they were when last read.

A file can change without being written: an editor renames another one into its place, a link on the
way to it is turned, a folder above it goes and comes back. So what is watched are the entries of
folders that decide where a path leads, and what is compared is what is found at its end.
"""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

SLACK = 0.02  # a file's time is taken from a clock that ticks this coarsely
MOST_LINKS = 40  # as the kernel has it

Sign = tuple[object, ...]
UNSETTLED: Sign = ("it changed while it was read",)
ABSENT: Sign = ()


@dataclass(frozen=True, slots=True)
class Watched:
    """The folders to watch, and the paths in them that matter; in `listed` ones, all do."""

    folders: frozenset[str]
    paths: frozenset[str]
    listed: frozenset[str]

    def matters(self, path: str) -> bool:
        """Tell whether a change at `path` may change the city."""
        return path in self.paths or path in self.folders or os.path.dirname(path) in self.listed


def watched(sources: Iterable[str], root: str) -> Watched:
    """Return what to watch for the sources of the city in the folder `root`."""
    entries: set[tuple[str, str]] = set()
    listed: set[str] = set()
    for source in sources:
        entries |= set(_way(source, root))
        if source.endswith("/") and os.path.isdir(source):
            listed.add(os.path.realpath(source))
    folders = listed | {folder for folder, _ in entries}
    return Watched(
        folders=frozenset(folder for folder in folders if os.access(folder, os.R_OK)),
        paths=frozenset(os.path.join(folder, name) for folder, name in entries),
        listed=frozenset(listed),
    )


def signed(sources: Iterable[str], *, read_since: float | None = None) -> Mapping[str, Sign]:
    """Return how the sources are now, to be compared with how they are later.

    One that changed after `read_since`, when somebody began to read them, is different from
    anything: what was read may be what it was before.
    """
    return {source: _sign(source, read_since) for source in sources}


def _sign(source: str, read_since: float | None) -> Sign:
    try:
        found = os.stat(source)
        if stat.S_ISDIR(found.st_mode):
            is_list = source.endswith("/")
            return ("folder", *(sorted(os.listdir(source)) if is_list else ()))
    except (OSError, ValueError):  # ValueError: a name the system cannot have
        return ABSENT
    if read_since is not None and read_since - SLACK <= found.st_ctime <= time.time() + SLACK:
        return UNSETTLED
    return (found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)


def _way(path: str, root: str) -> Iterator[tuple[str, str]]:
    """Yield the entries, each a folder and a name in it, that decide what `path` leads to.

    Folders above the city that are what they seem are left out: nobody swaps those.
    """
    rest = _parts(path)
    here, links = "/", 0
    while rest:
        name = rest.pop()
        if name == "..":
            here = os.path.dirname(here)
            continue
        step = os.path.join(here, name)
        try:
            target = os.readlink(step)
        except (OSError, ValueError):
            target = ""
        is_there = target or os.path.lexists(step)
        if target or not is_there or not rest or _is_in(here, root):
            yield here, name
        if not is_there or links > MOST_LINKS:
            return
        if target:
            links += 1
            rest += _parts(target)
            here = "/" if target.startswith("/") else here
        else:
            here = step


def _parts(path: str) -> list[str]:
    """Return the names in a path, the last one first."""
    return [name for name in reversed(path.split("/")) if name not in ("", ".")]


def _is_in(folder: str, root: str) -> bool:
    return folder == root or folder.startswith(os.path.join(root, ""))
