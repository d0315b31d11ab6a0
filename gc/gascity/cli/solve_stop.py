"""`gc solve stop`: end agents at an issue, and wait until they are gone.

Whoever carries the attempt out is asked to do it, so that an agent is ended and recorded as ever.
"""

from __future__ import annotations

import signal
import time
from collections.abc import Collection
from typing import TYPE_CHECKING, Annotated

import typer

from gascity.cli.options import not_empty
from gascity.cli.solve_found import OneIssue, WhichAttempt, complete_solvers
from gascity.errors import Exit, NotRunning, StopTimedOut

if TYPE_CHECKING:
    from gascity.runs.places import Home
    from gascity.worktrees.record import Solve

LOOK = 0.1  # seconds between two looks whether they are over
PATIENCE = 30.0  # seconds for them to end


def register(group: typer.Typer) -> None:
    """Add the command."""
    group.command()(stop)


def stop(
    context: typer.Context,
    issue: OneIssue,
    agents: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="AGENT",
            callback=not_empty,
            autocompletion=complete_solvers,
            help="Only these.",
            show_default=False,
        ),
    ] = None,
    attempt: WhichAttempt = None,
) -> int:
    """End the agents at an issue, or some of them.

    Returns when they are gone. Those that wait for their turn never begin; what was done stays in
    the worktrees.
    """
    from gascity.cli.solve_found import newest, part_of
    from gascity.runs.reconcile import settle
    from gascity.session import pids
    from gascity.worktrees.standing import glance

    home, standing = newest(context.obj, issue, attempt)
    place, solve = standing.place, standing.solve
    wanted = list(dict.fromkeys(agents or ()))
    chosen = [part_of(standing, name) for name in wanted] or solve.parts
    names = [part.agent for part in chosen if not part.over]
    if not names:
        who = f"{chosen[0].agent} does not work" if len(wanted) == 1 else "nobody works"
        raise NotRunning(f"{who} on issue {place.issue}, attempt {place.attempt}")
    for name in names:
        place.stop(name)
    if solve.solver is not None:  # one that Ctrl-Z stopped hears nothing
        pids.send(solve.solver, solve.solver_started, signal.SIGCONT)
    deadline = time.monotonic() + PATIENCE
    while not _are_over(home, glance(home, place), names):
        if time.monotonic() >= deadline:
            raise StopTimedOut(f"agents still work on issue {place.issue} after {PATIENCE:g} s")
        time.sleep(LOOK)  # nothing tells when a record changes
        settle(home)  # who carries it out may be killed meanwhile
    typer.echo(f"stopped {', '.join(names)}")
    return Exit.OK


def _are_over(home: Home, solve: Solve, names: Collection[str]) -> bool:
    """Tell whether these agents are over, and the whole attempt where they were the last.

    Who carries it out may be held up by who reads what it prints: then their runs tell.
    """
    from gascity.worktrees.standing import run_of

    at_work = [part for part in solve.parts if not part.over]
    if not at_work:
        return bool(solve.ended)
    runs = [run_of(home, solve, part) for part in at_work if part.agent in names]
    return all(run is not None and run.is_over for run in runs)
