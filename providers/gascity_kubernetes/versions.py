"""Which of two versions of the API is the newer."""

from __future__ import annotations


def is_newer(one: str, other: str) -> bool:
    """Whether a version came after another.

    A version is the API's own word. Where both are numbers, as they are in every Kubernetes, the
    larger is the newer; else any other word is taken for news, and any is newer than none.
    """
    if one.isascii() and one.isdigit() and other.isascii() and other.isdigit():
        return int(one) > int(other)
    return bool(one) and one != other
