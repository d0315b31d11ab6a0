"""What a session printed, as text a person can read.

Reads a file from its end: the last lines of a gigabyte cost no more than those of a page.
"""

from __future__ import annotations

import os
import re

from gascity.screens.sequences import without_sequences

MOST = 16 * 1024 * 1024  # bytes looked at, however many lines are wanted
_BLOCK = 64 * 1024
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def tail(path: str, lines: int) -> str:
    """Return the last lines of a file, all that is kept when `lines` is not positive.

    What a carriage return overwrote is left out, and so are escape sequences. Raises
    FileNotFoundError.
    """
    with open(path, "rb", buffering=0) as file:
        text = readable(_last_bytes(file.fileno(), lines))
    rows = text.split("\n")
    if rows[-1] == "":
        rows.pop()
    return "\n".join(rows[-lines:] if lines > 0 else rows)


def clear(path: str) -> None:
    """Empty the file, without pretending that something was printed now."""
    with open(path, "r+b", buffering=0) as file:
        before = os.fstat(file.fileno())
        file.truncate(0)
        os.utime(file.fileno(), ns=(before.st_atime_ns, before.st_mtime_ns))


def readable(raw: bytes) -> str:
    """Return text as it would look on paper."""
    text = without_sequences(raw.decode("utf-8", errors="replace")).replace("\r\n", "\n")
    if "\r" in text:
        text = "\n".join(_overwritten(line) for line in text.split("\n"))
    return _CONTROLS.sub("", text)


def _overwritten(line: str) -> str:
    return next((part for part in reversed(line.split("\r")) if part), "")


def _last_bytes(descriptor: int, lines: int) -> bytes:
    end = os.fstat(descriptor).st_size
    blocks: list[bytes] = []
    found = size = 0
    while end > 0 and size < MOST and (lines <= 0 or found <= lines):
        start = max(0, end - _BLOCK)
        block = os.pread(descriptor, end - start, start)
        blocks.append(block)
        found += block.count(b"\n")
        size += len(block)
        end = start
    return b"".join(reversed(blocks))
