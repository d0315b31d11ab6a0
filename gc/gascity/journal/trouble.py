"""What SQLite complains about, in one sentence with a way out.

Two kinds of trouble: what may pass (a full disk, another process that writes), where trying again
is right, and what does not (damage), where the file has to be moved away by a person. Nothing is
ever reset here.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
from collections.abc import Iterator

from gascity.errors import GascityError

AWAY = (
    "move it away, with the -wal and -shm files beside it, to begin without its history;"
    " the agents are not affected"
)
RIGHTS = (
    "look at who owns it, the -wal and -shm files beside it and their folder, and at who may write"
)
_PASSING = {
    "SQLITE_FULL": ("the disk is full", "make room: what is not written yet is kept until then"),
    "SQLITE_BUSY": ("another process holds it", "`fuser` with its path shows which one"),
    "SQLITE_LOCKED": ("another process holds it", "`fuser` with its path shows which one"),
    "SQLITE_PROTOCOL": ("another process holds it", "`fuser` with its path shows which one"),
    "SQLITE_READONLY": ("it may only be read", RIGHTS),
    "SQLITE_PERM": ("it may not be used by this user", RIGHTS),
    "SQLITE_CANTOPEN": ("it cannot be opened", RIGHTS),
    "SQLITE_IOERR": ("the disk refuses", "`dmesg` and `df` may tell why"),
    "SQLITE_NOMEM": ("there is no memory left", "end what takes it"),
}


def damaged(path: str, why: str) -> GascityError:
    """Return the error for a file that cannot be read as what it should be."""
    return GascityError(f"{path} cannot be used: {why}", hint=AWAY)


def trouble(path: str, problem: sqlite3.Error) -> GascityError:
    """Return what to tell a person of SQLite's complaint."""
    if os.path.isdir(path):
        return GascityError(
            f"{path} cannot be used: it is a folder, and the journal is a file",
            hint="move it away; the agents are not affected",
        )
    name = getattr(problem, "sqlite_errorname", "")  # what Python itself raises has none
    for code, (what, hint) in _PASSING.items():
        if name.startswith(code):
            return GascityError(f"{path} cannot be used now: {what} ({problem})", hint=hint)
    return damaged(path, str(problem))


@contextlib.contextmanager
def explained(path: str) -> Iterator[None]:
    """Turn what SQLite, the system or a wrong value in a column says into a GascityError."""
    try:
        yield
    except sqlite3.Error as problem:
        raise trouble(path, problem) from problem
    except OSError as problem:
        told = f"{path} cannot be used: {problem.strerror or problem}"
        raise GascityError(told, hint=RIGHTS) from problem
    except (ValueError, TypeError, AttributeError) as problem:
        raise damaged(path, f"it holds what no gc wrote: {problem}") from problem
