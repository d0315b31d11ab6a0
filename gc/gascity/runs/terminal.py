"""A person's terminal handed to a program on a terminal of its own, with all it shows kept.

The person's terminal is raw meanwhile, so every key, Ctrl-C and Ctrl-Z among them, is the program's
to understand; it is as it was before when the `with` is left, whatever happened. The program's one
has the size of the person's at all times.
"""

from __future__ import annotations

import contextlib
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
                _put(self._descriptor, data)
            except OSError as problem:
                self.problem = problem

    def close(self) -> None:
        """Let go of the file."""
        os.close(self._descriptor)


def relay(keys: int, screen: int, inner: int, kept: Kept, over: int) -> None:
    """Pass keys in and what is shown out, and keep that, until the program has ended.

    `over` is readable then. What it showed last is still passed on. A program that does not read
    its keys is not waited for: it may be waiting for us to take what it shows. When the screen is
    gone the program is not held up: what it shows is kept.
    """
    os.set_blocking(inner, False)
    typed, ended, there = b"", False, True
    while True:
        poll = select.poll()
        poll.register(over, select.POLLIN)
        poll.register(inner, select.POLLIN | (select.POLLOUT if typed else 0))
        if there and len(typed) < _CHUNK:
            poll.register(keys, select.POLLIN)
        ready = dict(poll.poll(0 if ended else None))
        if keys in ready:
            more = _read(keys)
            there, typed = bool(more), typed + (more or b"")
        if typed and ready.get(inner, 0) & select.POLLOUT:
            typed = typed[_write(inner, typed) :]
        if ready.get(inner, 0) & ~select.POLLOUT:
            shown = _read(inner)
            if shown == b"":
                return
            kept.add(shown or b"")
            _give(screen, shown or b"")
        elif ended:
            return
        ended = ended or over in ready


def tee(lines: Mapping[int, tuple[int, Kept]], over: int) -> None:
    """Pass on what comes, each to where it is shown and kept, until the program has ended.

    What it said last is still passed on. Where nobody takes what is shown, the program's end of the
    line is closed, so that it hears of that.
    """
    poll = select.poll()
    for descriptor in (*lines, over):
        poll.register(descriptor, select.POLLIN)
    ended = False
    while True:
        ready = [descriptor for descriptor, _ in poll.poll(0 if ended else None)]
        for source in lines.keys() & set(ready):
            shown, kept = lines[source]
            data = _read(source) or b""
            kept.add(data)
            if not _give(shown, data):
                poll.unregister(source)
                _close_line(source)
        if ended and ready == [over]:
            return
        ended = ended or over in ready


def _read(source: int) -> bytes | None:
    """Return what is there: nothing at its end, None when there is nothing yet."""
    try:
        return os.read(source, _CHUNK)
    except BlockingIOError:
        return None
    except OSError:
        return b""  # nobody has the other end any more


def _write(target: int, data: bytes) -> int:
    """Return how much of it was taken."""
    try:
        return os.write(target, data)
    except BlockingIOError:
        return 0


def _give(target: int, data: bytes) -> bool:
    """Write all of it; False where it is not taken: nobody reads it, or there is no room."""
    try:
        _put(target, data)
    except OSError:
        return False
    return True


def _put(target: int, data: bytes) -> None:
    """Write all of it, also to what another program made one that never waits. Raises OSError."""
    rest = memoryview(data)
    while rest:
        try:
            rest = rest[os.write(target, rest) :]
        except BlockingIOError:
            select.select([], [target], [])


def _close_line(source: int) -> None:
    """Close the line that a descriptor reads from, and leave it to its owner to close that."""
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, source, inheritable=False)
    os.close(nothing)
