"""`gc bus`: what agents, runs and people tell each other.

A message is one row of the journal, beside the events; `gc events` shows both.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Mapping
from datetime import datetime
from typing import Annotated

import typer

from gascity.cli.options import JsonLines, LastLines, complete_messages, not_empty
from gascity.config.problems import visible
from gascity.errors import Exit, UsageError

LINES = 50
KEYS = {"author": "agent", "body": "message"}  # where they are called otherwise in the journal

_Since = Annotated[
    str,
    typer.Option(
        metavar="WHEN",
        callback=not_empty,
        help="All since 10m ago, 2026-03-01T15:04, or after the message of a number.",
        show_default=False,
    ),
]
_Types = Annotated[
    list[str] | None,
    typer.Option(
        "--type",
        metavar="TYPE",
        callback=not_empty,
        autocompletion=complete_messages,
        help="Only these: FACT.",
    ),
]
_Projects = Annotated[
    list[str] | None,
    typer.Option(
        "--project",
        metavar="PROJECT",
        callback=not_empty,
        help="Only those of this project; inside a run, its own.",
    ),
]
_All = Annotated[
    bool, typer.Option("--all", help="Inside a run: those of all projects, not of its own alone.")
]
_Tasks = Annotated[
    list[str] | None,
    typer.Option("--task", metavar="TASK", callback=not_empty, help="Only those of this task."),
]
_Runs = Annotated[
    list[str] | None,
    typer.Option("--run", metavar="RUN", callback=not_empty, help="Only those of this run."),
]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    group = typer.Typer(
        help="Leave messages for other agents, and read theirs.",
        no_args_is_help=True,
        rich_markup_mode=None,
    )
    group.command()(post)
    group.command()(read)
    group.command()(follow)
    app.add_typer(group, name="bus")


def post(
    context: typer.Context,
    text: Annotated[
        str,
        typer.Argument(
            metavar="TEXT",
            help="The message; - reads it from standard input. Put -- before a leading -.",
        ),
    ],
    kind: Annotated[
        str,
        typer.Option(
            "--type",
            metavar="TYPE",
            callback=not_empty,
            autocompletion=complete_messages,
            help="A word of capitals: INFO, FACT, QUESTION, DECISION or another.",
        ),
    ] = "INFO",
    project: Annotated[
        str | None,
        typer.Option(metavar="PROJECT", callback=not_empty, help="The city's name, or the run's."),
    ] = None,
    task: Annotated[
        str | None, typer.Option(metavar="TASK", callback=not_empty, help="The run's.")
    ] = None,
    run: Annotated[
        str | None, typer.Option(metavar="RUN", callback=not_empty, help="The run's own.")
    ] = None,
) -> int:
    """Put a message on the bus, and print its number: it is there then, whoever is killed.

    From inside a run nothing but the text is needed, wherever the run works.
    """
    from gascity.cli import speaking

    who = speaking.speaker(context.obj, os.environ)
    typer.echo(speaking.post(who, kind, text, project=project, task=task, run=run))
    return Exit.OK


def read(
    context: typer.Context,
    since: _Since = "",
    types: _Types = None,
    projects: _Projects = None,
    everything: _All = False,
    tasks: _Tasks = None,
    runs: _Runs = None,
    lines: LastLines = None,
    as_json: JsonLines = False,
) -> int:
    """Show the messages on the bus, the oldest first."""
    wanted = (types, _about(projects, everything=everything), tasks, runs)
    return _read(context, since, *wanted, lines, as_json=as_json, goes_on=False)


def follow(
    context: typer.Context,
    since: _Since = "",
    types: _Types = None,
    projects: _Projects = None,
    everything: _All = False,
    tasks: _Tasks = None,
    runs: _Runs = None,
    lines: LastLines = None,
    as_json: JsonLines = False,
) -> int:
    """Show the messages on the bus, and go on with those that come, until Ctrl-C."""
    wanted = (types, _about(projects, everything=everything), tasks, runs)
    return _read(context, since, *wanted, lines, as_json=as_json, goes_on=True)


def _about(projects: list[str] | None, *, everything: bool) -> list[str] | None:
    """Return the projects meant: None for the run's own, an empty list for all."""
    if everything and projects:
        raise UsageError("--project and --all: give one")
    return [] if everything else projects


def _read(
    context: typer.Context,
    since: str,
    types: list[str] | None,
    projects: list[str] | None,
    tasks: list[str] | None,
    runs: list[str] | None,
    lines: int | None,
    *,
    as_json: bool,
    goes_on: bool,
) -> int:
    from gascity.cli.past import opened, show_past
    from gascity.cli.speaking import speaker
    from gascity.cli.wanting import since_when
    from gascity.journal.events import Wanted
    from gascity.journal.message import checked_name, checked_type

    who = speaker(context.obj, os.environ)
    own = os.environ.get("JRUN_PROJECT_ID", "")
    about = [own] if projects is None and own else projects or ()
    start = since_when(since, time.time())
    wanted = Wanted(
        types=tuple(checked_type(word) for word in types or ()),
        since=start if isinstance(start, float) else None,
        projects=tuple(checked_name("project", name) for name in about),
        tasks=tuple(checked_name("task", name) for name in tasks or ()),
        runs=tuple(checked_name("run", name) for name in runs or ()),
        messages=True,
    )
    after = start if isinstance(start, int) else 0
    count = lines if lines is not None else 0 if since else LINES

    def show(event: Mapping[str, object]) -> None:
        sys.stdout.write(_as_json(event) if as_json else as_told(event))

    with who.explained(), opened(who.journal) as log:
        upto, shown = (0, 0) if log is None else show_past(log, wanted, after, count, show)
    if goes_on:
        from gascity.cli.following import Follower

        Follower(who.journal, wanted, upto, show).run()
    if not (as_json or shown):
        typer.echo("no such messages" if upto else "no messages yet")
    return Exit.OK


def _as_json(event: Mapping[str, object]) -> str:
    from gascity.cli.past import as_line

    keys = ("number", "at", "type", "project", "task", "run", "author", "body")
    found = {key: event.get(KEYS.get(key, key), "") for key in keys}
    return as_line(found)


def as_told(event: Mapping[str, object]) -> str:
    """Return a message for people: its head, and its lines below if it has several.

    The lines of a body are indented, so none of them can be taken for the head of another one.
    """
    moment = datetime.fromisoformat(str(event["at"])).astimezone()
    project, task, run, author, body = (
        str(event.get(key, "")) for key in ("project", "task", "run", "agent", "message")
    )
    about = "/".join(visible(name) for name in (project, task) if name)
    head = (
        moment.strftime("%Y-%m-%d %H:%M:%S"),
        f"#{event['number']}",
        about,
        visible(author or run),
        str(event["type"]),
    )
    first, *more = body.removesuffix("\n").split("\n")
    words = [first] if not more else ["", *(f"    {line}" for line in (first, *more))]
    told = "\n".join(visible(line) for line in words)
    joint = ": " if not more else ":"
    return f"{'  '.join(part for part in head if part)}{joint}{told}\n"
