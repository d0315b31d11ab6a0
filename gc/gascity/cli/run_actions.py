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
from gascity.cli.options import AsJson, not_empty, seconds
from gascity.errors import Exit, GascityError, NotRunning, StopTimedOut, UsageError

if TYPE_CHECKING:
    from gascity.cli.records import Known
    from gascity.runs.info import Broken, RunInfo
    from gascity.runs.places import Home

LOOK = 0.1  # seconds between two looks whether a run is over
PATIENCE = 30.0  # seconds for a run to end, beyond its grace
KEEP = 100


def complete_runs(context: typer.Context, incomplete: str) -> list[str]:
    """Return the ids of runs that begin so, the newest first."""
    from gascity.cli.runs import complete_runs as complete

    return complete(context, incomplete)


RunId = Annotated[
    str,
    typer.Argument(
        metavar="RUN",
        callback=not_empty,
        autocompletion=complete_runs,
        help="The id of a run, or its beginning.",
    ),
]


def register(group: typer.Typer) -> None:
    """Add the commands."""
    for command in (show, logs, stop, prune, serve):
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
    from gascity.cli.records import lives
    from gascity.runs import tail
    from gascity.runs.folder import LAST_SCREEN, STDERR, STDOUT, open_file
    from gascity.runs.info import SESSION

    here: Here = context.obj
    one = _known(here, run)
    is_session = one.info is not None and one.info.kind == SESSION
    name = LAST_SCREEN if is_session else STDERR if errors else STDOUT
    if follow and not is_session:
        for piece in tail.follow(one.folder.file(name), 0, lives(here, one.folder)):
            sys.stdout.buffer.write(piece)
            if not piece:
                sys.stdout.flush()
                look_at_the_reader()
        return Exit.OK
    with (
        contextlib.suppress(FileNotFoundError),  # it has not said anything
        open_file(one.folder.file(name)) as file,
    ):
        shutil.copyfileobj(file, sys.stdout.buffer)
    return Exit.OK


def stop(context: typer.Context, run: RunId) -> int:
    """End a run and all that it began; return when it is gone."""
    from gascity.runs.info import SESSION, SOLVE
    from gascity.runs.places import find_home
    from gascity.runs.reconcile import settle
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
    if one.info is not None and one.info.kind == SOLVE and runner is not None:
        _stop_at_issue(home, name)  # its runner runs others as well, which are to go on
    elif runner is None or not pids.send(runner.pid, runner.started, signal.SIGTERM):
        raise NotRunning(f"run {name} does not run: {one.end}")
    if runner is not None:
        # One that Ctrl-Z stopped hears nothing.
        pids.send(runner.pid, runner.started, signal.SIGCONT)
    deadline = time.monotonic() + PATIENCE
    while any(each.run_id == name for each in home.open_runs()):
        if time.monotonic() >= deadline:
            raise StopTimedOut(f"run {name} is still there after {PATIENCE:g} s")
        time.sleep(LOOK)  # nothing tells when a mark goes
        settle(home)  # its runner may be killed meanwhile
    typer.echo(f"stopped run {name}")
    return Exit.OK


def _stop_at_issue(home: Home, run: str) -> None:
    """Have the agent end whose work on an issue is this run."""
    from gascity.worktrees import solves

    for place in solves.places(home):
        with contextlib.suppress(GascityError):  # a record that nobody can read is not its own
            for part in place.read().parts:
                if part.run == run:
                    place.stop(part.agent)


def prune(
    context: typer.Context,
    keep: Annotated[
        int, typer.Option(metavar="N", min=0, help="How many of each task are kept, the newest.")
    ] = KEEP,
    older: Annotated[
        str,
        typer.Option(
            metavar="TIME",
            callback=not_empty,
            help="Only those that ended longer ago: 720h.",
            show_default=False,
        ),
    ] = "",
) -> int:
    """Let old one-shot runs go; one that runs never does."""
    from gascity.cli.records import home_of
    from gascity.runs.info import RunInfo, seconds_of

    here: Here = context.obj
    before = time.time() - seconds("--older", older, least=0.0) if older else None
    gone = stays = 0
    home = home_of(here)
    for task in home.tasks():
        old = task.runs.ids()[keep:]
        running = {one.run_id for one in home.open_runs()}  # after: the mark of a run comes first
        for run in old:
            folder = task.runs.of(run)
            info = folder.read_info()
            if run in running or _has_worktree(info):
                continue
            ended = seconds_of(info.end_time) if isinstance(info, RunInfo) else None
            if before is None or (ended is not None and ended < before):
                folder.remove()
                if not folder.exists():
                    gone += 1
                else:
                    stays += 1
                    sys.stderr.write(f"warning: {folder.path} cannot be removed\n")
        with contextlib.suppress(OSError):  # there is more in it
            os.rmdir(task.runs.path)
    typer.echo(f"let {gone} run{'' if gone == 1 else 's'} go")
    return Exit.FAILED if stays else Exit.OK


def _has_worktree(info: RunInfo | Broken) -> bool:
    """Tell whether a run worked on an issue, in a worktree that is still there."""
    from gascity.runs.info import SOLVE, RunInfo

    return isinstance(info, RunInfo) and info.kind == SOLVE and os.path.isdir(info.work_dir)


def serve(
    context: typer.Context,
    port: Annotated[
        int,
        typer.Option(
            metavar="PORT", min=0, max=65535, help="Where to listen; 0 takes one that is free."
        ),
    ] = 0,
    as_json: AsJson = False,
) -> int:
    """Serve runs over HTTP to this machine, what they say as they say it; until Ctrl-C."""
    from gascity.cli.serving import serve_until_over

    serve_until_over(context.obj, port, as_json=as_json)
    return Exit.OK


def _known(here: Here, run: str) -> Known:
    from gascity.cli import records

    (one,) = records.known(here, [records.find_run(here, run)])
    return one
