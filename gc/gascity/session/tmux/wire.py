"""Commands for tmux as lines of text, and what it answers.

A line of commands is text for tmux's own parser, so everything that is not ours is quoted.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_PLAIN = re.compile(r"[A-Za-z0-9_@%:.,/+=-]+")
_SPECIAL = re.compile(rb"[\x00-\x1f\x7f\xff\"\\$~]")


@dataclass(frozen=True, slots=True)
class Block:
    """The answer to one command."""

    ok: bool
    lines: tuple[bytes, ...]

    @property
    def text(self) -> str:
        """The answer as text."""
        return b"\n".join(self.lines).decode(errors="replace")


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
