"""What a person (or a supervisor) types, as events.

On a terminal the bytes are keys and bracketed pastes; on a pipe they are lines. Reading never
blocks longer than asked for, so that the agent can work and listen at the same time.
"""

from __future__ import annotations

import codecs
import os
import re
import select
import signal
import termios
import tty
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum

PASTE_BEGINS, PASTE_ENDS = "\x1b[200~", "\x1b[201~"
ESCAPE_WAIT = 0.05  # an Escape that nothing follows for this long was the key itself

_SEQUENCE = re.compile(r"\x1b(?:\[[0-9;?<>=]*[ -/]*[@-~]|O[@-~])")
_INCOMPLETE = re.compile(r"\x1b(?:\[[0-9;?<>=]*[ -/]*|O)?$")


class Key(Enum):
    """A key that is not a character."""

    ENTER = "enter"
    UP = "up"
    DOWN = "down"
    ESCAPE = "escape"
    BACKSPACE = "backspace"
    ERASE_LINE = "erase line"
    END = "end of input"


@dataclass(frozen=True, slots=True)
class Typed:
    """Characters typed one by one."""

    text: str


@dataclass(frozen=True, slots=True)
class Pasted:
    """A bracketed paste: its line ends are text, not Enter."""

    text: str


Event = Key | Typed | Pasted

_NAMED = {
    "\x1b[A": Key.UP,
    "\x1bOA": Key.UP,
    "\x1b[B": Key.DOWN,
    "\x1bOB": Key.DOWN,
    "\r": Key.ENTER,
    "\n": Key.ENTER,
    "\x7f": Key.BACKSPACE,
    "\x08": Key.BACKSPACE,
    "\x15": Key.ERASE_LINE,
    "\x04": Key.END,
}


class Keyboard:
    """Reads events from a file descriptor, a terminal or not."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self.is_terminal = os.isatty(descriptor)
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._text = ""
        self._ended = False
        self._signalled = -1
        self._kept: deque[Event] = deque()

    @contextmanager
    def taken(self) -> Iterator[None]:
        """Take the terminal's keys one by one, without echo, and give it back afterwards."""
        if not self.is_terminal:
            yield
            return
        before = termios.tcgetattr(self._descriptor)
        tty.setcbreak(self._descriptor, termios.TCSADRAIN)
        self._signalled, told = os.pipe()
        os.set_blocking(told, False)
        # Without this, an interrupt that comes right before a wait would be noticed only after it.
        signal.set_wakeup_fd(told)
        try:
            yield
        finally:
            signal.set_wakeup_fd(-1)
            for descriptor in (self._signalled, told):
                os.close(descriptor)
            self._signalled = -1
            termios.tcsetattr(self._descriptor, termios.TCSADRAIN, before)

    def read(self, timeout: float | None = None) -> Event | None:
        """Return the next event; None after `timeout` seconds without one."""
        while True:
            if self._kept:
                return self._kept.popleft()
            self._kept.extend(self._parse())
            if self._kept:
                continue
            if self._ended:
                return Key.END
            if not self._fill(ESCAPE_WAIT if self._text == "\x1b" else timeout):
                if self._text == "\x1b":
                    self._text = ""
                    return Key.ESCAPE
                return None

    def keep(self, event: Event) -> None:
        """Put an event back; it comes after those that are kept already."""
        self._kept.append(event)

    def _fill(self, timeout: float | None) -> bool:
        signalled = [] if self._signalled < 0 else [self._signalled]
        ready, _, _ = select.select([self._descriptor, *signalled], [], [], timeout)
        if not ready:
            return False
        if self._descriptor not in ready:
            os.read(self._signalled, 512)
            return True
        try:
            data = os.read(self._descriptor, 65536)
        except OSError:  # the other end of the terminal was closed
            data = b""
        self._ended = not data
        self._text += self._decoder.decode(data, final=not data)
        return True

    def _parse(self) -> Iterator[Event]:
        while self._text:
            event, used = self._first()
            if not used:
                return
            self._text = self._text[used:]
            if event is not None:
                yield event

    def _first(self) -> tuple[Event | None, int]:
        """Return the first event and how many characters it takes; none while it is incomplete."""
        text = self._text
        if self.is_terminal and text.startswith(PASTE_BEGINS):
            end = text.find(PASTE_ENDS)
            if end < 0:
                return None, len(text) if self._ended else 0
            inside = text[len(PASTE_BEGINS) : end].replace("\r\n", "\n").replace("\r", "\n")
            return Pasted(inside), end + len(PASTE_ENDS)
        sequence = _SEQUENCE.match(text)
        if sequence:
            return _NAMED.get(sequence.group()), sequence.end()
        if text[0] == "\x1b":
            if _INCOMPLETE.fullmatch(text) and not self._ended:
                return None, 0
            return Key.ESCAPE, 1
        if text[0] in _NAMED and (self.is_terminal or text[0] == "\n"):
            return _NAMED[text[0]], 1
        plain = re.match(r"[^\x00-\x1f\x7f]+", text)
        if plain:
            return Typed(plain.group()), plain.end()
        return None if self.is_terminal else Typed(text[0]), 1
