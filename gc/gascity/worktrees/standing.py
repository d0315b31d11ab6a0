"""How attempts at issues stand: what is written down, brought together with git and the runs.

An attempt whose solver was killed is settled here first: what it was still making is ended, and
how far each agent came is written down. What is said of an agent that is over holds for as long as
its newest commit is the same, also when that is merged and is nobody's own any more.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace

from gascity.errors import GascityError, NotFound
from gascity.runs.folder import RunFolder
from gascity.runs.info import RunInfo, seconds_of, utc
from gascity.runs.marked import end_marked
from gascity.runs.places import Home
from gascity.session import pids
from gascity.worktrees import names
from gascity.worktrees.place import SolvePlace
from gascity.worktrees.progress import Progress, progress_of
from gascity.worktrees.record import Part, Solve
from gascity.worktrees.repository import Checkout, Repository
from gascity.worktrees.verdict import ended, living

Checkouts = Mapping[str, Checkout]
_PATIENCE, _GLANCE = 30.0, 0.05  # seconds, for another who settles the same attempt
_TRIES = 3


@dataclass(frozen=True, slots=True)
class Standing:
    """One attempt as it is. `runs` are the records of its agents' runs, as far as there are any."""

    place: SolvePlace
    solve: Solve
    runs: Mapping[str, RunInfo]

    def lasted(self, part: Part, now: float) -> float | None:
        """Return for how many seconds an agent has worked, or did; None where nobody knows."""
        run = self.runs.get(part.agent)
        if run is None:
            return None
        began = seconds_of(run.start_time)
        if run.is_over or began is None:
            return run.duration
        return max(now - began, 0.0)


def run_folder(home: Home, solve: Solve, part: Part) -> RunFolder:
    """Return the folder of an agent's run."""
    return home.task(solve.project, names.task(solve.issue, part.agent)).runs.of(part.run)


def repository_of(solve: Solve) -> Repository:
    """Return the repository of an attempt, which may be gone.

    It is known by the folder that its worktrees share where the one it was named by is not there.
    """
    return Repository(solve.repo if os.path.isdir(solve.repo) else solve.common, solve.common)


def checkouts_of(repo: Repository) -> dict[str, Checkout]:
    """Return all worktrees of a repository by their paths. Raises GitError."""
    return {one.path: one for one in repo.checkouts()}


def look(home: Home, place: SolvePlace) -> Standing:
    """Return how an attempt stands. Runs that nobody runs any more must be settled.

    Raises NotFound, BrokenSolve.
    """
    solve = glance(home, place)
    repo = repository_of(solve)
    try:
        checkouts = checkouts_of(repo)
    except GascityError:
        checkouts = {}  # the repository is gone: what was written down is all there is
    runs = {part.agent: info for part in solve.parts if (info := run_of(home, solve, part))}
    parts = tuple(
        _present(repo, solve, part, runs.get(part.agent), checkouts) for part in solve.parts
    )
    return Standing(place, replace(solve, parts=parts), runs)


def glance(home: Home, place: SolvePlace) -> Solve:
    """Return what is written down of an attempt, settled if its solver was killed.

    Raises NotFound, BrokenSolve.
    """
    solve = place.read()
    deadline = time.monotonic() + _PATIENCE
    while not (solve.ended or lives(solve)) and time.monotonic() < deadline:
        solve = _settle(home, place)  # of several who come at once, one does it
    # What became of an agent may be all that could not be written.
    return _over(home, solve) if solve.ended else solve


def finished(home: Home, solve: Solve, part: Part) -> Part:
    """Return what is final of an agent whose run is over."""
    run = run_of(home, solve, part)
    try:
        progress = _progress_at_last(solve, part)
        verdict = ended(run, progress.commits, progress.ready)
    except GascityError as problem:
        progress = part.progress
        verdict = ended(run, progress.commits, progress.ready)
        if not progress.commits:
            why = f"nobody can tell what it committed: {problem.message}"
            verdict = replace(verdict, why=why)
    return replace(
        part,
        over=True,
        state=verdict.state,
        why=verdict.why,
        hint=verdict.hint,
        exit_code=None if run is None else run.exit_code,
        progress=progress,
    )


def _progress_at_last(solve: Solve, part: Part) -> Progress:
    """Return how far an agent came. What cannot be told at one instant may be at the next."""
    repo = repository_of(solve)
    for _ in range(_TRIES):
        with contextlib.suppress(GascityError):
            return _progress(repo, solve, part, checkouts_of(repo))
        time.sleep(_GLANCE)  # somebody changes what git has written down
    return _progress(repo, solve, part, {})


def lives(solve: Solve) -> bool:
    """Tell whether the process lives that carries an attempt out."""
    return solve.solver is not None and pids.table.started(solve.solver) == solve.solver_started


def _settle(home: Home, place: SolvePlace) -> Solve:
    with place.taken_over() as is_ours:
        if not is_ours:
            time.sleep(_GLANCE)  # somebody is at it
            return place.read()
        end_marked(place.mark)
        try:
            return place.change(lambda now: now if now.ended else _over(home, now))
        except NotFound:
            raise
        except GascityError:  # it cannot be written down now, and is true all the same
            return _over(home, place.read())


def _over(home: Home, solve: Solve) -> Solve:
    """Return an attempt that nobody carries out any more."""
    parts = tuple(part if part.over else finished(home, solve, part) for part in solve.parts)
    return replace(solve, ended=solve.ended or utc(time.time()), parts=parts)


def _present(
    repo: Repository, solve: Solve, part: Part, run: RunInfo | None, checkouts: Checkouts
) -> Part:
    try:
        progress = _progress(repo, solve, part, checkouts)
    except GascityError:
        return part
    if part.over and (run is None or progress == part.progress):
        return replace(part, progress=progress)
    started = run is not None and run.pid is not None
    verdict = (
        ended(run, progress.commits, progress.ready)
        if part.over
        else living(progress.commits, progress.ready, started=started)
    )
    return replace(part, state=verdict.state, why=verdict.why, hint=verdict.hint, progress=progress)


def _progress(repo: Repository, solve: Solve, part: Part, checkouts: Checkouts) -> Progress:
    if part.gone:  # what is in its place now is another's
        return part.progress
    checkout = checkouts.get(part.worktree)
    if part.over and checkout is not None and checkout.head == part.progress.tip:
        return part.progress  # as it was found, also when that was merged since
    found = progress_of(repo, part.tree, checkout, solve.base, solve.marker)
    return part.progress if part.over and found.tip in ("", part.progress.tip) else found


def run_of(home: Home, solve: Solve, part: Part) -> RunInfo | None:
    """Return the record of an agent's run; None where there is none that can be read."""
    if not part.run:
        return None
    info = run_folder(home, solve, part).read_info()
    return info if isinstance(info, RunInfo) else None


def latest(standings: list[Standing]) -> list[Standing]:
    """Return the newest attempt at each issue."""
    return list({one.place.name: one for one in standings}.values())


def has_worktree(part: Part) -> bool:
    """Tell whether the worktree of an agent is there, and its own."""
    return not part.gone and os.path.isdir(part.worktree)
