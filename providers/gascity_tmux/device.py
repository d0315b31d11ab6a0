"""The device behind a pane's terminal, opened beside the program that has it."""

from __future__ import annotations

import contextlib
import fcntl
import os
import struct
import termios
import time
from collections.abc import Iterator

from gascity.session.unread import unread

_WINK = 0.05  # seconds for a program to see that its terminal changed its size


def input_of(path: str) -> tuple[bool, bool | None]:
    """Tell whether a terminal hands on whole lines, and holds unread input; see the contract."""
    with _opened(path) as terminal:
        if terminal is None:
            return False, None
        waiting = unread(terminal)
        return _reads_lines(terminal), None if waiting is None else waiting > 0


def wink(path: str) -> None:
    """Make a terminal a row smaller for a moment; nothing happens to one that is gone."""
    with contextlib.suppress(OSError), _opened(path) as terminal:
        if terminal is None:
            return
        size = fcntl.ioctl(terminal, termios.TIOCGWINSZ, bytes(8))
        height, *rest = struct.unpack("HHHH", size)
        smaller = struct.pack("HHHH", max(height - 1, 1), *rest)
        fcntl.ioctl(terminal, termios.TIOCSWINSZ, smaller)
        time.sleep(_WINK)  # it has to notice
        fcntl.ioctl(terminal, termios.TIOCSWINSZ, size)


@contextlib.contextmanager
def _opened(path: str) -> Iterator[int | None]:
    """Open a terminal; None when that cannot be."""
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_NOCTTY | os.O_NONBLOCK)
    except (OSError, ValueError):
        yield None
        return
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _reads_lines(terminal: int) -> bool:
    try:
        return bool(termios.tcgetattr(terminal)[3] & termios.ICANON)
    except termios.error:
        return False
