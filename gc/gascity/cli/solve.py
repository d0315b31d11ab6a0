"""`gc solve`: give an issue to several agents at once. What comes then is in other modules."""

from __future__ import annotations

import difflib
import os
from typing import Annotated

import typer

from gascity.cli.city import Here
from gascity.cli.options import JsonLines, complete_agents, complete_oneshots, not_empty
from gascity.cli.run import limit
from gascity.config.problems import quoted
from gascity.errors import UsageError

TIMEOUT = "30m"
FIRST = "start"


class StartByDefault(typer.core.TyperGroup):
    """A group in which the first word may be left out: `gc solve 12` starts."""

    def parse_args(self, ctx: typer.Context, args: list[str]) -> list[str]:  # type: ignore[override]  # of the same framework
        """Put the word there that was left out."""
        known = {*self.commands, "-h", "--help"}
        is_whole = not args or args[0] in known
        return super().parse_args(ctx, args if is_whole else [FIRST, *args])


def register(app: typer.Typer) -> None:
    """Add the commands."""
    from gascity.cli import solve_actions, solve_looks, solve_stop

    group = typer.Typer(
        cls=StartByDefault,
        help="Have several agents work on one issue, each in a git worktree; pick the best branch."
        " `gc solve ISSUE` is `gc solve start ISSUE`.",
        no_args_is_help=True,
        rich_markup_mode=None,
    )
    group.command(FIRST)(start)
    solve_looks.register(group)
    solve_stop.register(group)
    solve_actions.register(group)
    app.add_typer(group, name="solve")


def complete_workers(context: typer.Context, incomplete: str) -> list[str]:
    """Return the names of backends, and of agents of the city, that begin so."""
    names = {*complete_oneshots(context, incomplete), *complete_agents(context, incomplete)}
    return sorted(names)


def start(
    context: typer.Context,
    issue: Annotated[
        str,
        typer.Argument(
            metavar="ISSUE",
            callback=not_empty,
            help="A file, - for the standard input, or a number or URL for `gh`.",
        ),
    ],
    agents: Annotated[
        list[str] | None,
        typer.Option(
            "--agent",
            metavar="AGENT",
            callback=not_empty,
            autocompletion=complete_workers,
            help="Who works on it: a backend, an agent of the city, or a command; may be repeated.",
            show_default=False,
        ),
    ] = None,
    repo: Annotated[
        str,
        typer.Option(
            metavar="DIR",
            callback=not_empty,
            help="The repository (that of this folder).",
            show_default=False,
        ),
    ] = "",
    base: Annotated[
        str,
        typer.Option(
            metavar="BRANCH",
            callback=not_empty,
            help="Where the work begins (the default branch).",
            show_default=False,
        ),
    ] = "",
    timeout: Annotated[
        str, typer.Option(metavar="TIME", callback=not_empty, help="How long each agent may take.")
    ] = TIMEOUT,
    idle_timeout: Annotated[
        str,
        typer.Option(
            metavar="TIME",
            callback=not_empty,
            help="How long each may say nothing: 5m.",
            show_default=False,
        ),
    ] = "",
    parallel: Annotated[
        int,
        typer.Option(
            min=0, metavar="N", help="How many work at once; 0 for all.", show_default=False
        ),
    ] = 0,
    fetch: Annotated[
        bool,
        typer.Option("--fetch/--no-fetch", help="Bring where the work begins up to date first."),
    ] = True,
    number: Annotated[
        int | None,
        typer.Option(
            min=1,
            max=2**31 - 1,
            metavar="NUMBER",
            help="The number of an issue that is no GitHub issue.",
            show_default=False,
        ),
    ] = None,
    url: Annotated[
        str,
        typer.Option(
            metavar="URL", callback=not_empty, help="Where that issue is.", show_default=False
        ),
    ] = "",
    name: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            callback=not_empty,
            help="What it is called here and in branches (its number, or its file's name).",
            show_default=False,
        ),
    ] = "",
    marker: Annotated[
        str,
        typer.Option(
            metavar="TEXT",
            callback=not_empty,
            help="What a commit has to say to be the last one.",
            show_default=False,
        ),
    ] = "",
    worktrees: Annotated[
        str,
        typer.Option(
            metavar="DIR",
            callback=not_empty,
            help="Where the worktrees are made (in the folder for state of the user).",
            show_default=False,
        ),
    ] = "",
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="Show also what is said for debugging.")
    ] = False,
    as_json: JsonLines = False,
) -> int:
    """Give an issue to agents, each in a worktree.

    Each has a branch of its own, and what they say is shown. An agent is ready when one of its
    commits has the marker in its message. Ends with 0 when one is; else as all of them did, 124 for
    example, or with 1 where they differ.
    """
    from gascity.cli import solve_start
    from gascity.runs.watchdog import Limits

    _is_no_slip(context, issue)
    here: Here = context.obj
    wanted = solve_start.Wanted(
        issue=issue,
        agents=tuple(agents or ()),
        repo=repo,
        base=base,
        limits=Limits(limit("--timeout", timeout), limit("--idle-timeout", idle_timeout)),
        parallel=parallel,
        fetch=fetch,
        number=number,
        url=url,
        name=name,
        marker=marker,
        worktrees=worktrees,
    )
    return solve_start.solve(here, wanted, verbose=verbose, as_json=as_json)


def _is_no_slip(context: typer.Context, issue: str) -> None:
    """Refuse an issue that is none and looks like a command. Raises UsageError."""
    group = context.parent.command if context.parent is not None else None
    known = list(group.commands) if isinstance(group, StartByDefault) else []
    close = difflib.get_close_matches(issue, known, 1)
    if close and not os.path.lexists(issue):
        hint = f"`gc solve {close[0]}`?"
        raise UsageError(f"there is no file or command {quoted(issue)}", hint=hint)
