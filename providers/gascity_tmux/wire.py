"""What comes back over a control connection: blocks, which are answers, and notices.

Each command is answered by a block between `%begin` and `%end` (or `%error`); in between come
notices, which begin with `%` as well. Blocks of commands that this connection did not send are not
ours.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from gascity.session.tmux.wire import Block

_OURS = b"1"


@dataclass(frozen=True, slots=True)
class Notice:
    """Something tmux says unasked, with what belongs to it."""

    kind: str
    rest: str


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
