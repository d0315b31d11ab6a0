"""Removing what attempts left: worktrees, branches and records. Work is never thrown away unasked.

What would be lost is found out first, for all that is to go: a branch that goes too is no place
where a commit is safe. The records of the runs stay, as those of all other runs do.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from gascity.errors import GascityError
from gascity.runs.places import Home
from gascity.worktrees import names
from gascity.worktrees.losses import Losses, losses
from gascity.worktrees.merging import remove_spare
from gascity.worktrees.place import SolveHeld, SolvePlace
from gascity.worktrees.record import Part, Solve
from gascity.worktrees.removal import remove, remove_files
from gascity.worktrees.repository import Repository
from gascity.worktrees.standing import checkouts_of, lives, repository_of, run_of


@dataclass(frozen=True, slots=True)
class Cleaned:
    """What became of the worktree of one agent; `losses` says what kept it, `why` what went wrong.

    `was_lost` is what went with it because somebody wanted that, `stays` what was left all the
    same.
    """

    agent: str
    worktree: str
    removed: bool
    losses: Losses = field(default_factory=Losses)
    was_lost: Losses = field(default_factory=Losses)
    why: str = ""
    stays: str = ""


def clean(
    home: Home, place: SolvePlace, agents: Sequence[str] = (), *, force: bool = False
) -> list[Cleaned]:
    """Remove what an attempt left, or what these agents of it did; return what became of each.

    What holds work that is nowhere else stays, unless `force`. Raises SolveHeld while it is worked
    on, GascityError.
    """
    descriptor = place.hold()
    try:
        with place.choosing():
            found = _clean(home, place, agents, force=force)
            after = place.change(lambda now: _without(now, found))
            if all(part.gone for part in after.parts):
                place.remove()
        return found
    except OSError as problem:
        why = problem.strerror or str(problem)
        raise GascityError(f"{place.path} cannot be removed: {why}") from problem
    finally:
        os.close(descriptor)
        with contextlib.suppress(OSError):  # there are others
            os.rmdir(names.root(os.environ))


def _clean(home: Home, place: SolvePlace, agents: Sequence[str], *, force: bool) -> list[Cleaned]:
    """Remove what these agents left; return what became of each."""
    solve = place.read()
    if not solve.ended and lives(solve):
        raise SolveHeld(f"attempt {place.attempt} at {place.name} is being worked on")
    parts = [part for part in solve.parts if not part.gone and (not agents or part.agent in agents)]
    repo = repository_of(solve)
    if not os.path.isdir(repo.common):
        return [_orphan(solve, part, force=force) for part in parts]
    checkouts = checkouts_of(repo)
    remove_spare(repo, solve, list(checkouts.values()), place.merge_mark)
    going = [part.branch for part in parts]
    found = []
    for part in parts:
        began = _began(home, solve, part)
        kept = losses(
            repo,
            part.tree,
            checkouts,
            solve.base.commit,
            going,
            began=began,
            half_gone=part.removing,
        )
        if kept and not force:
            found.append(Cleaned(part.agent, part.worktree, removed=False, losses=kept))
            continue
        with contextlib.suppress(GascityError):  # a full disk is why somebody cleans
            place.change(partial(_removing, agent=part.agent))
        found.append(_removed(repo, part, kept))
    return found


def _removed(repo: Repository, part: Part, lost: Losses) -> Cleaned:
    """Remove what one agent left, and tell what became of it."""
    try:
        stays = remove(repo, part.tree)
    except GascityError as problem:
        return Cleaned(part.agent, part.worktree, removed=False, why=problem.message)
    except OSError as problem:
        why = f"{problem.strerror}: {problem.filename}"
        return Cleaned(part.agent, part.worktree, removed=False, why=why)
    return Cleaned(part.agent, part.worktree, removed=True, was_lost=lost, stays=stays)


def _began(home: Home, solve: Solve, part: Part) -> bool:
    run = run_of(home, solve, part)
    return run is not None and run.pid is not None


def _removing(solve: Solve, agent: str) -> Solve:
    """Return the record in which it is said that what an agent left goes now."""
    parts = (replace(part, removing=part.agent == agent) for part in solve.parts)
    return replace(solve, parts=tuple(parts))


def _without(solve: Solve, found: Sequence[Cleaned]) -> Solve:
    """Return the record after that: what could not be removed is looked at again the next time."""
    gone = {one.agent for one in found if one.removed}
    parts = (
        replace(part, removing=False, gone=part.gone or part.agent in gone) for part in solve.parts
    )
    return replace(solve, parts=tuple(parts))


def _orphan(solve: Solve, part: Part, *, force: bool) -> Cleaned:
    """Remove what is left of an agent whose repository is not there any more, if that is wanted."""
    kept = Losses(unknown=f"its repository {solve.repo} is gone, and nobody can tell what is in it")
    if force:
        remove_files(part.worktree)
        return Cleaned(part.agent, part.worktree, removed=True, was_lost=kept)
    return Cleaned(part.agent, part.worktree, removed=False, losses=kept)
