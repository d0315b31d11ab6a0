"""`gc wrap`: an interactive command, used as ever, and recorded as a run."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from gascity.cli.city import Here
from gascity.cli.nearest import did_you_mean
from gascity.cli.options import complete_backends, not_empty
from gascity.cli.run_options import OfTask, Project
from gascity.errors import UsageError


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(
        options_metavar="[OPTIONS] -- COMMAND ...", context_settings={"allow_extra_args": True}
    )(wrap)


def wrap(
    context: typer.Context,
    backend: Annotated[
        str,
        typer.Option(
            metavar="BACKEND",
            callback=not_empty,
            autocompletion=complete_backends,
            help="Whose login it gets: claude, codex, gemini.",
            show_default=False,
        ),
    ] = "",
    project: Project = "",
    task: OfTask = "",
) -> int:
    """Run an interactive command as ever, and record it: `gc wrap -- claude`.

    What it showed is kept. Ends with the exit code of the command, 128 and its number for a signal.
    """
    from dataclasses import replace

    from gascity.cli.asked import Asked, city_of, job_of
    from gascity.cli.running import signals
    from gascity.core.oneshot import OneShot, RunCommand
    from gascity.runs import job
    from gascity.runs.context import Cancel
    from gascity.runs.info import WRAP
    from gascity.runs.places import find_home
    from gascity.runs.reconcile import settle
    from gascity.runs.watchdog import Limits
    from gascity.runs.wrap import Wrapped

    here: Here = context.obj
    command = tuple(context.args)
    if not command:
        raise UsageError("nobody says what is to be run", hint="`gc wrap -- COMMAND ...`")
    home = find_home(here.folder)
    settle(home)
    asked = Asked("", "", command, project, task, "", "", Limits())
    made = job_of(city_of(here), home, asked)
    if backend:
        found: OneShot | None = made.known.get(backend)
        if found is None:
            there = f"there are: {', '.join(sorted(made.known))}"
            hint = did_you_mean(backend, made.known, otherwise=there)
            raise UsageError(f"unknown agent type: {backend}", hint=hint)
        made = replace(made, backend=replace(found, run=RunCommand(command)))
    made = replace(made, kind=WRAP, by=lambda started: Wrapped(command, started))
    cancel = Cancel()
    with signals(cancel.set):
        outcome = job.run(made, cancel)
    if outcome.info.pid is None:  # nobody else could say why it did not begin
        sys.stderr.write(f"error: run {outcome.info.run_id} failed: {outcome.info.end}\n")
    return outcome.exit_code
