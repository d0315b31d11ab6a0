"""What can be done with attempts at issues: pick the best branch, and remove what is left."""

from __future__ import annotations

import contextlib
import json
import sys
from dataclasses import asdict, replace
from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from gascity.cli.nearest import did_you_mean
from gascity.cli.options import AsJson, not_empty
from gascity.cli.solve_found import AnyIssue, OneAgent, OneIssue, WhichAttempt, complete_solvers
from gascity.config.problems import quoted
from gascity.errors import Exit, GascityError, NotFound, UsageError

if TYPE_CHECKING:
    from gascity.worktrees.choosing import Taken
    from gascity.worktrees.cleaning import Cleaned
    from gascity.worktrees.place import SolvePlace
    from gascity.worktrees.record import Part
    from gascity.worktrees.standing import Standing


def register(group: typer.Typer) -> None:
    """Add the commands."""
    for command in (pick, clean):
        group.command()(command)


def pick(
    context: typer.Context,
    issue: OneIssue,
    agent: OneAgent,
    attempt: WhichAttempt = None,
    into: Annotated[
        str,
        typer.Option(
            metavar="BRANCH",
            callback=not_empty,
            help="Merge into this branch (where the work began).",
            show_default=False,
        ),
    ] = "",
    push: Annotated[bool, typer.Option("--push", help="Push the branch, merge nothing.")] = False,
    pull_request: Annotated[
        bool, typer.Option("--pr", help="Push the branch, and open a pull request with `gh`.")
    ] = False,
    remote: Annotated[
        str,
        typer.Option(
            metavar="REMOTE",
            callback=not_empty,
            help="Where to push (where the work began from, else origin).",
            show_default=False,
        ),
    ] = "",
    branch: Annotated[
        str,
        typer.Option(
            "--as",
            metavar="NAME",
            callback=not_empty,
            help="What the pushed branch is called (as it is here).",
            show_default=False,
        ),
    ] = "",
    title: Annotated[
        str,
        typer.Option(
            metavar="TEXT",
            callback=not_empty,
            help="The title of the pull request (that of the issue).",
            show_default=False,
        ),
    ] = "",
    force: Annotated[bool, typer.Option("--force", help="Also one that is not ready.")] = False,
    as_json: AsJson = False,
) -> int:
    """Take the branch of an agent.

    It is merged into the branch that the work began from, or handed on with --push or --pr.
    """
    from gascity.cli.running import ended_by_signals
    from gascity.cli.solve_found import newest, part_of
    from gascity.worktrees import choosing
    from gascity.worktrees.merging import merge

    if push and pull_request:
        raise UsageError("--push and --pr: give one; --pr pushes as well")
    if into and (push or pull_request):
        raise UsageError("--into says where to merge: not with --push or --pr")
    if (remote or branch) and not (push or pull_request):
        raise UsageError("--remote and --as go with --push or --pr")
    if title and not pull_request:
        raise UsageError("--title goes with --pr")
    _, standing = newest(context.obj, issue, attempt)
    part, solve = part_of(standing, agent), standing.solve
    choosing.check(solve, part, force=force)
    done = partial(_tell_taken, standing, part, as_json=as_json)
    with ended_by_signals(), standing.place.choosing():
        if pull_request:
            done(choosing.pull_request(solve, part, remote, branch, title))
        elif push:
            done(choosing.push(solve, part, remote, branch))
        else:
            merge(solve, part, into, mark=standing.place.merge_mark, done=done)
    return Exit.OK


def _tell_taken(standing: Standing, part: Part, taken: Taken, *, as_json: bool) -> None:
    """Write down and say that a branch was taken, and what was not."""
    from gascity.cli.running import say
    from gascity.worktrees.losses import uncommitted

    agent, solve = part.agent, standing.solve
    try:
        standing.place.change(lambda now: replace(now, picked=agent, picked_how=taken.how))
    except GascityError as problem:  # it is done all the same
        say(f"warning: that cannot be written down: {problem.message}")
    if left := uncommitted(part.worktree):
        files = "1 file" if left == 1 else f"{left} files"
        say(f"warning: {agent} has not committed {files}: not taken, and kept in {part.worktree}")
    if as_json:
        document = {"issue": solve.issue, "attempt": solve.attempt, "agent": agent, **asdict(taken)}
        sys.stdout.write(json.dumps(document, indent=2) + "\n")
    else:
        typer.echo(f"{agent}: {taken.how}")
    sys.stdout.flush()


def clean(
    context: typer.Context,
    issue: AnyIssue = "",
    attempt: Annotated[
        int | None,
        typer.Option(min=1, metavar="N", help="Only this attempt.", show_default=False),
    ] = None,
    agents: Annotated[
        list[str] | None,
        typer.Option(
            "--agent",
            metavar="AGENT",
            callback=not_empty,
            autocompletion=complete_solvers,
            help="Only what this agent left; may be repeated.",
            show_default=False,
        ),
    ] = None,
    every: Annotated[
        bool,
        typer.Option("--all", help="All issues of this repository; needed with --force."),
    ] = False,
    force: Annotated[
        bool, typer.Option("--force", help="Also work that is nowhere else: it is lost.")
    ] = False,
    as_json: AsJson = False,
) -> int:
    """Remove worktrees and branches of agents, of one issue or all of this repository.

    What holds work that is nowhere else stays, and is told: then this ends with 1. --force removes
    it all the same. Files that git ignores go, as with git. What agents are working on stays. The
    records of runs stay until `gc runs prune`.
    """
    from gascity.cli.running import say
    from gascity.cli.solve_found import found, project_of
    from gascity.worktrees.cleaning import clean as remove_what_is_left
    from gascity.worktrees.place import SolveHeld
    from gascity.worktrees.standing import look

    if issue and every:
        raise UsageError("an issue and --all: give one")
    if force and not issue and not every:
        raise UsageError("--force needs an issue, or --all")
    home, there = found(context.obj, issue, attempt)
    ours = "" if issue else project_of(context.obj)
    places = [one for one in there if ours in ("", one.project)]
    _are_known(places, agents or [], f"issue {issue}" if issue else "any issue here")
    done: list[tuple[SolvePlace, list[Cleaned]]] = []
    code = Exit.OK
    for place in places:
        try:
            look(home, place)  # what was killed is settled by it
            done.append((place, remove_what_is_left(home, place, agents or [], force=force)))
        except GascityError as problem:
            if issue and len(places) == 1:
                raise
            is_busy = isinstance(problem, SolveHeld)
            code = problem.exit_code if issue else code if is_busy else Exit.FAILED
            sys.stderr.write(f"warning: {problem.message}\n")
    if as_json:
        sys.stdout.write(json.dumps(_document(done), indent=2) + "\n")
    else:
        _tell(done)
        if left := len(there) - len(places):
            attempts = "1 attempt" if left == 1 else f"{left} attempts"
            say(f"hint: {attempts} in other repositories: clean there, or outside of repositories")
    stays = any(not one.removed for _, found_ones in done for one in found_ones)
    return code or (Exit.FAILED if stays else Exit.OK)


def _are_known(places: list[SolvePlace], agents: list[str], what: str) -> None:
    """See that each of these agents worked on it. Raises NotFound."""
    known: set[str] = set()
    for place in places:
        with contextlib.suppress(GascityError):  # told where it is cleaned
            known.update(part.agent for part in place.read().parts)
    for name in agents:
        if name not in known:
            there = f"there are: {', '.join(sorted(known))}" if known else ""
            who = did_you_mean(name, known, otherwise=there)
            raise NotFound(f"no agent {quoted(name)} worked on {what}", hint=who)


def _tell(done: list[tuple[SolvePlace, list[Cleaned]]]) -> None:
    from gascity.cli.running import say
    from gascity.config.problems import visible

    count = sum(one.removed for _, found in done for one in found)
    is_one = len({place.project for place, _ in done}) == 1
    for place, found in done:
        for one in found:
            issue = place.issue if is_one else place.name
            name = f"issue {issue}, attempt {place.attempt}, {one.agent}"
            if one.removed and one.was_lost:
                say(f"{name}: removed, and lost: {visible(one.was_lost.words())}")
            elif not one.removed:
                say(f"{name}: kept: {visible(one.why or one.losses.words())}")
            for line in (one.was_lost or one.losses).lines():
                say(f"    {visible(line)}")
            if one.stays:
                say(f"{name}: {visible(one.stays)}")
    stays = any(one.losses for _, found in done for one in found)
    typer.echo(f"removed {count} worktree{'' if count == 1 else 's'}")
    if stays:
        say("hint: pick or push what is worth it; --force removes the rest, which is lost then")


def _document(done: list[tuple[SolvePlace, list[Cleaned]]]) -> dict[str, object]:
    return {
        "cleaned": [
            {
                "issue": place.issue,
                "project": place.project,
                "attempt": place.attempt,
                "agent": one.agent,
                "worktree": one.worktree,
                "removed": one.removed,
                "lost": one.was_lost.lines(),
                "would_lose": one.losses.lines(),
                "why": one.why or one.stays or one.losses.words(),
            }
            for place, found in done
            for one in found
        ]
    }
