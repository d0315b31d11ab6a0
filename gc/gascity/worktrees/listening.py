"""Hearing what several agents print, while they print it.

Each agent writes to files of its own, and nothing tells when: whoever listens looks again and
again. A look reads what is there and does not wait. All that is read of a file is passed on: the
`raw` bytes of what was heard from it, put together, are the file.

A tool that prints JSON of its own is heard by what it says. Its other lines are for whoever
searches for a fault, so they are of the level `debug`.
"""

from __future__ import annotations

import contextlib
import os
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import BinaryIO

from gascity.core.oneshot import Format
from gascity.runs.folder import open_file
from gascity.runs.streams import Final, SoFar, said_in
from gascity.runs.tail import PIECE, Lines
from gascity.worktrees.loglines import LogLine, complaint, logged, readable, recognise, written

LONGEST = 1024 * 1024  # bytes of a line that are kept together
ROUND = 256 * 1024  # bytes of one file that are read before another has its turn


@dataclass(frozen=True, slots=True)
class Source:
    """A file that an agent prints to. `stream` is a name for it, such as `stdout`."""

    agent: str
    stream: str
    path: str
    form: Format = Format.TEXT


@dataclass(frozen=True, slots=True)
class Heard:
    """Something an agent said, and the bytes it said it with.

    Where a line says several things, the first has its bytes; where several lines say one, it has
    those of all.
    """

    agent: str
    stream: str
    line: LogLine
    raw: bytes


class Listener:
    """Hears every source that was added, each from its beginning, until its agent is finished.

    A file that is not there, that cannot be read or that is no file says nothing, and is looked for
    again. One that was emptied is read from its beginning.
    """

    def __init__(self) -> None:
        self._ears: list[_Ear] = []

    def add(self, source: Source) -> None:
        """Listen to one more file, which need not exist yet."""
        self._ears.append(_Ear(source))

    def hear(self) -> Iterator[Heard]:
        """Yield what was printed in whole lines since the last call, in order for each file.

        The files take turns. It ends with what was there when it began, however loud they are;
        what is not taken comes at the next call.
        """
        loud = list(self._ears)
        for ear in loud:
            ear.look()
        while loud := [ear for ear in loud if ear.has_more()]:
            for ear in loud:
                yield from ear.hear()

    def finish(self, agent: str) -> Iterator[Heard]:
        """Yield the rest of what an agent printed, with a last line that has no end; forget it."""
        for ear in [ear for ear in self._ears if ear.source.agent == agent]:
            try:
                ear.look()
                while ear.has_more():
                    yield from ear.hear()
                yield from ear.end()
            finally:
                ear.close()
                self._ears.remove(ear)

    def close(self) -> None:
        """Listen to nobody any more; safe to call twice."""
        for ear in self._ears:
            ear.close()
        self._ears.clear()


class _Ear:
    """Reads one file, as far as it went when it was last looked at."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self._file: BinaryIO | None = None
        self._at = 0
        self._size = 0
        self._lines = Lines(LONGEST)
        self._whole: deque[bytes] = deque()  # lines that were read and not yet heard
        self._sense = _Sense(source)

    def look(self) -> None:
        """See how much there is to read."""
        with contextlib.suppress(OSError):
            self._file = self._file or open_file(self.source.path)
            self._size = os.fstat(self._file.fileno()).st_size
            if self._size < self._at:  # `> /dev/stdout` in a script of the shell does that
                self._at = 0

    def has_more(self) -> bool:
        """Tell whether there is more to hear than was heard."""
        return bool(self._whole) or self._at < self._size

    def hear(self) -> Iterator[Heard]:
        """Yield what one round brings."""
        end = self._at + ROUND
        while True:
            while self._whole:
                yield from self._sense.of(self._whole.popleft())
            if not (piece := self._read(min(PIECE, end - self._at))):
                return
            self._whole.extend(self._lines.add(piece))

    def end(self) -> Iterator[Heard]:
        """Yield what was begun and never ended."""
        if rest := self._lines.end():
            yield from self._sense.of(rest)
        yield from self._sense.end()

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
        self._file, self._size = None, 0
        self._whole.clear()

    def _read(self, most: int) -> bytes:
        most = min(most, self._size - self._at)
        if self._file is None or most <= 0:
            return b""
        try:
            piece = os.pread(self._file.fileno(), most, self._at)
        except OSError:
            piece = b""
        self._at += len(piece)
        if not piece:  # what was there is not: the next look tells more
            self._size = self._at
        return piece


class _Sense:
    """Makes sense of the lines of one source.

    A tool that prints a message in parts is heard by lines of it, since parts end anywhere. What
    is not a line yet is held until the message goes on, or something else is printed.
    """

    def __init__(self, source: Source) -> None:
        self._source = source
        self._so_far = SoFar()
        self._held = ""
        self._held_raw = b""

    def of(self, line: bytes) -> Iterator[Heard]:
        """Yield what a line says, unless it is held; a line that says nothing new is heard, too."""
        if self._source.form is Format.TEXT:
            yield self._heard(recognise(line), line)
            return
        said = said_in(self._source.form, line)
        if isinstance(said, Final):
            yield from self.end()
            yield from self._each([] if self._so_far.is_last(said) else [said.text], line)
            return
        new = [self._so_far.take(piece) for piece in said]
        texts = [text for _, text in new if text]
        is_part = any(piece.added for piece in said)
        if not is_part or any(between for between, _ in new):
            yield from self.end()
        yield from self._hold("".join(texts), line) if is_part else self._each(texts, line)

    def end(self) -> Iterator[Heard]:
        """Yield what was held."""
        if self._held or self._held_raw:
            yield self._release(self._held, "")

    def _each(self, texts: Iterable[str], line: bytes) -> Iterator[Heard]:
        raw = line
        for text in texts:
            yield self._heard(LogLine("info", readable(text)), raw)
            raw = b""
        if raw:
            told = complaint(line) or logged(line) or LogLine("debug", written(line))
            yield self._heard(told, line)

    def _hold(self, text: str, line: bytes) -> Iterator[Heard]:
        self._held += readable(text)
        self._held_raw += line
        whole, end, rest = self._held.rpartition("\n")
        if end:
            yield self._release(whole, rest)
        elif len(self._held_raw) > PIECE:  # no line of a text is that long
            yield from self.end()

    def _release(self, text: str, rest: str) -> Heard:
        raw, self._held_raw, self._held = self._held_raw, b"", rest
        return self._heard(LogLine("info", text), raw)

    def _heard(self, line: LogLine, raw: bytes) -> Heard:
        return Heard(self._source.agent, self._source.stream, line, raw)
