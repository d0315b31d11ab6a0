"""`gc reload`: have the controller read the city file now, and say what came of it."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping

import typer

from gascity.cli.city import Here
from gascity.cli.options import AsJson
from gascity.errors import Exit, explain

TIMEOUT = 60.0


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(reload)


def reload(context: typer.Context, as_json: AsJson = False) -> int:
    """Have the controller read the city file now, and say what changed.

    It does so by itself when a file changes. A city that cannot be used leaves the one before in
    force.
    """
    here: Here = context.obj
    answer = here.ask("reload", {}, timeout=TIMEOUT)
    if not isinstance(answer, Mapping):
        raise TypeError("not the answer to a reload")
    if as_json:
        typer.echo(json.dumps(answer, indent=2))
    else:
        _tell(answer)
    return Exit.OK if answer["accepted"] else Exit.USAGE


def _tell(answer: Mapping[str, object]) -> None:
    from gascity.config.problems import ConfigProblems, Problem
    from gascity.errors import ConfigError

    warnings, problems = answer["warnings"], answer["problems"]
    for warning in warnings if isinstance(warnings, list) else ():
        sys.stderr.write(f"warning: {warning}\n")
    if answer["accepted"]:
        typer.echo(answer["message"])
        return
    found = [Problem(**each) for each in problems] if isinstance(problems, list) else []
    sys.stderr.write(ConfigProblems(found).message + "\n")
    refused = ConfigError(
        "the city file was refused", hint="the controller keeps the city it has read before"
    )
    sys.stderr.write(explain(refused))
