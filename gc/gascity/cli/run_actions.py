"""What can be done with one run, or with old ones: show it, read it, stop it, let it go."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import sys
import time
from typing import TYPE_CHECKING, Annotated

import typer

from gascity.cli.city import Here
from gascity.cli.options import AsJson, seconds
from gascity.errors import Exit, NotRunning, StopTimedOut, UsageError

if TYPE_CHECKING:
    from gascity.cli.records import Known

LOOK = 0.1  # seconds between two looks at a file that may grow
PATIENCE = 30.0  # seconds for a run to end, beyond its grace
KEEP = 100


def complete_runs(context: typer.Context, incomplete: str) -> list[str]:
    """Return the ids of runs that begin so, the newest first."""
    from gascity.cli.runs import complete_runs as complete

    return complete(context, incomplete)


RunId = Annotated[
    str,
    typer.Argument(
        metavar="RUN", autocompletion=complete_runs, help="The id of a run, or its beginning."
    ),
]


def register(group: typer.Typer) -> None:
    """Add the commands."""
    for command in (show, logs, stop, prune):
        group.command()(command)


def show(context: typer.Context, run: RunId, as_json: AsJson = False) -> int:
    """Show all about one run."""
    from gascity.cli.runs import told

    one = _known(context.obj, run)
    sys.stdout.write(json.dumps(one.document(), indent=2) + "\n" if as_json else told(one))
    return Exit.OK


def logs(
    context: typer.Context,
    run: RunId,
    follow: Annotated[
        bool, typer.Option("--follow", "-f", help="Go on until the run is over.")
    ] = False,
    errors: Annotated[
        bool, typer.Option("--stderr", help="What it complained of, instead of what it said.")
    ] = False,
) -> int:
    """Print what a run said, byte for byte; of a session, its last screen."""
    from gascity.cli.following import look_at_the_reader
    from gascity.runs.folder import LAST_SCREEN, STDERR, STDOUT
    from gascity.runs.info import SESSION

    here: Here = context.obj
    one = _known(here, run)
    is_session = one.info is not None and one.info.kind == SESSION
    name = LAST_SCREEN if is_session else STDERR if errors else STDOUT
    while follow and not is_session and not one.folder.has(name) and _lives(here, one):
        look_at_the_reader()
        time.sleep(LOOK)  # it begins
    try:
        file = open(one.folder.file(name), "rb")  # noqa: SIM115  closed below
    except FileNotFoundError:
        return Exit.OK  # it has not said anything
    with file:
        shutil.copyfileobj(file, sys.stdout.buffer)
        while follow and not is_session and _lives(here, one):
            sys.stdout.flush()
            look_at_the_reader()
            time.sleep(LOOK)  # nothing tells when another process writes to a file
            shutil.copyfileobj(file, sys.stdout.buffer)
        shutil.copyfileobj(file, sys.stdout.buffer)
    return Exit.OK


def stop(context: typer.Context, run: RunId) -> int:
    """End a run and all that it began; return when it is gone."""
    from gascity.runs.info import SESSION
    from gascity.runs.places import find_home
    from gascity.session import pids

    here: Here = context.obj
    one = _known(here, run)
    name = one.folder.run_id
    if one.info is not None and one.info.kind == SESSION:
        raise UsageError(
            f"run {name} is a session of {one.info.agent}", hint=f"`gc stop {one.info.agent}`"
        )
    home = find_home(here.folder)
    (runner,) = [each.runner for each in home.open_runs() if each.run_id == name] or [None]
    if runner is None or not pids.send(runner.pid, runner.started, signal.SIGTERM):
        raise NotRunning(f"run {name} does not run: {one.end}")
    deadline = time.monotonic() + PATIENCE
    while any(each.run_id == name for each in home.open_runs()):
        if time.monotonic() >= deadline:
            raise StopTimedOut(f"run {name} is still there after {PATIENCE:g} s")
        time.sleep(LOOK)
    typer.echo(f"stopped run {name}")
    return Exit.OK


def prune(
    context: typer.Context,
    keep: Annotated[
        int, typer.Option(min=0, help="How many of each task are kept, the newest.")
    ] = KEEP,
    older: Annotated[
        str,
        typer.Option(
            metavar="TIME", help="Only those that ended longer ago: 720h.", show_default=False
        ),
    ] = "",
) -> int:
    """Let old one-shot runs go; one that runs never does."""
    from gascity.cli.records import home_of
    from gascity.runs.info import RunInfo, seconds_of

    here: Here = context.obj
    before = time.time() - seconds("--older", older, least=0.0) if older else None
    gone = 0
    home = home_of(here)
    for task in home.tasks():
        old = task.runs.ids()[keep:]
        running = {one.run_id for one in home.open_runs()}  # after: the mark of a run comes first
        for run in old:
            folder = task.runs.of(run)
            info = folder.read_info()
            if run in running:
                continue
            ended = seconds_of(info.end_time) if isinstance(info, RunInfo) else None
            if before is None or (ended is not None and ended < before):
                folder.remove()
                gone += 1
        with contextlib.suppress(OSError):  # there is more in it
            os.rmdir(task.runs.path)
    typer.echo(f"let {gone} run{'' if gone == 1 else 's'} go")
    return Exit.OK


def _known(here: Here, run: str) -> Known:
    from gascity.cli import records

    (one,) = records.known(here, [records.find_run(here, run)])
    return one


def _lives(here: Here, one: Known) -> bool:
    from gascity.cli import records

    (now,) = records.known(here, [one.folder])
    return now.state == "running"
