"""Where the runs of a home are watched over HTTP: what its server leaves there for others to find.

At most one serves a home. Its key is made anew each time, and whoever can read the home has it.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
from collections.abc import Iterator
from dataclasses import dataclass, field

from gascity.errors import CityHeld, GascityError
from gascity.runs.locks import lock
from gascity.runs.places import Home
from gascity.session import pids

ADDRESS = "serve.json"
_LOCK = "serve.lock"
_LARGEST = 10_000  # bytes of it that are read


@dataclass(frozen=True, slots=True)
class Address:
    """Where a server answers, and what it wants to be shown."""

    url: str
    key: str = field(repr=False)


def new_key() -> str:
    """Return a key that nobody guesses."""
    return secrets.token_urlsafe(24)


@contextlib.contextmanager
def serving(home: Home) -> Iterator[None]:
    """Be the one that serves a home; its address goes when this ends.

    Raises CityHeld when there is another, GascityError when nothing can be written there.
    """
    try:
        os.makedirs(home.path, mode=0o700, exist_ok=True)
        descriptor = os.open(os.path.join(home.path, _LOCK), os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as problem:
        why = problem.strerror or str(problem)
        raise GascityError(f"nothing can be written in {home.path}: {why}") from problem
    with open(descriptor, "rb"):
        if not lock(descriptor):
            other = address_of(home)
            where = f" at {other.url}" if other is not None else ""
            raise CityHeld(f"the runs of {home.path} are served{where} already")
        try:
            yield
        finally:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(_path(home))


def publish(home: Home, address: Address) -> None:
    """Leave the address where others find it. Raises GascityError."""
    pid = os.getpid()
    said = {
        "url": address.url,
        "key": address.key,
        "pid": pid,
        "pid_started": pids.table.started(pid),
    }
    beside = f"{_path(home)}.new"
    try:
        descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with open(descriptor, "w", encoding="utf-8") as file:
            file.write(json.dumps(said) + "\n")
        os.replace(beside, _path(home))
    except OSError as problem:
        why = problem.strerror or str(problem)
        raise GascityError(f"nothing can be written in {home.path}: {why}") from problem


def address_of(home: Home) -> Address | None:
    """Return where the runs of a home are served; None when nobody does."""
    try:
        with open(os.open(_path(home), os.O_RDONLY | os.O_NONBLOCK), "rb") as file:
            said = json.loads(file.read(_LARGEST))
    except (OSError, ValueError, RecursionError):
        return None
    match said:
        case {"url": str(url), "key": str(key), "pid": int(pid), "pid_started": str(started)}:
            return Address(url, key) if pids.table.started(pid) == started else None
        case _:
            return None


def _path(home: Home) -> str:
    return os.path.join(home.path, ADDRESS)
