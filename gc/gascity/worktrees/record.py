"""What is known of one attempt at an issue, and `solve.json`, which holds it.

Written before anything is made, so that whatever is made can be found: also by who comes after a
kill. Keys that this gc does not know are ignored. A file that cannot be understood raises
BrokenSolve, in one sentence.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from types import UnionType
from typing import Any, get_args, get_type_hints

from gascity.errors import GascityError
from gascity.worktrees.progress import Progress
from gascity.worktrees.repository import Base, Worktree
from gascity.worktrees.verdict import State

VERSION = 1


class BrokenSolve(GascityError):
    """The record of an attempt cannot be read."""


@dataclass(frozen=True, slots=True)
class Part:
    """What one agent does in an attempt. `by` is its backend or command, for people.

    `run` is empty until it began. What is said of its state and progress is final once `over`.
    `gone` says that its worktree was removed, `removing` that this was decided and begun.
    """

    agent: str
    by: str
    branch: str
    worktree: str
    run: str = ""
    over: bool = False
    state: State = State.STARTING
    why: str = ""
    hint: str = ""
    exit_code: int | None = None
    progress: Progress = field(default_factory=Progress)
    removing: bool = False
    gone: bool = False

    @property
    def tree(self) -> Worktree:
        """Its worktree and branch."""
        return Worktree(self.worktree, self.branch)


@dataclass(frozen=True, slots=True)
class Solve:
    """One attempt at an issue. Times are UTC in ISO 8601, durations in seconds.

    `repo` is the repository, `common` the folder that its worktrees share. `solver` is the process
    that carries it out, which `solver_started` makes certain. `picked` is the agent whose branch
    was taken, and `picked_how` says what was done with it.
    """

    project: str
    issue: str
    attempt: int
    repo: str
    common: str
    base: Base
    number: int
    url: str
    title: str
    marker: str
    timeout: float | None
    started: str
    solver: int | None = None
    solver_started: str = ""
    ended: str = ""
    picked: str = ""
    picked_how: str = ""
    parts: tuple[Part, ...] = ()

    @property
    def name(self) -> str:
        """The issue by its whole name."""
        return f"{self.project}/{self.issue}"

    @property
    def branches(self) -> list[str]:
        """The branches of all its agents."""
        return [part.branch for part in self.parts]


def to_json(solve: Solve) -> str:
    """Return the text of `solve.json`."""
    return json.dumps({"version": VERSION, **asdict(solve)}, indent=2) + "\n"


def from_json(text: str, where: str) -> Solve:
    """Return the record in a text. Raises BrokenSolve."""
    try:
        return _solve(json.loads(text))
    except (TypeError, ValueError, RecursionError) as problem:
        why = " ".join(str(problem).split())[:200]
        hint = "`git worktree list` and `git branch` show what is left of it, to be removed by hand"
        raise BrokenSolve(f"the record {where} cannot be read: {why}", hint=hint) from None


def _solve(found: object) -> Solve:
    if not isinstance(found, dict) or found.get("version") != VERSION:
        raise TypeError("it is of another version, or none")
    return Solve(**_values(Solve, found))


def _values(kind: type, found: object) -> dict[str, Any]:  # Any: each is checked against its field
    """Return the fields of a record in a document. Raises TypeError, ValueError."""
    if not isinstance(found, Mapping):
        raise TypeError(f"there is no {kind.__name__.lower()} in it")
    hints = get_type_hints(kind)
    return {
        one.name: _value(one.name, hints[one.name], found[one.name])
        for one in fields(kind)
        if one.name in found
    }


def _value(name: str, kind: Any, value: object) -> object:  # noqa: ANN401  a type, or a union
    if kind is State:
        return State(str(value))
    if kind in (Base, Progress):
        return kind(**_values(kind, value))
    if name == "parts" and isinstance(value, list):
        return tuple(Part(**_values(Part, each)) for each in value)
    kinds = get_args(kind) if isinstance(kind, UnionType) else (kind,)
    number = (int, float) if float in kinds else ()
    if type(value) in (*kinds, *number):
        return value
    raise TypeError(f"{name} cannot be {value!r}"[:200])
