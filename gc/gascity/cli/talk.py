"""`gc nudge`, `gc attach`, `gc prime`: talk to an agent."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import asdict
from typing import Annotated

import typer

from gascity.cli.city import Here, find_agent, names_meant, reach
from gascity.cli.options import AgentName, AsJson, complete_agents, not_empty, seconds
from gascity.errors import Exit, UsageError

LONGEST = 3600.0  # a command that waits longer is better kept with --queue
LARGEST = 1_000_000  # bytes of a message on its way to the controller
SHORTEST = 2.0  # seconds in which a message can be typed, submitted and proven


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command()(nudge)
    app.command()(attach)
    app.command()(prime)


def nudge(
    context: typer.Context,
    agent: AgentName,
    text: Annotated[
        str,
        typer.Argument(
            metavar="TEXT",
            help="The message; - reads it from standard input. Put -- before a leading -.",
        ),
    ],
    wait: Annotated[
        bool | None,
        typer.Option(
            "--wait/--no-wait",
            help="Wait until the agent can take it, or say at once that it cannot.",
            show_default="wait",
        ),
    ] = None,
    timeout: Annotated[
        str | None,
        typer.Option(
            metavar="TIME",
            callback=not_empty,
            help="How long to wait at most: 30s, 2m.",
            show_default="30s",
        ),
    ] = None,
    queue: Annotated[
        bool,
        typer.Option("--queue", help="Keep it until the agent can take it; return at once."),
    ] = False,
    expires: Annotated[
        str | None,
        typer.Option(
            metavar="TIME",
            callback=not_empty,
            help="With --queue: for how long.",
            show_default="24h",
        ),
    ] = None,
    raw: Annotated[
        bool, typer.Option("--raw", help="Send it as it is, even where it acts as a command.")
    ] = False,
    as_json: AsJson = False,
) -> int:
    """Send an agent a message.

    Ends with 0 only when it is proven that the agent took it, or that it is queued; with 5 when the
    agent does not run, with 6 when it is not proven or was not sent.
    """
    from gascity.cli import sending

    if queue and (wait is not None or timeout is not None):
        unfit = "--timeout" if wait is None else ("--wait" if wait else "--no-wait")
        raise UsageError(f"--queue waits for nothing, so {unfit} makes no sense with it")
    if expires is not None and not queue:
        raise UsageError("--expires is for messages that are kept: it needs --queue")
    patience = seconds("--timeout", timeout or "30s", least=SHORTEST, most=LONGEST)
    kept = seconds("--expires", expires or "24h", least=1.0)
    here: Here = context.obj
    message = _message(text)
    (name,) = names_meant(here, [agent], one=True)
    if queue:
        queued = sending.queue(here, name, message, raw=raw, expires=kept)
        note = f"`gc nudges cancel {queued.number}` takes it back"
        line = f"{name}: queued as {queued.number} ({queued.evidence}); {note}"
        typer.echo(json.dumps(asdict(queued), ensure_ascii=False) if as_json else line)
        return Exit.OK
    sent = sending.send(here, name, message, wait=wait is not False, raw=raw, timeout=patience)
    if as_json:
        typer.echo(json.dumps(asdict(sent), ensure_ascii=False))
    elif sent.exit_code == Exit.OK:
        typer.echo(sending.sentence(sent))
    if sent.exit_code != Exit.OK:
        typer.echo(sending.sentence(sent), err=True)
    if not as_json and (line := sending.change(message, sent)):
        typer.echo(line, err=sent.exit_code != Exit.OK)
    return sent.exit_code


def _message(text: str) -> str:
    """Return the message meant: the word, or what comes on standard input. Raises UsageError."""
    from gascity.session.text import message as typed

    if text == "-":
        text = _standard_input()
    elif any("\udc80" <= character <= "\udcff" for character in text):
        raise UsageError("the message is not UTF-8 text")
    if not typed(text).strip():
        raise UsageError("the message is empty")
    if len(json.dumps(text)) > LARGEST:
        raise UsageError(
            f"the message is too long: {len(text)} characters",
            hint="save it in a file, and send the path of that",
        )
    return text


def _standard_input() -> str:
    data = sys.stdin.buffer.read()
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as problem:
        place = f"the byte 0x{data[problem.start]:02x} at {problem.start} is none"
        raise UsageError(f"standard input is not UTF-8 text: {place}") from None
    if "\0" in text:
        raise UsageError("standard input is not text: there is a NUL character in it")
    return text


def attach(
    context: typer.Context,
    agent: AgentName,
    read_only: Annotated[
        bool, typer.Option("--read-only", "-r", help="Look, do not type.")
    ] = False,
) -> int:
    """Give this terminal to an agent until you detach; one that is starting is waited for."""
    from gascity.cli import attaching

    here: Here = context.obj
    spec, provider = reach(here, agent)
    return attaching.attach(here, spec, provider, read_only=read_only)


def prime(
    context: typer.Context,
    agent: Annotated[
        str | None,
        typer.Argument(
            metavar="AGENT",
            callback=not_empty,
            autocompletion=complete_agents,
            help="Name of an agent; inside a session, the agent itself.",
        ),
    ] = None,
) -> int:
    """Print the prompt of an agent; an agent calls it to find out who it is."""
    name = agent or os.environ.get("GC_AGENT", "")
    if not name:
        raise UsageError("which agent?", hint="give its name, or call it from inside a session")
    here: Here = context.obj
    inside = os.environ.get("GC_CITY_PATH")
    if not here.given and agent is None and inside:
        here = Here(inside)
    city = here.load()
    spec = find_agent(city, name)
    typer.echo(spec.prompt or f"You are {spec.name} of the city {city.name}.")
    return Exit.OK
