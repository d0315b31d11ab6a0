"""Finding the input box on a screen, and what stands in it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gascity.screens.rules import Box
from gascity.screens.screen import Screen

REACH = 200  # rows from the bottom in which a box can begin: a draft can be long


@dataclass(frozen=True, slots=True)
class Found:
    """An input box: the rows from `begin` to before `end`, and the text in it."""

    begin: int
    end: int
    text: str
    is_empty: bool


def find_box(screen: Screen, box: Box | None) -> Found | None:
    """Return the lowest input box there is on the screen."""
    if box is None:
        return None
    rows = screen.rows
    last = _last_row(rows, footer=box.footer)
    for row in range(last - 1, max(-1, last - REACH), -1):
        if box.first.match(rows[row]) is None:
            continue
        begin = _begin(rows, row, box)
        end = _end(rows, row, last, box)
        if _stands_right(rows, begin, end, box):
            text = _text(rows, begin, end, box)
            typed = screen.typed[begin:end]
            if not typed or box.first.match(typed[0]) is None:
                return Found(begin, end, text, is_empty=_is_empty(text, box))
            plain = _text(screen.typed, begin, end, box)
            return Found(begin, end, text, is_empty=_is_empty(plain, box))
    return None


def _last_row(rows: Sequence[str], *, footer: bool) -> int:
    """Return the row before which a box ends: the last of all, or that above the footer."""
    last = len(rows)
    while footer and last and rows[last - 1]:
        last -= 1
    return last or len(rows)


def _begin(rows: Sequence[str], begin: int, box: Box) -> int:
    while box.block and begin and box.first.match(rows[begin - 1]) is not None:
        begin -= 1
    return begin


def _end(rows: Sequence[str], begin: int, last: int, box: Box) -> int:
    end = begin + 1
    while box.next is not None and end < last and box.next.match(rows[end]) is not None:
        end += 1
    while end > begin + 1 and not rows[end - 1]:
        end -= 1
    return end


def _stands_right(rows: Sequence[str], begin: int, end: int, box: Box) -> bool:
    beneath = [row for row in rows[end:] if row]
    if len(beneath) > box.beneath:
        return False
    if box.unless is not None and any(box.unless.search(row) for row in beneath):
        return False
    if box.below is not None and not (beneath and box.below.search(beneath[0])):
        return False
    if box.above is None:
        return True
    above = next((row for row in reversed(rows[:begin]) if row), "")
    return box.above.search(above) is not None


def _text(rows: Sequence[str], begin: int, end: int, box: Box) -> str:
    texts = []
    for number, row in enumerate(rows[begin : max(end - box.inside, begin + 1)]):
        pattern = box.next if number and box.next is not None else box.first
        matched = pattern.match(row)
        texts.append((matched.groupdict().get("text") or "") if matched else "")
    return "\n".join(texts).strip("\n\t \N{NO-BREAK SPACE}")


def _is_empty(text: str, box: Box) -> bool:
    return not text or any(pattern.search(text) for pattern in box.empty)
