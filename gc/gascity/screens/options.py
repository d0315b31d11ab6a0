"""The options of a dialog, read from a screen.

A menu is the lowest group of rows of which exactly one carries a cursor. What a row looks like is
decided in `gascity.screens.lines`; here rows become options.

The reader may take too much for an option: a row of the question, the second row of a long label.
That does no harm, because the cursor never stands on such a row, and nothing is chosen but what the
cursor is seen on. It must not take a menu that is only quoted for the real one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from gascity.screens.lines import Line, could_wrap, goes_on, is_full, read_lines
from gascity.screens.screen import Screen

REACH = 14  # rows with text that can stand beneath a menu
NEAR = 6  # the same, for a menu without numbers
APART = 2  # empty rows that can stand between two options
LONG = 8  # rows with text that one option can have

_NO = re.compile(
    r"\b(?:no|not|never|without|cannot|refuse|reject|decline|"
    r"\w+n['\N{RIGHT SINGLE QUOTATION MARK}]t)\b",
    re.IGNORECASE,
)
_WORD = re.compile(r"[^\W\d_]{2}")
_SIGNS = " '\"([-✔✓✗"
_SAYS_NO = re.compile(r"no|n.{1,2}t\b|never|cannot|refuse|reject|decline", re.IGNORECASE)
_PLAIN_NO = re.compile(r"^\W*no\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Option:
    """One thing to choose: its label, joined from `parts`, its first row, its number if it has one.

    `parts` are the rows of the label, without what stands before and beneath them; `cut` says that
    the terminal broke it where it is, perhaps within a word.
    """

    label: str
    row: int
    number: int | None = None
    parts: tuple[str, ...] = ()
    cut: bool = False


@dataclass(frozen=True, slots=True)
class Options:
    """A menu from top to bottom. `cursor` is the place of the option under the cursor.

    `end` is the row after the last of it, `beneath` the texts that stand under it.
    """

    options: tuple[Option, ...]
    cursor: int
    end: int = 0
    beneath: tuple[str, ...] = ()

    @property
    def current(self) -> Option:
        """The option under the cursor."""
        return self.options[self.cursor]

    @property
    def labels(self) -> tuple[str, ...]:
        """All labels, from top to bottom."""
        return tuple(option.label for option in self.options)


def read_options(screen: Screen) -> Options | None:
    """Return the lowest menu of at least two options; None when there is none near the bottom."""
    lines = read_lines(screen.rows)
    found: Options | None = None
    seen = 0
    for at in range(len(lines) - 1, -1, -1):
        line = lines[at]
        if line.glyph:
            menu = _numbered(lines, at) if line.number is not None else _unnumbered(lines, at)
            if menu is not None and (found is None or _surrounds(menu, found)):
                found = menu
        seen += line.is_text
        if seen > REACH:
            break
    if found is None:
        return None
    under = [line for line in lines[found.end :] if line.is_text]
    reach = NEAR if found.current.number is None else REACH
    if len(under) > reach or _is_list(under):
        return None
    return replace(found, beneath=tuple(line.label for line in under))


def find(options: Options, pattern: re.Pattern[str], *, denying: bool = False) -> Option | None:
    """Return the one option whose label matches; None when there is none, or more than one.

    The match begins in the option's first row. An option that says no before it does not count:
    "I do not accept" is no "accept". For `denying`, a plain "No" at the beginning is no hindrance.
    """
    if any(_repeats(text, pattern) for text in options.beneath):
        return None  # the label stands under the menu again: one of the two is only quoted
    found = [option for option in options.options if _matches(option, pattern, denying=denying)]
    return found[0] if len(found) == 1 else None


def _repeats(text: str, pattern: re.Pattern[str]) -> bool:
    hit = pattern.search(text.lstrip(_SIGNS)) or pattern.search(text)
    return hit is not None and _WORD.search(hit.string[: hit.start()]) is None


def _matches(option: Option, pattern: re.Pattern[str], *, denying: bool) -> bool:
    first = option.parts[0]
    texts = [" ".join(option.parts), *(["".join(option.parts)] if option.cut else [])]
    for text in texts:
        hit = pattern.search(text)
        if hit is None or hit.start() >= len(first):
            continue
        before = _PLAIN_NO.sub("", first[: hit.start()]) if denying else first[: hit.start()]
        if _NO.search(before):
            continue
        if denying or _SAYS_NO.search(pattern.pattern) or not _NO.search(hit[0]):
            return True
    return False


def _surrounds(menu: Options, inner: Options) -> bool:
    """Tell whether what was taken for a menu is the description of an option of this one."""
    numbered = menu.current.number is not None and inner.current.number is None
    return numbered and menu.end > inner.current.row


def _is_list(lines: Sequence[Line]) -> bool:
    """Tell whether two of these rows are numbered like options of another menu."""
    numbered = [line for line in lines if line.number is not None]
    return any(
        below.style == above.style and below.number == (above.number or 0) + 1
        for above, below in pairwise(numbered)
    )


# --- menus with numbers: the numbers tell where an option begins


def _numbered(lines: Sequence[Line], at: int) -> Options | None:
    above = list(_next_numbers(lines, at, -1))[::-1]
    below = list(_next_numbers(lines, at, +1))
    rows = [*above, at, *below]
    if len(rows) < 2 or any(lines[row].glyph for row in [*above, *below]):
        return None
    options = []
    end = at
    for row, following in zip(rows, [*rows[1:], len(lines)], strict=True):
        parts, end = _parts(lines, row, following)
        options.append(_option(lines, row, parts))
    return Options(tuple(options), len(above), end)


def _next_numbers(lines: Sequence[Line], at: int, step: int) -> Iterator[int]:
    """Yield the rows of the options before or after the one at `at`, nearest first."""
    cursor = lines[at]
    wanted = (cursor.number or 0) + step
    texts = empty = 0
    row = at + step
    while 0 <= row < len(lines) and texts <= LONG and empty <= APART and wanted >= 0:
        line = lines[row]
        if line.is_border:
            return
        if not line.is_text:
            empty += 1
        elif line.number == wanted and line.style == cursor.style and _aligned(line, cursor):
            yield row
            wanted += step
            texts = empty = 0
        elif _aligned(line, cursor) or _is_outside(lines, row, cursor.number_column):
            return  # another list, or what stands before or under the menu
        else:
            texts, empty = texts + 1, 0
        row += step


def _aligned(line: Line, cursor: Line) -> bool:
    if line.number is None:
        return False
    return cursor.number_column == line.number_column or cursor.number_end == line.number_end


def _is_outside(lines: Sequence[Line], row: int, column: int) -> bool:
    """Tell whether a row begins left of a column, and not because the terminal broke the last."""
    return lines[row].column < column and not (row and is_full(lines[row - 1]))


def _parts(lines: Sequence[Line], row: int, following: int) -> tuple[list[int], int]:
    """Return the rows of the label that begins at `row`, and where the option ends."""
    first = lines[row]
    parts = [row]
    end = row + 1
    while end < following and lines[end].is_text and not lines[end].is_border:
        line, before = lines[end], lines[end - 1]
        deeper = line.column >= first.label_column
        wrapped = could_wrap(before, line) or is_full(before)
        if not deeper and not wrapped:
            break
        if parts[-1] == end - 1 and (wrapped or (deeper and goes_on(before, line))):
            parts.append(end)
        end += 1
    return parts, end


def _option(lines: Sequence[Line], row: int, parts: Sequence[int]) -> Option:
    first = lines[row]
    texts = [first.label, *(lines[part].text.strip() for part in parts[1:])]
    cut = any(lines[part].column < first.label_column for part in parts[1:])
    return Option(" ".join(texts), row, first.number, tuple(texts), cut)


# --- menus without numbers: what stands in the column of the labels is an option


def _unnumbered(lines: Sequence[Line], at: int) -> Options | None:
    top = _edge(lines, at, -1)
    bottom = _edge(lines, at, +1)
    rows = [row for row in range(top, bottom + 1) if lines[row].is_text]
    if any(_is_rival(lines[row], lines[at]) for row in rows if row != at):
        return None
    begins = [row for row in rows if _begins(lines, row, at)]
    begins = _dense(lines, begins, at)
    if len(begins) < 2:
        return None
    options = []
    end = at
    for row, following in zip(begins, [*begins[1:], bottom + 1], strict=True):
        parts, end = _parts(lines, row, following)
        options.append(_option(lines, row, parts))
    return Options(tuple(options), begins.index(at), end)


def _edge(lines: Sequence[Line], at: int, step: int) -> int:
    """Return the last row, upwards or downwards, that may belong to the menu."""
    cursor = lines[at]
    last, empty, row = at, 0, at + step
    while 0 <= row < len(lines) and empty <= APART:
        line = lines[row]
        if line.is_border:
            break
        if not line.is_text:
            empty += 1
        else:
            plain = not line.mark and not line.glyph
            if plain and _is_outside(lines, row, cursor.label_column):
                break
            if step < 0 and line.text.endswith(("?", ":")):
                break  # the question
            last, empty = row, 0
        row += step
    return last


def _is_rival(line: Line, cursor: Line) -> bool:
    """Tell whether this row has a cursor too. A filled mark behind the cursor's place is none."""
    return bool(line.glyph) and line.column <= cursor.column


def _begins(lines: Sequence[Line], row: int, at: int) -> bool:
    if row == at:
        return True
    line, cursor, before = lines[row], lines[at], lines[row - 1] if row else None
    if line.label_column != cursor.label_column:
        return False
    if line.mark or line.glyph or before is None or not before.is_text:
        return True
    lowers = line.label[:1].islower() and not cursor.label[:1].islower()
    return not (lowers or (could_wrap(before, line) and goes_on(before, line)))


def _dense(lines: Sequence[Line], begins: list[int], at: int) -> list[int]:
    """Where the cursor's neighbour follows without an empty row, an empty row ends the menu."""
    here = begins.index(at)

    def joined(number: int) -> bool:
        between = range(begins[number], begins[number + 1])
        return all(lines[row].is_text for row in between)

    low = high = here
    while low > 0 and joined(low - 1):
        low -= 1
    while high < len(begins) - 1 and joined(high):
        high += 1
    return begins[low : high + 1] if low != high else begins
