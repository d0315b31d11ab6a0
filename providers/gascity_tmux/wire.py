"""What goes over a control connection: command lines there, blocks and notices back.

A line of commands is text for tmux's own parser, so everything that is not ours is quoted. Each
command is answered by a block between `%begin` and `%end` (or `%error`); in between come notices,
which begin with `%` as well. Blocks of commands that this connection did not send are not ours.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_PLAIN = re.compile(r"[A-Za-z0-9_@%:.,/+=-]+")
_SPECIAL = re.compile(rb"[\x00-\x1f\x7f\xff\"\\$~]")
_OURS = b"1"


@dataclass(frozen=True, slots=True)
class Block:
    """The answer to one command."""

    ok: bool
    lines: tuple[bytes, ...]

    @property
    def text(self) -> str:
        """The answer as text."""
        return b"\n".join(self.lines).decode(errors="replace")


@dataclass(frozen=True, slots=True)
class Notice:
    """Something tmux says unasked, with what belongs to it."""

    kind: str
    rest: str


def command(*words: str | int) -> str:
    """Return one command with its words quoted where they must be."""
    return " ".join(quote(str(word)) for word in words)


def quote(word: str) -> str:
    r"""Return a word for tmux's parser, on one line whatever is in it.

    In double quotes the parser knows backslashes; control characters are written in octal.
    """
    if _PLAIN.fullmatch(word) and not word.startswith("%") and "=" not in word[:1]:
        return word
    raw = word.encode(errors="surrogateescape")
    return '"' + _SPECIAL.sub(_escaped, raw).decode(errors="surrogateescape") + '"'


def _escaped(found: re.Match[bytes]) -> bytes:
    byte = found.group()
    return b"\\" + byte if byte in b'"\\$~' else b"\\%03o" % byte[0]


class Parser:
    """Turns bytes into blocks and notices, whichever way they are cut."""

    def __init__(self) -> None:
        self._rest = b""
        self._guard: bytes | None = None
        self._lines: list[bytes] = []

    def feed(self, data: bytes) -> Iterator[Block | Notice]:
        """Yield what is complete now."""
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in lines:
            if self._guard is None:
                if line.startswith(b"%begin "):
                    self._guard, self._lines = line[7:], []
                elif line.startswith(b"%"):
                    kind, _, rest = line[1:].decode(errors="replace").partition(" ")
                    yield Notice(kind, rest)
                else:
                    yield Notice("", line.decode(errors="replace"))
            elif line in (b"%end " + self._guard, b"%error " + self._guard):
                ours = self._guard.rpartition(b" ")[2] == _OURS
                self._guard = None
                if ours:
                    yield Block(line.startswith(b"%end "), tuple(self._lines))
            else:
                self._lines.append(line)
