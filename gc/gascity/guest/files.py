"""Reading, writing and listing files, for somebody who is not trusted to name them.

With a root everything lies beneath it (see `beneath`). Only regular files are read, and only up to
a limit; writing puts a finished file in the place of the old one, which nobody sees half.
"""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import stat
import threading
from collections.abc import Iterator
from typing import IO, Union

from gascity.guest.beneath import Beneath, Outside, check_length
from gascity.guest.execution import reason

READ = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
PIECE = 1 << 20

Entry = dict[str, Union[str, bool, int]]


class Refused(Exception):
    """It was not done; the message says why."""


class Files:
    """The files of one guest."""

    def __init__(self, workdir: str, *, root: str | None, most: int) -> None:
        """`most` bytes are read of a file. Raises Outside when `workdir` is not in `root`."""
        self._workdir = os.path.abspath(workdir)
        self._beneath = Beneath(root, workdir) if root is not None else None
        self._most = most
        self._writing = 0
        self._stops = False
        self._idle = threading.Condition()

    def read(self, path: str) -> str:
        """Return the text of a regular file."""
        with _told(f"failed to stat '{path}'"), self._place(path) as (folder, name):
            _regular(os.stat(name, dir_fd=folder, follow_symlinks=self._beneath is None), path)
            with _told(f"failed to read '{path}'"):
                descriptor = os.open(name, READ | self._no_links, dir_fd=folder)
                with open(descriptor, "rb") as file:
                    size = _regular(os.fstat(descriptor), path)
                    data = _upto(file, self._most + 1)
        if max(size, len(data)) > self._most:
            size = max(size, len(data))
            raise Refused(f"file '{path}' is too large ({size} bytes, max {self._most} bytes)")
        try:
            return data.decode()
        except UnicodeDecodeError:
            message = f"failed to read '{path}': stream did not contain valid UTF-8"
            raise Refused(message) from None

    def write(self, path: str, content: str) -> None:
        """Put a file there, with the folders that lead to it; it keeps the mode it had."""
        if os.path.basename(path) in ("", ".", ".."):
            raise Refused(f"failed to write '{path}': Is a directory (os error 21)")
        making = _told(f"failed to create directories for '{path}'")
        writing = _told(f"failed to write '{path}'")
        with self._under_way(path), making, self._new(path) as place, writing:
            _replace(*place, content.encode())

    def stop(self, *, timeout: float) -> None:
        """Wait for what is being written, so that no half of it is left; write nothing more."""
        with self._idle:
            self._stops = True
            self._idle.wait_for(lambda: not self._writing, timeout)

    def entries(self, path: str) -> list[Entry]:
        """Return what is in a folder, in the order of the bytes of the names."""
        flags = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC | self._no_links
        found = []
        with _told(f"failed to read directory '{path}'"), self._place(path) as (folder, name):
            descriptor = os.open(name, flags, dir_fd=folder)
            try:
                with os.scandir(descriptor) as listing:
                    for entry in listing:
                        with contextlib.suppress(FileNotFoundError):  # it is gone already
                            found.append((os.fsencode(entry.name), _described(entry)))
            finally:
                os.close(descriptor)
        return [described for _, described in sorted(found, key=lambda pair: pair[0])]

    @property
    def _no_links(self) -> int:
        return os.O_NOFOLLOW if self._beneath is not None else 0

    @contextlib.contextmanager
    def _under_way(self, path: str) -> Iterator[None]:
        with self._idle:
            if self._stops:
                raise Refused(f"failed to write '{path}': the daemon stops")
            self._writing += 1
        try:
            yield
        finally:
            with self._idle:
                self._writing -= 1
                self._idle.notify_all()

    @contextlib.contextmanager
    def _place(self, path: str) -> Iterator[tuple[int | None, str]]:
        if self._beneath is None:
            yield None, os.path.join(self._workdir, path) if path else ""
            return
        if not path:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))
        with self._beneath.find(path) as place:
            yield place

    @contextlib.contextmanager
    def _new(self, path: str) -> Iterator[tuple[int, str]]:
        """Yield the folder, made if need be, and the name of what is to be written."""
        if self._beneath is not None:
            with self._beneath.find(path, make=True) as place:
                yield place
            return
        check_length(path)
        folder, name = os.path.split(os.path.realpath(os.path.join(self._workdir, path)))
        _make(folder)
        descriptor = os.open(folder, getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY)
        try:
            yield descriptor, name
        finally:
            os.close(descriptor)


def _make(folder: str) -> None:
    """Make a folder and those that lead to it, however many: `os.makedirs` calls itself."""
    missing = []
    while not os.path.isdir(folder):
        missing.append(folder)
        folder = os.path.dirname(folder)
    for each in reversed(missing):
        with contextlib.suppress(FileExistsError):
            os.mkdir(each)


def _replace(folder: int, name: str, data: bytes) -> None:
    old = _replaceable(folder, name)
    fresh = f".{name[:40]}.{secrets.token_hex(8)}"
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    descriptor = os.open(fresh, flags, 0o666 if old is None else 0o600, dir_fd=folder)
    try:
        with open(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            if old is not None:
                with contextlib.suppress(OSError):  # only root gives files away
                    os.fchown(descriptor, old.st_uid, old.st_gid)
                os.fchmod(descriptor, stat.S_IMODE(old.st_mode))
        os.rename(fresh, name, src_dir_fd=folder, dst_dir_fd=folder)
    except BaseException:  # whatever it is, half a file is not left behind
        with contextlib.suppress(OSError):
            os.unlink(fresh, dir_fd=folder)
        raise


def _replaceable(folder: int, name: str) -> os.stat_result | None:
    """Return what the file that is there is like; None when there is none."""
    try:
        old = os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return None
    if stat.S_ISDIR(old.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    if not stat.S_ISREG(old.st_mode):
        raise _NotRegular
    if not os.access(name, os.W_OK, dir_fd=folder):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    return old


def _upto(file: IO[bytes], most: int) -> bytes:
    """Read to the end, but not more than `most`, however much the file grows meanwhile."""
    pieces = []
    while most > 0:
        piece = file.read(min(PIECE, most))
        if not piece:
            break
        pieces.append(piece)
        most -= len(piece)
    return b"".join(pieces)


class _NotRegular(Exception):
    """It is a device, a pipe, a socket or a link."""


def _regular(found: os.stat_result, path: str) -> int:
    """Return the size of a regular file."""
    if stat.S_ISDIR(found.st_mode):
        raise Refused(f"failed to read '{path}': Is a directory (os error 21)")
    if not stat.S_ISREG(found.st_mode):
        raise Refused(f"failed to read '{path}': not a regular file")
    return found.st_size


def _described(entry: os.DirEntry[str]) -> Entry:
    found = entry.stat(follow_symlinks=False)
    is_dir = stat.S_ISDIR(found.st_mode)
    size = 0 if is_dir or stat.S_ISLNK(found.st_mode) else found.st_size
    name = os.fsencode(entry.name).decode(errors="replace")
    return {"name": name, "is_dir": is_dir, "size": size}


@contextlib.contextmanager
def _told(what: str) -> Iterator[None]:
    """Turn what the system refuses into a sentence."""
    try:
        yield
    except Outside:
        raise Refused(f"{what}: the path leads out of the root") from None
    except _NotRegular:
        raise Refused(f"{what}: not a regular file") from None
    except OSError as problem:
        raise Refused(f"{what}: {reason(problem)}") from None
    except ValueError:
        raise Refused(f"{what}: nul byte found in provided data") from None
