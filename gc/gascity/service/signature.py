"""Knowing whether a file is as `gc` wrote it.

One line of the file holds the hash of all others. A file without such a line is somebody else's;
one whose hash is wrong was edited by a person, and is not overwritten unasked.
"""

from __future__ import annotations

import hashlib
import re

_LINE = re.compile(r"^(?:# |<!-- )written by gc, sha256 ([0-9a-f]{64})(?: -->)?\n", re.MULTILINE)


def words(rest: str) -> str:
    """Return the words that sign the rest of a file."""
    digest = hashlib.sha256(rest.encode("utf-8", "surrogateescape")).hexdigest()
    return f"written by gc, sha256 {digest}"


def is_signed(text: str) -> bool:
    """Tell whether `gc` wrote the file, whatever became of it."""
    return _LINE.search(text) is not None


def is_untouched(text: str) -> bool:
    """Tell whether the file is as `gc` wrote it."""
    found = _LINE.search(text)
    return found is not None and found[0].rstrip("\n") in _signed(without(text))


def without(text: str) -> str:
    """Return the file without its signature."""
    return _LINE.sub("", text, count=1)


def _signed(rest: str) -> tuple[str, str]:
    return f"# {words(rest)}", f"<!-- {words(rest)} -->"
