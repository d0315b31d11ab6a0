r"""Rows with their styles, as `capture-pane -e` gives them.

What a program writes faint into an empty input box is a hint, not a draft. The cell under a drawn
cursor is shown in reverse, so the first letter of a hint may be that instead.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from gascity.screens.sequences import SEQUENCE

_SEQUENCE = re.compile(rf"\x1b\[(?P<style>[0-9;:]*)m|{SEQUENCE.pattern}|[\x0e\x0f]")
_FAINT, _REVERSE = "faint", "reverse"
_ON = {"2": _FAINT, "7": _REVERSE}
_OFF = {"22": _FAINT, "27": _REVERSE}


def read_rows(lines: Iterable[bytes]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the rows as they stand there, and the same with blanks for all that is faint."""
    rows, typed = [], []
    styles: frozenset[str] = frozenset()
    for line in lines:
        pieces, styles = _pieces(line.decode(errors="replace"), styles)
        rows.append("".join(text for text, _ in pieces).rstrip(" \t\r"))
        typed.append("".join(_typed(pieces)).rstrip(" \t\r"))
    while rows and not rows[-1]:
        rows.pop()
        typed.pop()
    return tuple(rows), tuple(typed)


def _pieces(
    line: str, styles: frozenset[str]
) -> tuple[list[tuple[str, frozenset[str]]], frozenset[str]]:
    pieces = []
    at = 0
    for found in _SEQUENCE.finditer(line):
        if found.start() > at:
            pieces.append((line[at : found.start()], styles))
        at = found.end()
        if found["style"] is not None:
            styles = _after(styles, found["style"])
    if at < len(line):
        pieces.append((line[at:], styles))
    return pieces, styles


def _typed(pieces: list[tuple[str, frozenset[str]]]) -> Iterable[str]:
    for number, (text, styles) in enumerate(pieces):
        following = pieces[number + 1][1] if number + 1 < len(pieces) else frozenset()
        drawn_cursor = _REVERSE in styles and len(text) == 1 and _FAINT in following
        yield " " * len(text) if _FAINT in styles or drawn_cursor else text


def _after(styles: frozenset[str], codes: str) -> frozenset[str]:
    """Return the styles after a sequence; the numbers of a colour are no styles."""
    numbers = codes.split(";")
    at = 0
    while at < len(numbers):
        code = numbers[at].lstrip("0")
        if code in ("38", "48", "58"):
            at += 4 if numbers[at + 1 : at + 2] == ["2"] else 2
        elif not code:
            styles = frozenset()
        elif code in _ON:
            styles |= {_ON[code]}
        elif code in _OFF:
            styles -= {_OFF[code]}
        at += 1
    return styles
