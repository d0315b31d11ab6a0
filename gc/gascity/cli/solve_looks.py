"""Looking at attempts at issues: how all stand, what agents said, what they changed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Annotated

import typer

from gascity.cli.options import AsJson, JsonLines, not_empty
from gascity.cli.solve_found import (
    AnyAgent,
    AnyIssue,
    OneAgent,
    OneIssue,
    WhichAttempt,
)
from gascity.errors import Exit, GascityError, UsageError

CHECK_LIMIT = "10m"


def register(group: typer.Typer) -> None:
    """Add the commands."""
    for command in (status, logs, diff, compare):
        group.command()(command)


def status(
    context: typer.Context,
    issue: AnyIssue = "",
    attempt: WhichAttempt = None,
    every: Annotated[
        bool, typer.Option("--all", help="Every attempt, not the last at each issue alone.")
    ] = False,
    watch: Annotated[
        bool, typer.Option("--watch", "-w", help="Go on showing it, until all is over or q.")
    ] = False,
    as_json: AsJson = False,
) -> int:
    """Show how agents stand at issues.

    For each its state, commits, files and lines changed, and time.
    """
    from gascity.cli import solve_shown
    from gascity.cli.solve_found import found, standings
    from gascity.worktrees.standing import Standing, latest

    if every and attempt is not None:
        raise UsageError("--attempt and --all: give one")

    def there() -> list[Standing]:
        home, places = found(context.obj, issue, attempt)
        shown = standings(home, places)
        return shown if every or attempt is not None else latest(shown)

    if watch:
        from gascity.cli.solve_watch import watch as go_on

        return go_on(there, as_json=as_json)
    shown = there()
    if as_json:
        document = {"solves": [solve_shown.document(one) for one in shown]}
        sys.stdout.write(json.dumps(document, indent=2) + "\n")
    elif shown:
        if issue:
            sys.stdout.write(solve_shown.heading(shown[-1].solve))
        solve_shown.show(shown)
    else:
        which = "" if attempt is None else f" {attempt}"
        typer.echo(f"there is no attempt{which} at an issue")
    return Exit.OK


def logs(
    context: typer.Context,
    issue: OneIssue,
    agent: AnyAgent = "",
    attempt: WhichAttempt = None,
    follow: Annotated[
        bool, typer.Option("--follow", "-f", help="Go on until the agents are over.")
    ] = False,
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="Show also what is said for debugging.")
    ] = False,
    as_json: JsonLines = False,
) -> int:
    """Print what agents said, line by line."""
    from gascity.cli.solve_found import newest, part_of
    from gascity.cli.solve_heard import print_logs

    home, standing = newest(context.obj, issue, attempt)
    agents = [part_of(standing, agent).agent] if agent else []
    print_logs(home, standing.place, agents, follow=follow, verbose=verbose, as_json=as_json)
    return Exit.OK


def diff(
    context: typer.Context,
    issue: OneIssue,
    agent: OneAgent,
    attempt: WhichAttempt = None,
    stat: Annotated[bool, typer.Option("--stat", help="Only which files, and how much.")] = False,
    uncommitted: Annotated[
        bool, typer.Option("--uncommitted", help="With what it has not committed.")
    ] = False,
) -> int:
    """Show what an agent changed, as `git diff` does."""
    from gascity.cli.render import wants_colour
    from gascity.cli.running import say
    from gascity.cli.solve_found import newest, part_of
    from gascity.worktrees.git import without_place
    from gascity.worktrees.losses import uncommitted as count_uncommitted
    from gascity.worktrees.standing import has_worktree

    _, standing = newest(context.obj, issue, attempt)
    part = part_of(standing, agent)
    progress = part.progress
    left = count_uncommitted(part.worktree)
    if uncommitted and (left is None or not has_worktree(part)):
        why = "is gone" if left is not None else "cannot be read by git"
        raise GascityError(f"the worktree of {agent} {why}")
    if not progress.tip and not uncommitted:
        raise GascityError(f"nothing is left of what {agent} did")
    since = progress.since or standing.solve.base.commit
    ends = [since] if uncommitted else [since, progress.tip]
    options = (["--stat"] if stat else []) + ([] if wants_colour() else ["--no-color"])
    sys.stdout.flush()
    done = subprocess.run(
        ["git", "diff", *options, *ends, "--"],
        cwd=part.worktree if uncommitted else standing.solve.repo,
        env=without_place(os.environ),
        check=False,
    )
    if left and not uncommitted:
        files = "1 file is" if left == 1 else f"{left} files are"
        say(f"hint: {files} not committed; --uncommitted shows changes of files that git knows")
    return Exit.OK if done.returncode in (0, -13, 141) else Exit.FAILED  # SIGPIPE: a pager left


def compare(
    context: typer.Context,
    issue: OneIssue,
    attempt: WhichAttempt = None,
    check: Annotated[
        str,
        typer.Option(
            metavar="COMMAND",
            callback=not_empty,
            help='Whether this passes in each worktree: "make test".',
            show_default=False,
        ),
    ] = "",
    timeout: Annotated[
        str | None,
        typer.Option(
            metavar="TIME",
            callback=not_empty,
            help="With --check: how long it may take.",
            show_default=CHECK_LIMIT,
        ),
    ] = None,
    as_json: AsJson = False,
) -> int:
    """Show agents side by side, and a check in each.

    State, commits, changed files and lines; with --check whether a command passes in each worktree:
    then this ends with 1 where it passes in none.
    """
    from gascity.cli import solve_compare
    from gascity.cli.run import limit

    if timeout is not None and not check:
        raise UsageError("--timeout is how long a check may take: it needs --check")
    return solve_compare.compare(
        context.obj,
        issue,
        attempt,
        check=check,
        limit=limit("--timeout", timeout or CHECK_LIMIT),
        as_json=as_json,
    )
