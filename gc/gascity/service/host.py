"""What a service manager is asked for, and the running of its commands with a time limit."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from gascity.errors import Exit, GascityError, NotInstalled, Unanswered
from gascity.service.declared import Service

TIMEOUT = 30.0
START_TIMEOUT = 120.0  # above what a unit gives its start: systemd says more about it than we can


class Unmanaged(GascityError):
    """The service manager cannot be asked: nothing may be concluded about its services."""

    exit_code = Exit.MISSING


@dataclass(frozen=True, slots=True)
class Standing:
    """How a service stands, as its manager says. `pid` is 0 while it does not run."""

    enabled: bool
    active: bool
    pid: int
    says: str


class Host(Protocol):
    """A service manager, and how it wants its files. All calls but the pure ones keep a limit."""

    kind: str
    folder: str
    prefix: str
    suffix: str

    def file_name(self, name: str) -> str:
        """Return what the file of a service is called."""
        ...

    def text(self, service: Service) -> str:
        """Return what is written to it."""
        ...

    def city_of(self, text: str) -> str | None:
        """Return the folder of the city such a file is for."""
        ...

    def essence(self, text: str) -> str:
        """Return such a file without what depends on the shell it was installed from."""
        ...

    def enable(self, name: str) -> None:
        """Have it read, and started at every login. Raises Unmanaged."""
        ...

    def start(self, name: str) -> None:
        """Start it now, if it does not run. Raises Unmanaged."""
        ...

    def disable(self, name: str) -> None:
        """Stop it, and do not start it again. Raises Unmanaged."""
        ...

    def forget(self, name: str) -> None:
        """Clear away what is left of it after its file is gone. Raises Unmanaged."""
        ...

    def standing(self, name: str) -> Standing:
        """Return how it stands. Raises Unmanaged."""
        ...

    def danger(self, name: str, text: str) -> str:
        """Say why the agents would end with the service, or nothing when they would not."""
        ...

    def lingers(self) -> bool:
        """Tell whether it goes on when its user logs out; true when that is not known."""
        ...

    def by_hand(self, verb: str, name: str) -> str:
        """Return the command by which a person does it.

        `enable`, `go` (enable and start), `start`, `restart` or `log`.
        """
        ...


@dataclass(frozen=True, slots=True)
class Ran:
    """What a command ended with."""

    code: int
    out: str
    complaint: str


def run(words: Sequence[str], *, timeout: float = TIMEOUT) -> Ran:
    """Run a command to its end. Raises NotInstalled, and Unanswered when it takes too long."""
    try:
        done = subprocess.run(
            words,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=timeout,
            check=False,
        )
    except FileNotFoundError:
        raise NotInstalled(f"there is no {words[0]} on the PATH") from None
    except OSError as problem:
        raise NotInstalled(f"{words[0]} cannot be run: {problem.strerror}") from problem
    except subprocess.TimeoutExpired:
        raise Unanswered(f"`{' '.join(words)}` did not end within {timeout:g} s") from None
    complaint = " ".join((done.stderr or done.stdout).split())
    return Ran(done.returncode, done.stdout, complaint[:500])
