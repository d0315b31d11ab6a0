"""A person's terminal handed to a program on a terminal of its own, with all it shows kept.

The person's terminal is raw meanwhile, so every key, Ctrl-C and Ctrl-Z among them, is the program's
to understand; it is as it was before when the `with` is left, whatever happened. The program's one
has the size of the person's at all times.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import select
import signal
import struct
import termios
import tty
from collections.abc import Iterator, Mapping
from types import FrameType

_CHUNK = 1 << 16
_SIZE = struct.Struct("HHHH")


@contextlib.contextmanager
def raw(terminal: int) -> Iterator[None]:
    """Have a terminal pass on every key, and give it back as it was."""
    before = termios.tcgetattr(terminal)
    try:
        tty.setraw(terminal)
        yield
    finally:
        with contextlib.suppress(termios.error):  # its window was closed
            termios.tcsetattr(terminal, termios.TCSADRAIN, before)


@contextlib.contextmanager
def same_size(outer: int, inner: int) -> Iterator[None]:
    """Give one terminal the size of another, now and whenever that changes."""

    def follow(_number: int = 0, _frame: FrameType | None = None) -> None:
        with contextlib.suppress(OSError):
            size = fcntl.ioctl(outer, termios.TIOCGWINSZ, bytes(_SIZE.size))
            fcntl.ioctl(inner, termios.TIOCSWINSZ, size)

    before = signal.signal(signal.SIGWINCH, follow)
    follow()
    try:
        yield
    finally:
        signal.signal(signal.SIGWINCH, before)


class Kept:
    """A file that is added to until that fails: who uses the program goes on with it all the same.

    `problem` says why it is not whole, if it is not.
    """

    def __init__(self, path: str) -> None:
        self._descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        self.problem: OSError | None = None

    def add(self, data: bytes) -> None:
        """Add something, if all before it could be added."""
        if self.problem is None:
            try:
                _write(self._descriptor, data)
            except OSError as problem:
                self.problem = problem

    def close(self) -> None:
        """Let go of the file."""
        os.close(self._descriptor)


def relay(keys: int, screen: int, inner: int, kept: Kept, over: int) -> None:
    """Pass keys in and what is shown out, and keep that, until the program has ended.

    `over` is readable then. What it showed last is still passed on. When the screen is gone the
    program is not held up: what it shows is kept.
    """
    poll = select.poll()
    for descriptor in (keys, inner, over):
        poll.register(descriptor, select.POLLIN)
    ended = False
    while True:
        ready = [descriptor for descriptor, _ in poll.poll(0 if ended else None)]
        if keys in ready and not _pass(keys, inner):
            poll.unregister(keys)
        if inner in ready:
            data = _read(inner)
            if not data:
                return
            kept.add(data)
            with contextlib.suppress(OSError):
                _write(screen, data)
        elif ended:
            return
        ended = ended or over in ready


def tee(lines: Mapping[int, tuple[int, Kept]], over: int) -> None:
    """Pass on what comes, each to its target, until the program has ended and nothing is left.

    When nobody takes it any more, the program is told as it would be without us: by SIGPIPE.
    """
    poll = select.poll()
    for descriptor in (*lines, over):
        poll.register(descriptor, select.POLLIN)
    ended = False
    while True:
        ready = [descriptor for descriptor, _ in poll.poll(0 if ended else None)]
        for source in lines.keys() & set(ready):
            target, kept = lines[source]
            if not _pass(source, target, kept):
                poll.unregister(source)
                _hang_up(source)
        if ended and ready == [over]:
            return
        ended = ended or over in ready


def _pass(source: int, target: int, kept: Kept | None = None) -> bool:
    """Pass on what is there; False at its end, and when the target does not take it."""
    data = _read(source)
    if kept is not None:
        kept.add(data)
    try:
        _write(target, data)
    except OSError:
        return False
    return bool(data)


def _read(source: int) -> bytes:
    """Return what is there, nothing at its end."""
    try:
        return os.read(source, _CHUNK)
    except OSError as problem:
        if problem.errno in {errno.EIO, errno.EBADF}:  # nobody has the other end any more
            return b""
        raise


def _write(target: int, data: bytes) -> None:
    """Write all of it, also to what another program made one that never waits."""
    rest = memoryview(data)
    while rest:
        try:
            rest = rest[os.write(target, rest) :]
        except BlockingIOError:
            select.select([], [target], [])


def _hang_up(source: int) -> None:
    """Close a pipe, and leave its number to who will close that."""
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, source, inheritable=False)
    os.close(nothing)
