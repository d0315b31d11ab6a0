"""One row of a screen as a row of a menu: cursor, mark, number, label, and the columns they are in.

Columns are counted in cells of the terminal, of which wide characters take two. Frames around a
dialog are taken away, the columns stay as they were.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

CURSORS = "❯›>●▶▸→»◉◆*➤➜‣"  # noqa: RUF001 - the glyphs that programs draw
MARKS = "○◯◇◌◦☐"  # before an option that is not chosen
FRAMES = "│┃║|▌▐┆┊"
LINES = "─━═╌╍┄┅┈┉╭╮╰╯┌┐└┘├┤┬┴┼┏┓┗┛╔╗╚╝+=_-▔▁▀▄"
CORNERS = ("╭", "╰", "┌", "└", "├", "┏", "┗", "╔", "╚")
NARROWEST = 38  # no terminal leaves less room for text
SLACK = 4  # cells that a program may leave free at the right edge

_LEFT = re.compile(rf"^(\s*)[{FRAMES}](?=\s|$)")
_RIGHT = re.compile(rf"\s[{FRAMES}]\s*$")
_ROW = re.compile(
    rf"^(?P<lead>\s*)(?P<glyph>[{re.escape(CURSORS)}](?=[ ]))?(?P<after>\s*)"
    rf"(?P<mark>[{MARKS}●◉◆](?=\s)\s*)?"
    r"(?P<number>(?P<open>[(\[]?)(?P<digits>\d{1,2})(?P<close>[.):\]])\s+)?(?P<label>\S.*)$"
)
_SMALL = re.compile(
    r"(?:[,;(/&\N{EN DASH}-]|\b(?:a|an|and|as|at|but|by|for|from|i|in|into|is|it|my|of|on|or|our|"
    r"that|the|these|this|to|with|you|your))$",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Line:
    """A row without its frame. `column` is where its text begins, `edge` where there is no room."""

    text: str = ""
    edge: int = NARROWEST
    column: int = 0
    glyph: str = ""
    mark: str = ""
    number: int | None = None
    number_column: int = -1
    number_end: int = -1
    style: str = ""
    label: str = ""
    label_column: int = 0
    is_border: bool = False

    @property
    def is_text(self) -> bool:
        """Something stands in it that is not a border."""
        return bool(self.label) and not self.is_border


def read_lines(rows: Sequence[str]) -> list[Line]:
    """Return every row of a screen as a line."""
    width = max([NARROWEST, *map(cells, rows)])
    return [_line(row, width) for row in rows]


def cells(text: str) -> int:
    """Return how many cells of a terminal a text takes."""
    return len(text) if text.isascii() else sum(map(_cells, text))


def could_wrap(before: Line, line: Line) -> bool:
    """Tell whether the first word of `line` would not have fitted behind `before`."""
    word = line.text.split(maxsplit=1)[0] if line.text.strip() else ""
    return cells(before.text) + 1 + cells(word) > before.edge - SLACK


def is_full(line: Line) -> bool:
    """Tell whether the terminal itself broke this row at its edge."""
    return cells(line.text) >= line.edge - 2  # a blank, or half of a wide character, is not seen


def goes_on(before: Line, line: Line) -> bool:
    """Tell whether `line` reads like the rest of a sentence."""
    start = line.text.strip()[:1]
    return start.islower() or start in ").,;" or _SMALL.search(before.text) is not None


def _cells(character: str) -> int:
    if (
        unicodedata.combining(character)
        or character in "\N{ZERO WIDTH JOINER}\N{VARIATION SELECTOR-16}"
    ):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def _line(row: str, width: int) -> Line:
    text, edge = _unframed(row, width)
    bare = text.strip()
    if bare.startswith(CORNERS) or (len(bare) > 2 and not bare.strip(LINES)):
        return Line(text, edge, is_border=True)
    found = _ROW.match(text)
    if found is None:
        return Line(text, edge)
    numbered = found["number"] is not None
    return Line(
        text=text,
        edge=edge,
        column=cells(found["lead"]) if found["glyph"] else cells(found["lead"] + found["after"]),
        glyph=found["glyph"] or "",
        mark=(found["mark"] or "").strip(),
        number=int(found["digits"]) if numbered else None,
        number_column=cells(text[: found.start("number")]) if numbered else -1,
        number_end=cells(text[: found.end("close")]) if numbered else -1,
        style=f"{found['open']}{found['close']}" if numbered else "",
        label=found["label"].rstrip(),
        label_column=cells(text[: found.start("label")]),
    )


def _unframed(row: str, width: int) -> tuple[str, int]:
    """Return a row with blanks in the place of its frames, and where its inside ends."""
    edge = width
    for _ in range(3):  # frames within frames
        left = _LEFT.sub(r"\1 ", row)
        right = _RIGHT.search(left)
        if left == row:
            break
        row = left
        if right is not None:
            row = left[: right.start()]
            edge = cells(left[: right.start()])
    return row.rstrip(), edge
