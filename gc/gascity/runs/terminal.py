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


def relay(keys: int, screen: int, inner: int, kept: int, over: int) -> None:
    """Pass keys in and what is shown out, and keep that, until the program has ended.

    `over` is readable then. What it showed last is still passed on.
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
            if not _pass(inner, screen, kept):
                return
        elif ended:
            return
        ended = ended or over in ready


def _pass(source: int, *targets: int) -> bool:
    """Pass on what is there; False at its end."""
    try:
        data = os.read(source, _CHUNK)
    except OSError as problem:
        if problem.errno in {errno.EIO, errno.EBADF}:  # nobody has the other end any more
            return False
        raise
    for target in targets:
        rest = memoryview(data)
        while rest:
            rest = rest[os.write(target, rest) :]
    return bool(data)


def tee(lines: Mapping[int, tuple[int, ...]], over: int) -> None:
    """Pass on what comes, each to its targets, until the program has ended and nothing is left."""
    poll = select.poll()
    for descriptor in (*lines, over):
        poll.register(descriptor, select.POLLIN)
    ended = False
    while True:
        ready = [descriptor for descriptor, _ in poll.poll(0 if ended else None)]
        for source in lines.keys() & set(ready):
            _pass(source, *lines[source])
        if ended and ready == [over]:
            return
        ended = ended or over in ready
