"""`gc status`, `gc peek`: what is, and what an agent shows."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Annotated

import typer

from gascity.cli.city import Here, reach
from gascity.cli.options import AgentName, AsJson
from gascity.cli.quick import STATUS_TIMEOUT, print_status
from gascity.errors import Exit, NotRunning, SessionNotFound

if TYPE_CHECKING:
    from collections.abc import Callable


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command()(status)
    app.command()(peek)


def status(
    context: typer.Context,
    follow: Annotated[
        bool,
        typer.Option("--watch", "-w", help="Go on showing it as it is, until q or Ctrl-C."),
    ] = False,
    as_json: AsJson = False,
) -> int:
    """Show how every agent stands, those that need a person first."""
    here: Here = context.obj
    if follow:
        from gascity.cli.watching import watch, watch_as_json

        return watch_as_json(here) if as_json else watch(here)
    try:
        document = here.ask("status", {}, timeout=STATUS_TIMEOUT)
    except NotRunning:
        from gascity.cli.alone import status_without_controller

        document = status_without_controller(here)
    if isinstance(document, dict):
        print_status(document, as_json=as_json)
    return Exit.OK


def peek(
    context: typer.Context,
    agent: AgentName,
    lines: Annotated[
        int,
        typer.Option(
            "-n", "--lines", metavar="N", min=0, help="How many lines; 0 for all that is kept."
        ),
    ] = 50,
    follow: Annotated[
        bool, typer.Option("--follow", "-f", help="Go on showing what comes, until Ctrl-C.")
    ] = False,
    colours: Annotated[
        bool,
        typer.Option("--colour", "--color", "-c", help="With its colours, where they are known."),
    ] = False,
) -> int:
    """Show the last lines of an agent; also after it crashed."""
    from gascity.agent import TIMEOUT

    here: Here = context.obj
    spec, provider = reach(here, agent)

    def read(count: int) -> str:
        return provider.peek(spec.session, count, timeout=TIMEOUT, colours=colours)

    kept = max(lines, FOLLOWED) if follow and lines else lines
    try:
        text = read(kept)
    except SessionNotFound as problem:
        raise NotRunning(f"{spec.name} is not running", hint=_hint(here, spec.name)) from problem
    shown = "".join(text.splitlines(keepends=True)[-lines:])
    if follow:
        _follow(shown, text, read, kept)
    elif shown:
        sys.stdout.write(shown if shown.endswith("\n") else shown + "\n")
    return Exit.OK


def _hint(here: Here, agent: str) -> str:
    from gascity.cli.records import runs_of

    known = next(runs_of(here, [agent]), None) is not None
    also = f", `gc runs {agent}` what it showed last" if known else ""
    return f"`gc status` tells why{also}"


FOLLOWED = 500  # lines compared from one look to the next; more than come in between


def _follow(shown: str, before: str, read: Callable[[int], str], lines: int) -> None:
    """Print `shown`, then what is added, as it is, until the session is gone."""
    from gascity.session.follow import added

    sys.stdout.write(shown)
    sys.stdout.flush()
    try:
        while True:
            time.sleep(0.2)  # for a person who reads along; no provider tells of new output
            now = read(lines)
            sys.stdout.write(added(before, now))
            sys.stdout.flush()
            before = now
    except SessionNotFound:
        sys.stdout.write("\n")
