"""`gc plan`: what would be done now or is being done, and what waits and for how long."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping

import typer

from gascity.cli import render
from gascity.cli.city import Here
from gascity.cli.options import AsJson
from gascity.cli.quick import STATUS_TIMEOUT
from gascity.errors import Exit, NotRunning

COLUMNS = ("ACTION", "AGENT", "WHY", "WHEN")
QUIET = "nothing to do: everything is as it should be"


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(name="plan")(plan_command)


def plan_command(context: typer.Context, as_json: AsJson = False) -> int:
    """Show what would be done now, and why; and what waits. Does nothing."""
    show_plan(context.obj, as_json=as_json)
    return Exit.OK


def show_plan(here: Here, *, as_json: bool) -> None:
    """Print what a controller does, or would do if there were one."""
    try:
        document = here.ask("plan", {}, timeout=STATUS_TIMEOUT)
    except NotRunning:
        document = _alone(here)
    if not isinstance(document, dict):
        return
    if as_json:
        typer.echo(json.dumps(document, indent=2, ensure_ascii=False))
        return
    rows = [_action(one) for one in document["actions"]]
    rows += [_waiting(one, time.time()) for one in document["waiting"]]
    if rows:
        render.table(COLUMNS, rows)
    else:
        typer.echo(QUIET)


def _alone(here: Here) -> dict[str, object]:
    from dataclasses import replace

    from gascity.cli.alone import scene_alone
    from gascity.controller.planned import NOW, plan_document, step

    scene = replace(scene_alone(here.load()), kept=True)  # as a controller would have it
    return plan_document(scene, [step(action, NOW) for action in scene.plan.actions])


def _action(one: Mapping[str, object]) -> list[str]:
    return [_text(one[key]) for key in ("action", "agent", "why", "when")]


def _waiting(one: Mapping[str, object], now: float) -> list[str]:
    from gascity.cli.times import when

    until = one["until"]
    moment = when(float(until), now) if isinstance(until, int | float) else "-"
    return ["wait", _text(one["agent"]), _text(one["why"]) or _text(one["state"]), moment]


def _text(value: object) -> str:
    from gascity.config.problems import visible

    return visible(" ".join(str(value).split()))
