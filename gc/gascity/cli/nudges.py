"""`gc nudges`: the messages that wait for their agents, and what became of earlier ones."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from gascity.cli import render
from gascity.cli.city import Here
from gascity.cli.options import AsJson
from gascity.errors import Exit, NotFound, NotRunning

if TYPE_CHECKING:
    from gascity.journal.nudges import NudgeQueue

TIMEOUT = 10.0
LONGEST_SHOWN = 60
COLUMNS = ("NUMBER", "AGENT", "STATE", "SINCE", "EXPIRES", "TEXT")
STATE_COLUMN = 2

T = TypeVar("T")


def register(app: typer.Typer) -> None:
    """Add the commands."""
    nudges = typer.Typer(
        name="nudges", help="Messages that wait for their agents.", invoke_without_command=True
    )
    nudges.callback()(list_nudges)
    nudges.command(name="cancel")(cancel)
    app.add_typer(nudges)


def list_nudges(context: typer.Context, as_json: AsJson = False) -> None:
    """List the messages that wait for their agents, and what became of the last others."""
    if context.invoked_subcommand is not None:
        return
    found = _found(context.obj)
    if as_json:
        typer.echo(json.dumps({"nudges": found}, indent=2, ensure_ascii=False))
    elif found:
        render.table(COLUMNS, [_row(nudge) for nudge in found], state=STATE_COLUMN)
    else:
        typer.echo("no messages are queued, and none were")


def cancel(
    context: typer.Context,
    number: Annotated[
        int, typer.Argument(metavar="NUMBER", help="As `gc nudges` shows it.", min=1)
    ],
    as_json: AsJson = False,
) -> int:
    """Take a message back that was not sent yet."""
    here: Here = context.obj
    try:
        here.ask("cancel_nudge", {"number": number}, timeout=TIMEOUT)
    except NotRunning:
        _in_the_journal(here, lambda queue: queue.cancel(number), _missing(number))
    state = {"number": number, "state": "cancelled"}
    typer.echo(json.dumps(state) if as_json else f"message {number} is taken back")
    return Exit.OK


def _found(here: Here) -> list[dict[str, object]]:
    try:
        answered = here.ask("nudges", {}, timeout=TIMEOUT)
    except NotRunning:
        return _in_the_journal(here, _listed, list)
    listed = answered.get("nudges") if isinstance(answered, dict) else None
    return listed if isinstance(listed, list) else []


def _listed(queue: NudgeQueue) -> list[dict[str, object]]:
    from gascity.controller.message_requests import nudge_document

    return [nudge_document(nudge) for nudge in queue.recent()]


def _in_the_journal(here: Here, use: Callable[[NudgeQueue], T], without: Callable[[], T]) -> T:
    """Use the queue of a city that nobody keeps; `without` answers where it has no journal."""
    path = os.path.join(here.state, "city.db")
    if not os.path.exists(path):
        return without()
    from gascity.journal.store import Journal

    journal = Journal(path)
    try:
        return use(journal.nudges)
    finally:
        journal.close()


def _missing(number: int) -> Callable[[], None]:
    def without() -> None:
        raise NotFound(f"there is no message {number}", hint="`gc nudges` lists them")

    return without


def _row(nudge: Mapping[str, object]) -> list[str]:
    now = time.time()
    at, expires = nudge.get("at"), nudge.get("expires_at")
    state = str(nudge.get("state", ""))
    open_ = state in ("pending", "sending")
    since = render.ago(now - at) if isinstance(at, int | float) else "-"
    left = render.ago(expires - now) if open_ and isinstance(expires, int | float) else ""
    return [
        str(nudge.get("number", "")),
        str(nudge.get("agent", "")),
        state,
        since,
        f"in {left}" if left else "-",
        _first_line(str(nudge.get("text", "")).splitlines()),
    ]


def _first_line(lines: Iterable[str]) -> str:
    from gascity.config.problems import visible

    line = visible(next((line.strip() for line in lines if line.strip()), ""))
    return line if len(line) <= LONGEST_SHOWN else line[:LONGEST_SHOWN] + "..."
