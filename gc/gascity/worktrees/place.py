"""The folder of one attempt at an issue: its record, and who holds it.

Whoever solves holds a lock for as long as it lives; the kernel gives it back at any death. So an
attempt that is not over and that nobody holds is one whose solver was killed: `taken_over` lets
one of those who come after write down how it ended.

Nothing here makes the folder: of one that was removed meanwhile nothing comes back.
"""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from gascity.awake import Patience
from gascity.errors import Exit, GascityError, NotFound
from gascity.runs import locks
from gascity.runs.folder import RunFolder
from gascity.worktrees import names
from gascity.worktrees.record import BrokenSolve, Solve, from_json, to_json
from gascity.worktrees.worktree import owner_of

RECORD, ISSUE = "solve.json", "issue.md"
SOLVER = ".solver.lock"
NEW = ".new-"  # how the name of an attempt begins that is not written yet, or being removed
_CHANGES, _CHOICE = ".solve.lock", ".choice.lock"
_STOP = ".stop-"  # and the name of an agent: made by who wants it to end
_LARGEST = 4_000_000
_PATIENCE = 2.0  # seconds for those who only look whether it is held, or are about to be done ...
_ENDING = 30.0  # ... and for who has written down that all is over, and holds it still


class SolveHeld(GascityError):
    """A process works on it."""

    exit_code = Exit.HELD


@dataclass(frozen=True, slots=True)
class SolvePlace:
    """The folder of one attempt."""

    home: str
    path: str
    project: str
    issue: str
    attempt: int

    @property
    def name(self) -> str:
        """The issue by its whole name."""
        return f"{self.project}/{self.issue}"

    @property
    def mark(self) -> str:
        """What marks the processes and the worktrees that are made for it."""
        return names.mark(self.home, self.name, self.attempt)

    @property
    def merge_mark(self) -> str:
        """What processes carry that merge a branch of it."""
        return f"{self.mark}:merge"

    def read(self) -> Solve:
        """Return what is written of it. Raises NotFound, BrokenSolve.

        A worktree that somebody else made in its place is none of it.
        """
        where = os.path.join(self.path, RECORD)
        try:
            found = from_json(RunFolder(self.path).read(RECORD, _LARGEST), where)
            return self._without_others(found)
        except (FileNotFoundError, NotADirectoryError):
            raise NotFound(f"there is no attempt {self.attempt} at {self.name}") from None
        except OSError as problem:
            raise BrokenSolve(f"the record {where} cannot be read: {problem.strerror}") from problem

    def change(self, how: Callable[[Solve], Solve]) -> Solve:
        """Change the record with no other change in between; return what it is then.

        Raises NotFound, BrokenSolve, GascityError.
        """
        before = self.read()  # where there is none, no lock is to be made
        with self._written(), locks.locked(os.path.join(self.path, _CHANGES)):
            before = self.read()
            after = how(before)
            if after != before:
                RunFolder(self.path).write(RECORD, to_json(after))
            return after

    def hold(self) -> int:
        """Hold it for as long as the descriptor that this returns is open. Raises SolveHeld."""
        with self._written():
            what = f"attempt {self.attempt} at {self.name} is being worked on"
            hint = f"`gc solve stop {self.issue}` ends all agents at it"
            return self._locked(SOLVER, what, hint, _ENDING if self._is_over() else _PATIENCE)

    def is_held(self) -> bool:
        """Tell whether somebody works on it."""
        return locks.is_locked(os.path.join(self.path, SOLVER))

    def stop(self, agent: str) -> None:
        """Ask who works on it to end one agent, also one that waits. Raises GascityError."""
        flags = os.O_WRONLY | os.O_CREAT
        with self._written():
            os.close(os.open(os.path.join(self.path, f"{_STOP}{agent}"), flags, 0o600))

    def is_to_stop(self, agent: str) -> bool:
        """Tell whether somebody asked for the end of an agent."""
        return os.path.exists(os.path.join(self.path, f"{_STOP}{agent}"))

    @contextlib.contextmanager
    def taken_over(self) -> Iterator[bool]:
        """Hold what nobody holds; yields False where somebody does."""
        try:
            descriptor = -1 if self.is_held() else self.hold()
        except SolveHeld:
            descriptor = -1
        try:
            yield descriptor >= 0
        finally:
            if descriptor >= 0:
                os.close(descriptor)

    def remove(self) -> None:
        """Forget it, with the folders above it that are empty then. Raises OSError."""
        beside = os.path.join(os.path.dirname(self.path), f"{NEW}{self.attempt}-gone")
        os.rename(self.path, beside)  # who is killed from here on leaves what `sweep` removes
        shutil.rmtree(beside)
        remove_empty(os.path.dirname(self.path))

    @contextlib.contextmanager
    def choosing(self) -> Iterator[None]:
        """Hold the right to merge or to remove what was made. Raises SolveHeld, GascityError."""
        with self._chosen(shared=False):
            yield

    @contextlib.contextmanager
    def checking(self) -> Iterator[None]:
        """Keep what was made from being removed. Raises SolveHeld, GascityError."""
        with self._chosen(shared=True):
            yield

    @contextlib.contextmanager
    def _chosen(self, *, shared: bool) -> Iterator[None]:
        what = f"attempt {self.attempt} at {self.name} is being picked from, checked or cleaned"
        with self._written():
            hint = "wait until that is over"
            descriptor = self._locked(_CHOICE, what, hint, _PATIENCE, shared=shared)
        try:
            yield
        finally:
            os.close(descriptor)

    def _is_over(self) -> bool:
        try:
            return bool(self.read().ended)
        except GascityError:
            return False

    def _locked(
        self, name: str, what: str, hint: str, patience: float, *, shared: bool = False
    ) -> int:
        """Lock a file of it; return the descriptor that holds the lock. Raises SolveHeld."""
        descriptor = os.open(os.path.join(self.path, name), os.O_RDWR | os.O_CREAT, 0o600)
        limit = Patience(patience)
        if not locks.lock_by(descriptor, lambda: limit.left() <= 0, shared=shared):
            os.close(descriptor)
            raise SolveHeld(what, hint=hint)
        return descriptor

    def _without_others(self, solve: Solve) -> Solve:
        parts = (
            replace(
                part,
                worktree=os.path.realpath(part.worktree),  # a folder above it may have moved
                gone=part.gone or self._is_anothers(part.worktree),
            )
            for part in solve.parts
        )
        return replace(solve, parts=tuple(parts))

    def _is_anothers(self, worktree: str) -> bool:
        """Tell whether a worktree is of another attempt, which is known by its own record."""
        owner = owner_of(worktree)
        if owner in ("", self.mark):
            return False
        theirs = os.path.join(names.home_in(owner), names.FOLDER, names.attempt_in(owner), RECORD)
        try:
            return not os.path.samefile(theirs, os.path.join(self.path, RECORD))
        except OSError:
            return False  # nobody has it: it is ours, and our home was moved

    @contextlib.contextmanager
    def _written(self) -> Iterator[None]:
        try:
            yield
        except OSError as problem:
            why = problem.strerror or str(problem)
            raise GascityError(f"nothing can be written in {self.path}: {why}") from problem


def remove_empty(folder: str) -> None:
    """Remove the folder of an issue, of its project and of all projects, as far as empty."""
    with contextlib.suppress(OSError):  # there are others
        for _ in range(3):
            os.rmdir(folder)
            folder = os.path.dirname(folder)
