"""Where a path leads, beneath a folder that nothing leads out of.

The way is walked one folder at a time from an open one to the next, and links are followed by hand:
whoever renames and links meanwhile changes what is found, never where it lies. What is handed out
is an open folder and a name in it that was no link.
"""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Callable, Iterator

LONGEST = 4096  # bytes of a path, with the one that ends it
MOST_LINKS = 40  # as Linux has it
FOLDER = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
ROOT = "."  # the name that stands for the folder itself


class Outside(Exception):
    """The path leads out of the root, or tries to."""


class Beneath:
    """Finds what lies beneath `root`; paths that are not absolute begin at `workdir` in it."""

    def __init__(self, root: str, workdir: str) -> None:
        """Raises Outside when `workdir` is not in the root."""
        self._given = os.path.abspath(root)
        self._root = os.path.realpath(root)
        self._workdir = self._inside(os.path.realpath(workdir))

    @contextlib.contextmanager
    def find(self, path: str, *, make: bool = False) -> Iterator[tuple[int, str]]:
        """Yield the folder and the name of `path`; folders on the way are made with `make`.

        The name need not be there. Raises Outside, and OSError where the way ends.
        """
        check_length(path)
        if ".." in path.split("/"):
            raise Outside
        steps = self._inside(path) if path.startswith("/") else [*self._workdir, *_parts(path)]
        walk = _Walk(self._root)
        try:
            yield walk.go(steps, self._inside, make=make)
        finally:
            walk.close()

    def _inside(self, path: str) -> list[str]:
        """Return the steps from the root to an absolute path."""
        for root in (self._root, self._given):
            steps = _parts(root)
            if _parts(path)[: len(steps)] == steps:
                return _parts(path)[len(steps) :]
        raise Outside


class _Walk:
    """One way down: the open folders that lead to where it stands."""

    def __init__(self, root: str) -> None:
        self._folders = [os.open(root, FOLDER)]

    def go(
        self, steps: list[str], inside: Callable[[str], list[str]], *, make: bool
    ) -> tuple[int, str]:
        left = steps[::-1]
        links = 0
        while left:
            name = left.pop()
            if name == "..":  # of a link; where it came from is known, not looked up
                if len(self._folders) == 1:
                    raise Outside
                os.close(self._folders.pop())
                continue
            target = self._link(name)
            if target is None and not left:
                return self._folders[-1], name
            if target is None and self._enter(name, make=make):
                continue
            links += 1
            if links > MOST_LINKS:
                raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
            if target is None:  # a link by now
                left.append(name)
            elif target.startswith("/"):
                left += inside(target)[::-1]
                self._back()
            else:
                left += _parts(target)[::-1]
        return self._folders[-1], ROOT

    def close(self) -> None:
        while self._folders:
            os.close(self._folders.pop())

    def _back(self) -> None:
        while len(self._folders) > 1:
            os.close(self._folders.pop())

    def _link(self, name: str) -> str | None:
        try:
            return os.readlink(name, dir_fd=self._folders[-1])
        except OSError as problem:
            if problem.errno in (errno.EINVAL, errno.ENOENT):
                return None
            raise

    def _enter(self, name: str, *, make: bool) -> bool:
        """Go into a folder; False when it is a link by now."""
        here = self._folders[-1]
        try:
            self._folders.append(os.open(name, FOLDER, dir_fd=here))
        except FileNotFoundError:
            if not make:
                raise
            with contextlib.suppress(FileExistsError):
                os.mkdir(name, dir_fd=here)
            self._folders.append(os.open(name, FOLDER, dir_fd=here))
        except OSError as problem:
            if problem.errno in (errno.ELOOP, errno.ENOTDIR) and self._link(name) is not None:
                return False
            raise
        return True


def check_length(path: str) -> None:
    """Raise what the system raises for a path that is longer than it takes."""
    if len(path.encode()) >= LONGEST:
        raise OSError(errno.ENAMETOOLONG, os.strerror(errno.ENAMETOOLONG))


def _parts(path: str) -> list[str]:
    return [part for part in path.split("/") if part not in ("", ".")]
