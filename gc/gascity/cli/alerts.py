"""`gc alerts`, `gc mute`, `gc unmute`: what a person should know of, and of whom not now."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Annotated

import typer

from gascity.cli import render
from gascity.cli.change import asked_or_alone
from gascity.cli.city import Here, find_agents, names_meant
from gascity.cli.options import AgentNames, AsJson, not_empty, seconds
from gascity.cli.quick import STATUS_TIMEOUT
from gascity.config.problems import visible
from gascity.core.spans import span
from gascity.errors import Exit, NotRunning

if TYPE_CHECKING:
    from gascity.cli.alone import Changing

SHORTEST = 1.0
_RANK = {"critical": 0, "warning": 1, "info": 2}


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command()(alerts)
    app.command()(mute)
    app.command()(unmute)


def alerts(context: typer.Context, as_json: AsJson = False) -> int:
    """Show the alerts that are open: the troubles a person should know of, the worst first."""
    here: Here = context.obj
    try:
        document = here.ask("status", {}, timeout=STATUS_TIMEOUT)
    except NotRunning:
        from gascity.cli.alone import open_alerts
        from gascity.cli.city import remembered
        from gascity.controller.place import Place

        city = here.load()
        found = open_alerts(city, remembered(Place(city.root).journal))
    else:
        found = document["alerts"] if isinstance(document, dict) else []
    if as_json:
        typer.echo(json.dumps({"alerts": found}, indent=2, ensure_ascii=False))
        return Exit.OK
    if not found:
        typer.echo("no alerts are open")
        return Exit.OK
    found.sort(key=lambda one: (_RANK.get(str(one["severity"]), 0), one["since"]))
    now = time.time()
    render.table(
        ("SEVERITY", "AGENT", "FOR", "TOLD", "WHAT"),
        [
            [
                str(one["severity"]),
                visible(str(one["agent"])) or "-",
                span(now - float(str(one["since"]))),
                "muted" if one["muted"] else "yes" if one["told"] else "no",
                visible(" ".join(str(one["text"]).split())),
            ]
            for one in found
        ],
        state=0,
    )
    return Exit.OK


def mute(
    context: typer.Context,
    agents: AgentNames,
    how_long: Annotated[
        str | None,
        typer.Option(
            "--for",
            metavar="TIME",
            callback=not_empty,
            help="For how long, such as 2h; else until unmuted.",
        ),
    ] = None,
    as_json: AsJson = False,
) -> int:
    """Tell nobody of the troubles of agents. They are kept, and told afterwards if they last."""
    lasts = None if how_long is None else seconds("--for", how_long, least=SHORTEST)

    def change() -> Changing:
        from gascity.controller.change_requests import muting
        from gascity.core.by_hand import mute as muted

        until, words = muting(lasts, time.time())
        return lambda memory, specs: muted(memory, specs, until, words)

    _mute(context.obj, "mute", agents, {"seconds": lasts}, change, as_json=as_json)
    return Exit.OK


def unmute(context: typer.Context, agents: AgentNames, as_json: AsJson = False) -> int:
    """Tell people of the troubles of agents again."""

    def change() -> Changing:
        from gascity.core.by_hand import unmute as unmuted

        return unmuted

    _mute(context.obj, "unmute", agents, {}, change, as_json=as_json)
    return Exit.OK


def _mute(
    here: Here,
    method: str,
    agents: Sequence[str],
    params: Mapping[str, object],
    change: Callable[[], Changing],
    *,
    as_json: bool,
) -> None:
    names = names_meant(here, agents)

    def alone() -> list[dict[str, object]]:
        from gascity.cli.alone import change_memory
        from gascity.controller.change_requests import muted

        specs = find_agents(here.load(), names)
        memory = change_memory(here, specs, change())
        return [muted(spec, memory) for spec in specs]

    found = asked_or_alone(here, method, {"agents": names, **params}, STATUS_TIMEOUT, alone)
    if as_json:
        typer.echo(json.dumps({"agents": found}, indent=2, ensure_ascii=False))
        return
    for one in found:
        sys.stdout.write(f"{one['name']}: {_until(one)}\n")


def _until(one: Mapping[str, object]) -> str:
    if not one["muted"]:
        return "its alerts are told"
    muted_until = one["muted_until"]
    if not isinstance(muted_until, int | float):
        return "its alerts are muted until `gc unmute`"
    when = datetime.fromtimestamp(muted_until).astimezone().strftime("%Y-%m-%d %H:%M")
    return f"its alerts are muted until {when}, for {span(muted_until - time.time())}"
