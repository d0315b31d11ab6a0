"""How much room a text takes on a terminal, and how it is made to fit.

Room is counted in cells: a character of Chinese takes two, a combining accent none. What a terminal
would act on has been written out before (`visible`), so that nothing here can move the cursor.
"""

from __future__ import annotations

from collections.abc import Iterator

_OURS = str.maketrans("", "", "✕◆◔◐●○·→…")  # one cell each: our own signs need no table


def width(text: str) -> int:
    """Return how many cells a text takes."""
    if text.isascii() or text.translate(_OURS).isascii():
        return len(text)
    from rich.cells import cell_len  # 10 ms, for those alone who have such texts

    return cell_len(text)


def padded(text: str, room: int) -> str:
    """Return the text with blanks up to `room` cells."""
    return text + " " * (room - width(text))


def cut(text: str, room: int, dots: str) -> str:
    """Return the text, or as much of its beginning as fits, with `dots` where it was cut."""
    if room <= 0:
        return ""
    if width(text) <= room:
        return text
    dots = dots[:room]
    return _first(text, room - len(dots)).rstrip() + dots


def squeezed(text: str, room: int, dots: str) -> str:
    """Return the text, or its beginning and its end: a number at the end tells names apart."""
    if width(text) <= room:
        return text
    left = room - len(dots)
    if left < 4:
        return cut(text, room, dots)
    end = _first(text[::-1], left // 2)[::-1]
    return _first(text, left - width(end)) + dots + end


def wrapped(text: str, room: int, indent: str = "") -> Iterator[str]:
    """Yield the text in lines of at most `room` cells, all but the first begun with `indent`."""
    if room <= 0:
        return
    if width(indent) >= room:
        indent = ""
    line = ""
    for word in _pieces(text, room - width(indent)):
        joined = f"{line} {word}" if line.strip() else line + word
        if line.strip() and width(joined) > room:
            yield line
            joined = indent + word
        line = joined
    if line:
        yield line


def _pieces(text: str, room: int) -> Iterator[str]:
    """Yield the words of a text; one that is too long for a line in parts."""
    for whole in text.split():
        word = whole
        while width(word) > room:
            first = _first(word, room)
            yield first or "?"  # one that is wider than the terminal
            word = word[len(first) or 1 :]
        if word:
            yield word


def _first(text: str, room: int) -> str:
    """Return the longest beginning that takes at most `room` cells."""
    if text.isascii():
        return text[: max(room, 0)]
    kept = text[: max(room, 0) * 2 + 16]  # accents take no room, and there can be many
    while kept and width(kept) > room:
        kept = kept[:-1]
    return kept
