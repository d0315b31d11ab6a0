"""A check of the user's in the worktree of an agent: a run of its own, whose output is kept."""

from __future__ import annotations

from dataclasses import dataclass, replace

from gascity.cli.asked import Asked, city_of, job_of
from gascity.cli.city import Here
from gascity.cli.running import say
from gascity.config.problems import visible
from gascity.errors import Exit
from gascity.runs import job
from gascity.runs.places import Home
from gascity.runs.stops import Stops
from gascity.runs.watchdog import Limits
from gascity.worktrees import names
from gascity.worktrees.git import LOCATED
from gascity.worktrees.record import Part
from gascity.worktrees.standing import Standing, has_worktree


@dataclass(frozen=True, slots=True)
class Checked:
    """How a check came out: `code` is None where it was not run, and `why` says why not."""

    code: int | None
    why: str
    run: str = ""


def check(
    here: Here,
    home: Home,
    standing: Standing,
    part: Part,
    command: str,
    limit: float | None,
    stops: Stops,
) -> Checked:
    """Run the check in the worktree of an agent, as a run of its own. Raises GascityError."""
    if stops.whole.is_set():
        return Checked(None, stops.whole.reason)
    if not part.over:
        return Checked(None, "still works")
    if not has_worktree(part):
        return Checked(None, "its worktree is gone")
    solve = standing.solve
    say(f"{part.agent}: checks with {visible(command)} ...")
    asked = Asked(
        backend="",
        agent="",
        command=("sh", "-c", f"exec 2>&1\n{command}"),  # as one would read it in a terminal
        project=solve.project,
        task=names.task(solve.issue, part.agent),
        prompt="",
        cwd=part.worktree,
        limits=Limits(limit),
    )
    made = job_of(city_of(here), home, asked)
    made = replace(made, withheld=(*made.withheld, *LOCATED), why="its work is checked")
    with stops.run() as cancel:
        info = job.run(made, cancel).info
    code = info.exit_code
    why = "passed" if code == 0 else f"failed ({code})"
    why = "took too long" if code == Exit.TIMED_OUT else why
    return Checked(code, stops.whole.reason or why, info.run_id)
