"""`gc events`: what happened, from the journal; with `--follow` also what happens.

Reading needs no controller and holds nobody up. The line for people is that of `gc start`.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Mapping
from datetime import datetime
from typing import Annotated

import typer

from gascity.cli.city import Here
from gascity.cli.diary import Diary
from gascity.cli.options import JsonLines, LastLines, complete_agents, complete_types, not_empty
from gascity.cli.past import opened, show_past
from gascity.errors import Exit

LINES = 50


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(events)


def events(
    context: typer.Context,
    follow: Annotated[
        bool, typer.Option("--follow", "-f", help="Go on with what happens, until Ctrl-C.")
    ] = False,
    since: Annotated[
        str,
        typer.Option(
            metavar="WHEN",
            callback=not_empty,
            help="All since 10m ago, 2026-03-01T15:04, or after the event of a number.",
            show_default=False,
        ),
    ] = "",
    types: Annotated[
        list[str] | None,
        typer.Option(
            "--type",
            metavar="TYPE",
            callback=not_empty,
            autocompletion=complete_types,
            help="Only these: session.crashed, session for all that begin so, FACT.",
        ),
    ] = None,
    agents: Annotated[
        list[str] | None,
        typer.Option(
            "--agent",
            metavar="AGENT",
            callback=not_empty,
            autocompletion=complete_agents,
            help="Only those of this agent or pool.",
        ),
    ] = None,
    lines: LastLines = None,
    as_json: JsonLines = False,
) -> int:
    """Show what happened in the city, the oldest first."""
    from gascity.cli.wanting import since_when, wanted_events

    here: Here = context.obj
    start = since_when(since, time.time())
    after = start if isinstance(start, int) else 0
    count = lines if lines is not None else 0 if since else LINES

    diary = Diary(headings=sys.stdout.isatty())

    def show(event: Mapping[str, object]) -> None:
        sys.stdout.write(_as_json(event) if as_json else _as_told(event, diary))

    path = os.path.join(here.state, "city.db")
    with opened(path) as log:
        moment = start if isinstance(start, float) else None
        wanted = wanted_events(here, types or (), agents or (), moment, log)
        upto = shown = 0
        if log is not None:
            upto, shown = show_past(
                *(log, wanted, after, count, show),
                expect=lambda page: diary.expect({entry.agent for entry in page.entries}),
            )
        if not (follow or as_json or shown):
            typer.echo("no such events" if upto else "no events yet")
    if follow:
        from gascity.cli.following import Follower

        Follower(path, wanted, upto, show).run()
    return Exit.OK


def _as_json(event: Mapping[str, object]) -> str:
    from gascity.cli.past import as_line

    return as_line(event)


def _as_told(event: Mapping[str, object], diary: Diary) -> str:
    moment = datetime.fromisoformat(str(event["at"])).astimezone()
    keys = ("type", "agent", "message", "session", "detail")
    return diary.entry(moment, *(str(event.get(key, "")) for key in keys))
