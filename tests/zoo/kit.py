"""What the programs of the zoo are made of: keys as events, cells and rows, and a log.

Every program writes one JSON line per event to the file that ZOO_LOG names: all input as it comes
(`input`), and what it did about it (`submitted`, `executed`, `dialog`, ...).
"""

from __future__ import annotations

import codecs
import fcntl
import json
import os
import re
import select
import struct
import termios
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum

PASTE_BEGINS, PASTE_ENDS = "\x1b[200~", "\x1b[201~"
LOG = "ZOO_LOG"
EXCERPT = 100  # characters of an input that are logged: it is there to show that there was any

_SEQUENCE = re.compile(r"\x1b(?:\[[0-9;?<>=]*[ -/]*[@-~]|O[@-~])")
_UNFINISHED = re.compile(r"\x1b(?:\[[0-9;?<>=]*[ -/]*|O)?$")
_PLAIN = re.compile(r"[^\x00-\x1f\x7f]+")
_WIDE = ("W", "F")


def log(event: str, text: str = "") -> None:
    """Add one line to the log, at once and whole."""
    line = json.dumps({"event": event, "text": text}) + "\n"
    descriptor = os.open(os.environ[LOG], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    try:
        os.write(descriptor, line.encode())
    finally:
        os.close(descriptor)


class Key(Enum):
    """A key that is no character."""

    ENTER = "\r"
    NEWLINE = "\n"
    ESCAPE = "\x1b"
    BACKSPACE = "\x7f"
    ERASE = "\x15"
    INTERRUPT = "\x03"
    OTHER = ""


@dataclass(frozen=True, slots=True)
class Text:
    """Characters, typed or pasted."""

    text: str
    pasted: bool = False


Event = Key | Text


class Keyboard:
    """Reads events from a terminal in raw mode."""

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._rest = ""

    def pending(self, timeout: float | None = 0) -> bool:
        """Tell whether there is something to read."""
        return bool(select.select([self.descriptor], [], [], timeout)[0])

    def read(self) -> list[Event]:
        """Return the events of one read."""
        data = os.read(self.descriptor, 65536)
        if not data:
            raise EOFError
        text = self._decoder.decode(data)
        log("input", text[:EXCERPT])
        self._rest += text
        return list(self._events())

    def _events(self) -> Iterator[Event]:
        while self._rest:
            event, used = self._first()
            if not used:
                return
            self._rest = self._rest[used:]
            yield event

    def _first(self) -> tuple[Event, int]:
        text = self._rest
        if text.startswith(PASTE_BEGINS):
            end = text.find(PASTE_ENDS)
            if end < 0:
                return Key.OTHER, 0
            inside = text[len(PASTE_BEGINS) : end].replace("\r\n", "\n").replace("\r", "\n")
            return Text(inside, pasted=True), end + len(PASTE_ENDS)
        sequence = _SEQUENCE.match(text)
        if sequence:
            return Key.OTHER, sequence.end()
        if text[0] == "\x1b":
            return Key.ESCAPE, 0 if len(text) > 1 and _UNFINISHED.fullmatch(text) else 1
        plain = _PLAIN.match(text)
        if plain:
            return Text(plain.group()), plain.end()
        try:
            return Key(text[0]), 1
        except ValueError:
            return Key.OTHER, 1


def cells(character: str) -> int:
    """Return how many columns a character takes."""
    if unicodedata.combining(character) or unicodedata.category(character) in ("Mn", "Cf", "Cc"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in _WIDE else 1


def wrapped(text: str, columns: int) -> list[str]:
    """Return the text as rows of at most so many columns; a wide character is never cut."""
    rows = []
    for line in text.split("\n"):
        row, used = "", 0
        for character in line:
            wide = cells(character)
            if used + wide > columns:
                rows.append(row)
                row, used = "", 0
            row, used = row + character, used + wide
        rows.append(row)
    return rows


def width(row: str) -> int:
    return sum(map(cells, row))


def shown(text: str) -> str:
    """Return the text as a program may draw it: nothing in it acts on the terminal."""
    return "".join(
        character if character == "\n" or unicodedata.category(character) != "Cc" else "�"
        for character in text.replace("\t", "    ")
    )


def size(descriptor: int) -> tuple[int, int]:
    """Return the rows and columns of the terminal."""
    answer = fcntl.ioctl(descriptor, termios.TIOCGWINSZ, b"\0" * 8)
    rows, columns = struct.unpack("HHHH", answer)[:2]
    return rows or 24, columns or 80
