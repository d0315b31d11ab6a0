"""Following a file that a run writes, until the run is over: all of it, and nothing twice."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from typing import BinaryIO

from gascity.runs.folder import open_file

LOOK = 0.1  # seconds between two looks: nothing tells when another process writes to a file
PIECE = 64 * 1024  # bytes that are read at once, and the longest that a line is kept together


def follow(path: str, after: int, lives: Callable[[], bool]) -> Iterator[bytes]:
    """Yield what a file holds behind its first `after` bytes, and what is added while `lives`.

    Yields nothing, b"", at each look that finds no more. A file that is not there yet is waited
    for. Raises OSError.
    """
    while (file := _open(path)) is None:
        if not lives():
            return
        yield b""
        time.sleep(LOOK)  # it begins
    with file:
        file.seek(after)
        while True:
            goes_on = lives()  # asked first: what it wrote before it ended is read after that
            while piece := file.read(PIECE):
                yield piece
            if not goes_on:
                return
            yield b""
            time.sleep(LOOK)  # see LOOK


def lines(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """Yield whole lines, each with its end; and b"" for each b"".

    One that is very long comes in several pieces, and one that was never ended comes last.
    """
    found = Lines()
    for piece in pieces:
        if not piece:
            yield b""
        yield from found.add(piece)
    if rest := found.end():
        yield rest


class Lines:
    """Whole lines, each with its end, out of pieces that were cut anywhere.

    A line of more than `longest` bytes comes in several parts, cut between letters of UTF-8 and at
    the same places whatever the pieces were. `longest` is 4 at the least.
    """

    def __init__(self, longest: int = PIECE) -> None:
        self._longest = longest
        self._rest = b""

    def add(self, piece: bytes) -> list[bytes]:
        """Return the lines that end with this piece, and what is whole of a long one."""
        *whole, rest = (self._rest + piece).split(b"\n")
        found = [part for line in whole for part in self._parts(line + b"\n")]
        *parts, self._rest = self._parts(rest)
        return found + parts

    def end(self) -> bytes:
        """Return what was begun and never ended; b"" for nothing."""
        rest, self._rest = self._rest, b""
        return rest

    def _parts(self, line: bytes) -> list[bytes]:
        """Return a line in parts that are not too long; the end of a line does not count."""
        parts, at = [], 0
        while len(line) - line.endswith(b"\n") - at > self._longest:
            cut = _between_letters(line, at + self._longest)
            parts.append(line[at:cut])
            at = cut
        return [*parts, line[at:]]


def _open(path: str) -> BinaryIO | None:
    try:
        return open_file(path)
    except FileNotFoundError:
        return None


def _between_letters(text: bytes, near: int) -> int:
    """Return a place at or shortly before `near` that does not part a letter of UTF-8."""
    starts = (cut for cut in range(near, near - 4, -1) if text[cut] & 0xC0 != 0x80)
    return next(starts, near)
