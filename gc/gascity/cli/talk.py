"""`gc nudge`, `gc attach`, `gc prime`: talk to an agent."""

from __future__ import annotations

import json
import os
import sys
from typing import Annotated

import typer

from gascity.cli.city import Here, find_agent, names_meant, reach
from gascity.cli.options import AgentName, AsJson, complete_agents
from gascity.errors import Exit, NotRunning, UsageError


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command()(nudge)
    app.command()(attach)
    app.command()(prime)


def nudge(
    context: typer.Context,
    agent: AgentName,
    text: Annotated[
        str, typer.Argument(metavar="TEXT", help="The message; - reads it from standard input.")
    ],
    as_json: AsJson = False,
) -> int:
    """Send an agent a message.

    Ends with 0 only when it is proven that the agent took it, with 6 when it is not.
    """
    here: Here = context.obj
    message = sys.stdin.read() if text == "-" else text
    if not message.strip():
        raise UsageError("the message is empty")
    (name,) = names_meant(here, [agent], one=True)
    delivery = _deliver(here, name, message)
    if as_json:
        typer.echo(json.dumps({"agent": name, "delivery": delivery}))
    else:
        typer.echo(f"{name}: {_MEANING[delivery]}", err=delivery != "submitted")
    return {"submitted": Exit.OK, "absent": Exit.NOT_RUNNING}.get(delivery, Exit.NOT_DELIVERED)


_MEANING = {
    "submitted": "submitted",
    "unverified": "handed over, but nothing shows that the agent took it",
    "refused": "not sent: the agent does not read its input now",
    "queued": "queued, not delivered yet",
    "absent": "not running, nothing was sent",
}


def _deliver(here: Here, name: str, message: str) -> str:
    from gascity.agent import TIMEOUT

    try:
        answered = here.ask("nudge", {"agents": [name], "text": message}, timeout=2 * TIMEOUT)
        return str(answered["delivery"]) if isinstance(answered, dict) else "unverified"
    except NotRunning:
        spec, provider = reach(here, name)
        return provider.nudge(spec.session, message, timeout=TIMEOUT)


def attach(
    context: typer.Context,
    agent: AgentName,
    read_only: Annotated[
        bool, typer.Option("--read-only", "-r", help="Look, do not type.")
    ] = False,
) -> int:
    """Give this terminal to an agent until you detach."""
    spec, provider = reach(context.obj, agent)
    return provider.attach(spec.session, read_only=read_only)


def prime(
    context: typer.Context,
    agent: Annotated[
        str | None,
        typer.Argument(
            metavar="AGENT",
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
    if here.folder == "." and agent is None and inside:
        here = Here(inside)
    city = here.load()
    spec = find_agent(city, name)
    typer.echo(spec.prompt or f"You are {spec.name} of the city {city.name}.")
    return Exit.OK
