"""Server-sent events: what a server says bit by bit.

Lines are split as bytes: U+2028 within a text is no end of a line here, and a character may come
in two parts. A line ends with CR, LF or both, and the first one may begin with a mark of UTF-8.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

BEGINNING = b"\xef\xbb\xbf"
LONGEST = 32 * 1024 * 1024  # bytes of an event


class TooLong(Exception):
    """An event that no server means."""


def events(chunks: Iterable[bytes]) -> Iterator[str]:
    """Yield the data of each event, also of a last one without its blank line.

    Raises TooLong, and what the chunks raise.
    """
    data: list[bytes] = []
    size = 0
    lead = BEGINNING
    for whole in _lines(chunks):
        line, lead = whole.removeprefix(lead), b""
        if not line:
            if data:
                yield _text(data)
            data, size = [], 0
            continue
        name, _, value = line.partition(b":")
        if name == b"data":
            data.append(value.removeprefix(b" "))
            size += len(value)
            if size > LONGEST:
                raise TooLong
    if data:
        yield _text(data)


def _lines(chunks: Iterable[bytes]) -> Iterator[bytes]:
    rest = bytearray()
    half = False  # the last line ended with a CR whose LF may still come
    for chunk in filter(None, chunks):
        text = chunk.removeprefix(b"\n") if half else chunk
        half = chunk.endswith(b"\r")
        first, *others = text.replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")
        rest += first
        for other in others:
            yield bytes(rest)
            rest = bytearray(other)
        if len(rest) > LONGEST:
            raise TooLong
    if rest:
        yield bytes(rest)


def _text(data: list[bytes]) -> str:
    return b"\n".join(data).decode("utf-8", "replace")
