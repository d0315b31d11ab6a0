"""What is wrong with a city, in sentences with a place.

A problem carries the line it is about, already harmless: cut to a width that fits a terminal,
without control characters, without the values of keys that look secret.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from gascity.errors import ConfigError

MOST_SHOWN = 100


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing to repair. `line` and `column` count from 1; line 0 means the file as a whole.

    `caret` is how many terminal cells of `source_line` come before the place.
    """

    file: str
    line: int
    column: int
    message: str
    source_line: str = ""
    hint: str = ""
    caret: int = 0

    def __str__(self) -> str:
        where = f"{self.file}:{self.line}:{self.column}" if self.line else self.file
        rows = [visible(f"{where}: {self.message}")]
        if self.source_line:
            rows += [f"    {self.source_line}", f"    {' ' * self.caret}^"]
        if self.hint:
            rows.append(f"    hint: {visible(self.hint)}")
        return "\n".join(rows)


class ConfigProblems(ConfigError):
    """The city cannot be used; `problems` says why, sorted by place.

    At most `MOST_SHOWN` are kept; `more` counts the others. `sources` are the files that were read
    or looked for, as `City.sources` has them.
    """

    def __init__(
        self, problems: Sequence[Problem], more: int = 0, sources: Sequence[str] = ()
    ) -> None:
        ranked = sorted(problems, key=lambda p: (p.file, p.line, p.column, p.message))
        self.problems = tuple(ranked[:MOST_SHOWN])
        self.more = more + len(problems) - len(self.problems)
        self.sources = tuple(sources)
        super().__init__(format_problems(self.problems, self.more))


def format_problems(problems: Iterable[Problem], more: int = 0) -> str:
    """Return the problems as text, each with its line and a caret under the place."""
    rows = [str(problem) for problem in problems]
    if more:
        rows.append(f"... and {more} more")
    return "\n".join(rows)


def visible(text: str) -> str:
    r"""Return `text` with all that a terminal would act on or hide written out, as in `\x1b`."""
    if text.isprintable():
        return text
    return "".join(_visible_character(character) for character in text)


def quoted(text: str, longest: int = 60) -> str:
    """Return `text` in double quotes for a message: harmless, and not too long."""
    cut = text if len(text) <= longest else f"{text[:longest]}..."
    return f'"{visible(cut)}"'


def cells(text: str) -> int:
    """Return how many cells of a terminal a visible text takes."""
    if text.isascii():
        return len(text)
    return sum(_cells(character) for character in text)


def _visible_character(character: str) -> str:
    if character.isprintable():
        return character
    if character == "\t":
        return " "
    number = ord(character)
    if number < 0x100:
        return f"\\x{number:02x}"
    return f"\\u{number:04x}" if number < 0x10000 else f"\\U{number:08x}"


def _cells(character: str) -> int:
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1
