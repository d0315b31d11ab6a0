"""What is new between two looks at the end of a growing text."""

from __future__ import annotations


def added(before: str, now: str) -> str:
    """Return the part of `now` that comes after what `before` showed.

    Both are the last lines of one text. Nothing in common means that all of `now` is new.
    """
    if now.startswith(before):
        return now[len(before) :]
    start = before.find("\n") + 1
    while start:
        if now.startswith(before[start:]) and start < len(before):
            return now[len(before) - start :]
        start = before.find("\n", start) + 1
    return now
