"""`gc drain-check`, `gc drain-ack`, `gc request-restart`: what an agent says and asks of itself."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Annotated

import typer

from gascity.cli.city import Here
from gascity.cli.options import AsJson, complete_agents, not_empty
from gascity.cli.quick import STOP_TIMEOUT, print_drain
from gascity.cli.whom import TIMEOUT, Whom, should_drain
from gascity.errors import Exit, NotRunning

OwnName = Annotated[
    str | None,
    typer.Argument(
        metavar="AGENT",
        callback=not_empty,
        autocompletion=complete_agents,
        help="Name of an agent; inside a session, the agent itself.",
    ),
]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command(name="drain-check")(drain_check)
    app.command(name="drain-ack")(drain_ack)
    app.command(name="request-restart")(request_restart)


def drain_check(
    context: typer.Context,
    agent: OwnName = None,
    quiet: Annotated[
        bool, typer.Option("--quiet", "-q", help="Print nothing; the exit code tells.")
    ] = False,
    as_json: AsJson = False,
) -> int:
    """Tell whether an agent should finish its work: ends with 0 if so, else with 1."""
    verdict = should_drain(_whom(context, agent))
    if not as_json:
        return print_drain(verdict.drain, quiet=quiet)
    typer.echo(json.dumps(asdict(verdict)))
    return Exit.OK if verdict.drain else Exit.FAILED


def drain_ack(context: typer.Context, agent: OwnName = None) -> int:
    """Say that an agent has finished its work, as it was asked to; it is stopped then."""
    whom = _whom(context, agent)
    try:
        whom.here.ask("drain_ack", whom.params, timeout=TIMEOUT)
    except NotRunning:
        from gascity.controller.flags import acknowledge

        session, provider = whom.reach()
        acknowledge(provider, session, whom.agent, whom.run)
        then = "no controller runs; the next one stops it"
    else:
        then = "it is stopped now"
    typer.echo(f"{whom.agent}: has drained; {then}")
    return Exit.OK


def request_restart(
    context: typer.Context,
    agent: OwnName = None,
    wait: Annotated[
        bool,
        typer.Option(
            "--wait/--no-wait",
            help="Wait until a new incarnation is up; inside a session that ends the command.",
        ),
    ] = True,
) -> int:
    """Have an agent replaced by a new incarnation, as it asks for itself."""
    whom = _whom(context, agent)
    timeout = STOP_TIMEOUT if wait else TIMEOUT
    answered = whom.here.ask("request_restart", {**whom.params, "wait": wait}, timeout=timeout)
    run = answered.get("run", "") if isinstance(answered, dict) else ""
    typer.echo(
        f"{whom.agent}: replaced, run {run} lives now"
        if wait
        else f"{whom.agent}: run {run} is to be replaced"
    )
    return Exit.OK


def _whom(context: typer.Context, agent: str | None) -> Whom:
    here: Here = context.obj
    return Whom.meant(here.folder if here.given else "", agent or "")
