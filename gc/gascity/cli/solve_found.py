"""Which attempt at which issue a person means."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from gascity.cli.city import Here
from gascity.cli.nearest import did_you_mean
from gascity.cli.options import not_empty
from gascity.config.problems import visible
from gascity.errors import GascityError, NotFound

if TYPE_CHECKING:  # `gc --help` needs none of it
    from gascity.runs.places import Home
    from gascity.worktrees.place import SolvePlace
    from gascity.worktrees.record import Part
    from gascity.worktrees.standing import Standing

HINT = "`gc solve status` shows which there are"


def complete_issues(context: typer.Context, incomplete: str) -> list[str]:
    """Return the issues that begin so."""
    from gascity.runs.places import find_home
    from gascity.worktrees import solves

    parent = context.find_root().params.get("folder") or "."
    try:
        found = solves.places(find_home(str(parent)))
    except (GascityError, OSError):
        return []
    names = {name for place in found for name in (place.issue, place.name)}
    return sorted(name for name in names if name.startswith(incomplete))


def complete_solvers(context: typer.Context, incomplete: str) -> list[str]:
    """Return the agents that worked on the issue named before."""
    parent = context.find_root().params.get("folder") or "."
    try:
        _, places = found(Here(str(parent)), str(context.params.get("issue") or ""), None)
        names = {part.agent for place in places for part in place.read().parts}
    except (GascityError, OSError):
        return []
    return sorted(name for name in names if name.startswith(incomplete))


OneIssue = Annotated[
    str,
    typer.Argument(
        metavar="ISSUE", callback=not_empty, autocompletion=complete_issues, help="Which issue."
    ),
]
AnyIssue = Annotated[
    str,
    typer.Argument(
        metavar="ISSUE",
        callback=not_empty,
        autocompletion=complete_issues,
        help="Only this one.",
        show_default=False,
    ),
]
OneAgent = Annotated[
    str,
    typer.Argument(
        metavar="AGENT", callback=not_empty, autocompletion=complete_solvers, help="Which agent."
    ),
]
AnyAgent = Annotated[
    str,
    typer.Argument(
        metavar="AGENT",
        callback=not_empty,
        autocompletion=complete_solvers,
        help="Only this one.",
        show_default=False,
    ),
]
WhichAttempt = Annotated[
    int | None,
    typer.Option(
        "--attempt", min=1, metavar="N", help="Which attempt (the last).", show_default=False
    ),
]


def home_at(here: Here) -> Home:
    """Return the home that attempts at issues are written down in, with all runs settled.

    Inside of the worktree of an agent it is that of its attempt. Raises NotFound.
    """
    from gascity.cli.records import home_of
    from gascity.runs.places import Home
    from gascity.runs.reconcile import settle
    from gascity.worktrees import worktree

    inside = worktree.home_of(here.folder)
    if not inside or not os.path.isdir(inside):
        return home_of(here)
    home = Home(inside)
    settle(home)
    return home


def found(here: Here, issue: str, attempt: int | None) -> tuple[Home, list[SolvePlace]]:
    """Return the attempts at an issue, or at all of them, with what was killed settled.

    An issue is `project/issue`, or `issue` where there is one or it is of this repository. Raises
    NotFound.
    """
    from gascity.worktrees import solves

    home = home_at(here)
    solves.sweep(home)
    places = [one for one in solves.places(home) if attempt in (None, one.attempt)]
    if not issue:
        return home, places
    project, _, key = issue.removeprefix("#").rpartition("/")
    meant = [one for one in places if one.issue == key and project in ("", one.project)]
    projects = sorted({one.project for one in meant})
    if len(projects) > 1:
        ours = project_of(here)
        if ours not in projects:
            names = " or ".join(f"{one}/{key}" for one in projects)
            raise NotFound(f"{visible(issue)!r} could be {names}", hint="give the whole name")
        meant = [one for one in meant if one.project == ours]
    if not meant:
        what = "attempt" if attempt is None else f"attempt {attempt}"
        near = did_you_mean(key, {one.issue for one in places} - {key}, otherwise=HINT)
        raise NotFound(f'there is no {what} at an issue "{visible(issue)}"', hint=near)
    return home, meant


def newest(here: Here, issue: str, attempt: int | None) -> tuple[Home, Standing]:
    """Return how the newest attempt at an issue stands. Raises NotFound, GascityError."""
    from gascity.worktrees.standing import look

    home, places = found(here, issue, attempt)
    return home, look(home, places[-1])


def standings(home: Home, places: list[SolvePlace]) -> list[Standing]:
    """Return how attempts stand; one that cannot be read is told of on standard error."""
    from gascity.worktrees.standing import look

    shown = []
    for place in places:
        try:
            shown.append(look(home, place))
        except GascityError as problem:
            sys.stderr.write(f"warning: {visible(problem.message)}\n")
    return shown


def part_of(standing: Standing, agent: str) -> Part:
    """Return what an agent did in an attempt. Raises NotFound."""
    for part in standing.solve.parts:
        if part.agent == agent:
            return part
    there = [part.agent for part in standing.solve.parts]
    name, number = standing.place.issue, standing.place.attempt
    raise NotFound(
        f'no agent "{visible(agent)}" worked on issue {name} in attempt {number}',
        hint=did_you_mean(agent, there, otherwise=f"there are: {', '.join(there)}"),
    )


def project_of(here: Here) -> str:
    """Return what the repository of a folder is called in records; empty where it is in none."""
    from gascity.worktrees import repository

    try:
        return repository.find(here.folder).name
    except GascityError:
        return ""
