"""The line in which runs wait for a place, over all processes of a home: first come, first served.

Everybody has a ticket: a file with a number, which its owner holds a lock on. The kernel gives the
lock back at any death, so a dead one leaves the line at once. Numbers only rise, and a ticket is
there before the next number is given; so whoever has fewer living tickets before it than there are
places may run, and nobody has to be told. Only who waits looks, a few times a second when it is
one of the next.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import IO

from gascity.errors import GascityError
from gascity.runs.context import Cancel
from gascity.runs.locks import lock

LINE = ".line"
NEXT = ".next"  # holds the next number, and a lock for who takes it
LOOK = 0.15  # seconds between two looks of who waits, and is one of the next
NEXT_FEW = 8  # who stands further behind looks less often, as far as it has to go
RAREST = 2.0  # seconds between two looks

Told = Callable[[int], None]


def standing(before: int) -> str:
    """Return where somebody stands who waits, in words."""
    return f"stands in line, as number {before}"


class LeftLine(GascityError):
    """Whoever waited was told to end, for this reason."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"it left the line: {reason}")
        self.reason = reason


@dataclass(frozen=True, slots=True)
class Line:
    """The line of a home, whose projects lie in `projects`, with so many places; 0 for no limit.

    `now` tells how many places there are by now, where that can change.
    """

    projects: str
    places: int
    now: Callable[[], int] | None = None

    @contextlib.contextmanager
    def place(self, cancel: Cancel, waits: Told = lambda _: None) -> Iterator[None]:
        """Wait for a place, and have it for as long as this lasts.

        `waits` is told how many are before it, whenever that is another number and not its turn.
        Raises LeftLine when it is cancelled before, GascityError when nothing can be written.
        """
        if not self._limit():
            yield
            return
        with self._told():
            number, ticket = self._enter(cancel)
        try:
            with self._told():
                self._await_turn(number, cancel, waits)
            yield
        finally:
            with contextlib.suppress(OSError):
                os.unlink(os.path.join(self._folder, str(number)))
            ticket.close()

    @property
    def _folder(self) -> str:
        return os.path.join(self.projects, LINE)

    def _limit(self) -> int:
        return self.places if self.now is None else self.now()

    @contextlib.contextmanager
    def _told(self) -> Iterator[None]:
        try:
            yield
        except OSError as problem:
            why = problem.strerror or str(problem)
            raise GascityError(f"no place can be taken in {self._folder}: {why}") from problem

    def _await_turn(self, number: int, cancel: Cancel, waits: Told) -> None:
        told = 0
        while True:
            before = sum(1 for each in self._numbers() if each < number and self._lives(each))
            limit = self._limit()
            place = before - limit + 1
            if not limit or place <= 0:
                return
            if place != told:
                waits(place)
                told = place
            if cancel.wait(min(LOOK * max(1.0, place / NEXT_FEW), RAREST)):
                raise LeftLine(cancel.reason)

    def _numbers(self) -> list[int]:
        """Return the tickets there are; none where somebody threw the folder away."""
        try:
            names = os.listdir(self._folder)
        except FileNotFoundError:
            return []
        return sorted(int(name) for name in names if name.isdecimal())

    def _lives(self, number: int) -> bool:
        """Tell whether somebody holds a ticket; one that nobody holds is thrown away."""
        path = os.path.join(self._folder, str(number))
        try:
            with open(path, "rb") as ticket:
                if not lock(ticket, shared=True):
                    return True
                os.unlink(path)
        except FileNotFoundError:
            pass
        return False

    def _enter(self, cancel: Cancel) -> tuple[int, IO[bytes]]:
        """Take a ticket. Raises OSError, and LeftLine when it is cancelled before there is one."""
        os.makedirs(self._folder, mode=0o700, exist_ok=True)
        path = os.path.join(self._folder, NEXT)
        with open(os.open(path, os.O_RDWR | os.O_CREAT, 0o600), "r+b") as counter:
            while not lock(counter):
                if cancel.wait(LOOK / 10):
                    raise LeftLine(cancel.reason)
            said = counter.read(32).strip()
            highest = max(self._numbers(), default=0)  # the counter may have been lost
            number = max(int(said) if said.isdigit() else 0, highest + 1)
            counter.seek(0)
            counter.write(f"{number + 1}\n".encode())
            counter.flush()
            descriptor, beside = tempfile.mkstemp(dir=self._folder, prefix=".new-")
            ticket = open(descriptor, "wb")  # noqa: SIM115  held for as long as the place
            try:
                ticket.write(f"{os.getpid()} {time.time():.3f}\n".encode())
                ticket.flush()
                lock(ticket)
                os.rename(beside, os.path.join(self._folder, str(number)))
            except OSError:
                ticket.close()
                with contextlib.suppress(OSError):
                    os.unlink(beside)
                raise
            return number, ticket
