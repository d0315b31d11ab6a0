"""A terminal taken over for a while, and given back as it was whatever happens.

A frame is one write: the cursor goes home, every line is written over the one before and erased
behind its end, and the terminal is asked to show it all at once (mode 2026). Nothing is ever
cleared, so nothing flickers. Lines are not broken by the terminal meanwhile: one that it takes for
longer than we do is cut at the edge.
"""

from __future__ import annotations

import contextlib
import os
import re
import signal
import termios
import tty
from collections.abc import Iterator, Sequence
from types import FrameType
from typing import Any, NoReturn

from gascity.cli.cells import width

_TAKE = "\x1b[?1049h\x1b[?25l\x1b[?7l"  # another screen, no cursor, no breaking of lines
_GIVE_BACK = "\x1b[?7h\x1b[?25h\x1b[?1049l"
_BEGIN, _END = "\x1b[?2026h\x1b[H", "\x1b[?2026l"
_COLOUR = re.compile(r"\x1b\[[0-9]*m")
HEARD = (signal.SIGWINCH, signal.SIGCONT, signal.SIGTSTP)
DEADLY = (signal.SIGTERM, signal.SIGHUP)


class Killed(BaseException):
    """A signal that ends this process came; `number` says which."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


def frame(lines: Sequence[str], columns: int, rows: int) -> bytes:
    """Return the bytes that put the lines on the screen, in the place of what is there."""
    shown = [_line(line, columns) for line in lines[:rows]]
    if len(shown) < rows:
        shown.append("\x1b[J")  # from here to the end of the screen
    return (_BEGIN + "\r\n".join(shown) + _END).encode(errors="backslashreplace")


def _line(line: str, columns: int) -> str:
    """Return a line and the order to erase what was behind it.

    At the end of a full line the cursor stands on its last cell: that must not be erased.
    """
    is_full = width(_COLOUR.sub("", line)) >= columns
    return line if is_full else f"{line}\x1b[K"


class Canvas:
    """The terminal at standard output, and the keys of standard input if that is one too."""

    def __init__(self, out: int = 1, keys: int = 0) -> None:
        self._out = out
        self.keys = keys if os.isatty(keys) else -1
        self._before: list[Any] | None = None  # Any: as the system has it
        self._last: tuple[bytes, int, int] | None = None

    def take(self) -> None:
        """Take the terminal over."""
        if self.keys >= 0:
            self._before = self._before or termios.tcgetattr(self.keys)
            tty.setcbreak(self.keys, termios.TCSANOW)
        self._last = None
        self._write(_TAKE.encode())

    def give_back(self) -> None:
        """Leave it as it was; a terminal that is gone needs nothing."""
        with contextlib.suppress(OSError):
            self._write(_GIVE_BACK.encode())
        if self._before is not None:
            with contextlib.suppress(OSError, termios.error):
                termios.tcsetattr(self.keys, termios.TCSANOW, self._before)
            self._before = None

    def draw(self, lines: Sequence[str], columns: int, rows: int) -> None:
        """Show the lines, which fit; writes nothing where they are on the screen already."""
        now = frame(lines, columns, rows)
        if (now, columns, rows) != self._last:  # a terminal of another size has lost what it had
            self._last = now, columns, rows
            self._write(now)

    def _write(self, data: bytes) -> None:
        while data:
            data = data[os.write(self._out, data) :]

    def pause(self) -> None:
        """Stop this process as Ctrl-Z does; returns when it goes on."""
        self.give_back()
        waiting = signal.signal(signal.SIGTSTP, signal.SIG_DFL)
        signal.raise_signal(signal.SIGTSTP)
        signal.signal(signal.SIGTSTP, waiting)
        self.take()


@contextlib.contextmanager
def signals() -> Iterator[int]:
    """Yield a descriptor on which signals can be read, one byte each: resizes, pauses.

    A signal that ends us raises Killed, wherever we are.
    """
    ear, hand = os.pipe()
    os.set_blocking(ear, False)
    os.set_blocking(hand, False)
    signal.set_wakeup_fd(hand, warn_on_full_buffer=False)
    before = {number: signal.signal(number, _note) for number in HEARD}
    before |= {number: signal.signal(number, _raise) for number in DEADLY}
    try:
        yield ear
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        signal.set_wakeup_fd(-1)
        os.close(hand)
        os.close(ear)


def die_of(number: int) -> NoReturn:
    """End as a process does that does not handle the signal: whoever started us sees which."""
    signal.signal(number, signal.SIG_DFL)
    signal.raise_signal(number)
    raise SystemExit(128 + number)  # where the signal is blocked


def _note(_number: int, _frame: FrameType | None) -> None:
    """It can be read from the descriptor: that is enough."""


def _raise(number: int, _frame: FrameType | None) -> None:
    raise Killed(number)
