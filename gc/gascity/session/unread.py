"""How much of what was sent to a program it has not read yet."""

from __future__ import annotations

import array
import fcntl
import termios


def unread(descriptor: int) -> int | None:
    """Return the bytes that wait in a pipe or a terminal; None when it is gone or cannot tell."""
    count = array.array("i", [0])
    try:
        fcntl.ioctl(descriptor, termios.FIONREAD, count)
    except OSError:
        return None
    return count[0]
