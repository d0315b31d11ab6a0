"""The files a city points to: there, of the right kind, readable.

Paths in a city file are relative to the city's root; the answers are absolute. What is wrong goes
into the report, and the answer is empty then.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path as FilePath

from gascity.config.places import Path
from gascity.config.problems import Problem, quoted
from gascity.config.report import Report
from gascity.config.source import Source

LARGEST = 1024 * 1024

_KINDS = {"file": os.path.isfile, "folder": os.path.isdir, "file or folder": os.path.exists}


class Unreadable(Exception):
    """A text file that cannot be had, with the problem that says why."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.message)
        self.problem = problem


def read_text(path: FilePath, shown: str) -> str:
    """Return a text file's content, its lines ended as on Unix, without a byte order mark.

    Raises Unreadable for what is no regular file, too large, no UTF-8 or holds a NUL. Never reads
    more than `LARGEST` bytes and never waits for a pipe.
    """
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            raise Unreadable(Problem(shown, 0, 0, "is not a file"))
        with path.open("rb") as file:
            data = file.read(LARGEST + 1)
    except FileNotFoundError:
        raise Unreadable(Problem(shown, 0, 0, "there is no such file")) from None
    except (OSError, ValueError) as error:  # ValueError: a name the system cannot have
        why = getattr(error, "strerror", None) or "its name is not possible here"
        raise Unreadable(Problem(shown, 0, 0, f"cannot be read: {why}")) from None
    if len(data) > LARGEST:
        raise Unreadable(Problem(shown, 0, 0, f"is larger than {LARGEST} bytes"))
    return _decoded(data, shown)


def _decoded(data: bytes, shown: str) -> str:
    try:
        text = data.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        before = data[: error.start].decode("utf-8-sig", "replace").replace("\r\n", "\n")
        whole = Source(shown, data.decode("utf-8-sig", "replace").replace("\r\n", "\n"))
        message = f"the byte 0x{data[error.start]:02x} is not UTF-8"
        raise Unreadable(whole.problem(len(before), message)) from None
    if "\0" in text:
        raise Unreadable(Source(shown, text).problem(text.index("\0"), "a NUL character"))
    return text


class CityFiles:
    """Looks files up for one city, each prompt once."""

    def __init__(self, root: str, report: Report) -> None:
        self._root = root
        self._report = report
        self._prompts: dict[str, Source | None] = {}

    def find(self, name: str, kind: str, at: Path) -> str:
        """Return the absolute path of a file, folder, or either; empty for none."""
        if not name:
            return ""
        path = os.path.join(self._root, name)
        self._report.came_from(os.path.normpath(path))
        if _KINDS[kind](path):
            return os.path.normpath(path)
        if os.path.exists(path):
            self._report.at(at, f"{quoted(name)} is not a {kind}")
        else:
            hint = "" if os.path.isabs(name) else "a path begins at the folder of the city file"
            self._report.at(at, f"there is no {kind} {quoted(name)}", hint)
        return ""

    def prompt(self, name: str, at: Path) -> Source | None:
        """Return the prompt file, or None when there is none to have."""
        path = self.find(name, "file", at)
        if not path:
            return None
        if path not in self._prompts:
            try:
                self._prompts[path] = Source(name, read_text(FilePath(path), name))
            except Unreadable as error:
                self._report.add(error.problem)
                self._prompts[path] = None
        return self._prompts[path]
