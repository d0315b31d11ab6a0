"""An issue, and where it comes from: a file, the standard input, or GitHub by its `gh` command.

The body is kept as the bytes it is. An issue that has no number on a tracker has 0, which no
tracker gives: a commit that says "fix #1" might close the wrong one.
"""

from __future__ import annotations

import hashlib
import os
import re
from dataclasses import dataclass
from typing import BinaryIO

from gascity.config.problems import quoted
from gascity.errors import UsageError
from gascity.worktrees.repository import slug

LONGEST_TITLE = 200
_LONGEST_KEY = 40
_LARGEST = 64 * 1024 * 1024  # bytes: more is no issue
STDIN = "-"
_SETTINGS = re.compile(r"\A---[ \t]*\r?\n(.*?)^---[ \t]*\r?$", re.DOTALL | re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Issue:
    """One issue. `key` is its name here, as a part of paths and branches."""

    key: str
    number: int
    url: str
    title: str
    body: bytes

    @property
    def text(self) -> str:
        """The body as text; bytes that are none are kept as Python keeps them."""
        return self.body.decode("utf-8", "surrogateescape")


def from_stream(stream: BinaryIO) -> Issue:
    """Return the issue that can be read. Raises UsageError."""
    return _made(stream.read(_LARGEST + 1), "", "")


def is_asked_of_github(word: str) -> bool:
    """Tell whether an issue is named by a number or an address."""
    return bool(re.fullmatch(r"#?[0-9]+", word)) or word.startswith(("http://", "https://"))


def from_file(path: str) -> Issue:
    """Return the issue in a file. Raises UsageError."""
    try:
        with open(path, "rb") as file:
            body = file.read(_LARGEST + 1)
    except OSError as problem:
        hint = "an issue is a file, - for the standard input, or a number or URL for `gh`"
        raise UsageError(f"{quoted(path)}: {problem.strerror}", hint=hint) from None
    stem = os.path.splitext(os.path.basename(path))[0]
    return _made(body, f"file://{os.path.abspath(path)}", stem)


def named(issue: Issue, name: str, number: int | None, url: str) -> Issue:
    """Return the issue with what a person says of it. Raises UsageError."""
    told = issue.number if number is None else number
    given = slug(name, _LONGEST_KEY) if name else ""
    if name and given != name:
        hint = f"{quoted(given)} would do" if given else "letters, digits, _ and single dashes"
        raise UsageError(f"{quoted(name)} is no name for an issue", hint=hint)
    key = given or (str(told) if number is not None else issue.key)
    return Issue(key, told, url or issue.url, issue.title, issue.body)


def title_of(text: str) -> str:
    """Return the first line that says something, without the marks of a heading.

    Where a block of settings between lines of dashes comes first, it is the title in there, or the
    first line after it.
    """
    settings = _SETTINGS.match(text)
    if settings:
        named = re.search(r"^title:(.*)$", settings[1], re.MULTILINE)
        if named and (title := printable(named[1]).strip("\"' ")):
            return title[:LONGEST_TITLE]
        text = text[settings.end() :]
    lines = (printable(line).lstrip("#").strip() for line in text.splitlines())
    return next((line for line in lines if re.search(r"\w", line)), "")[:LONGEST_TITLE]


def printable(text: str) -> str:
    """Return a text on one line, without what no program can be given or no terminal show."""
    shown = "".join(one if one.isprintable() else " " for one in text)
    return " ".join(shown.split())


def _made(body: bytes, url: str, name: str) -> Issue:
    if len(body) > _LARGEST:
        raise UsageError(f"the issue has more than {_LARGEST // 1024 // 1024} MiB")
    title = title_of(body.decode("utf-8", "replace"))
    if not title:
        raise UsageError("the issue says nothing")
    key = slug(name, _LONGEST_KEY) or slug(title.lower(), _LONGEST_KEY)
    return Issue(key or f"issue-{_digest(name or title)}", 0, url, title, body)


def _digest(text: str) -> str:
    """Return a few characters that tell names apart which have no letters that can be in paths."""
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()[:6]
