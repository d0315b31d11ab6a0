"""What can be done with tasks that there are: look at them, and stop one."""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

from gascity.cli.city import Here
from gascity.cli.nearest import did_you_mean
from gascity.cli.options import AsJson, not_empty
from gascity.errors import Exit, GascityError, NotFound, NotRunning, StopTimedOut

if TYPE_CHECKING:
    from gascity.runs.places import Home, TaskPlace
    from gascity.runs.task_info import TaskInfo

COLUMNS = ("TASK", "STATE", "RUNS", "LASTED", "WHY")
SPARE = ("LASTED", "RUNS")
LOOK = 0.05  # seconds between two looks at a supervisor that ends
PATIENCE = 30.0  # seconds for it to end


def register(group: typer.Typer) -> None:
    """Add the commands."""
    group.command()(status)
    group.command()(stop)


def complete_tasks(context: typer.Context, incomplete: str) -> list[str]:
    """Return the names of tasks that begin so."""
    from gascity.runs.places import find_home

    parent = context.find_root().params.get("folder") or "."
    try:
        places = _all(find_home(str(parent)))
    except (GascityError, OSError):
        return []
    names = {name for place in places for name in (place.name, f"{place.project}/{place.name}")}
    return sorted(name for name in names if name.startswith(incomplete))


def find_task(home: Home, word: str) -> TaskPlace:
    """Return the task meant: `project/task`, or `task` where there is one or it is of our project.

    Raises NotFound.
    """
    project, _, name = word.rpartition("/")
    found = [one for one in _all(home) if one.name == name and project in ("", one.project)]
    ours = [one for one in found if one.project == os.environ.get("JRUN_PROJECT_ID", "")]
    if len(found) > 1 and len(ours) != 1:
        names = " or ".join(f"{one.project}/{one.name}" for one in found)
        raise NotFound(f'"{word}" could be {names}', hint="give the whole name")
    if not found:
        known = [one.name if not project else f"{one.project}/{one.name}" for one in _all(home)]
        hint = did_you_mean(word, known, otherwise="`gc task status` shows which there are")
        raise NotFound(f'there is no task "{word}"', hint=hint)
    return (ours if len(found) > 1 else found)[0]


TaskName = Annotated[
    str,
    typer.Argument(
        metavar="TASK", callback=not_empty, autocompletion=complete_tasks, help="Its name."
    ),
]


def status(
    context: typer.Context,
    name: Annotated[
        str,
        typer.Argument(
            metavar="TASK",
            callback=not_empty,
            autocompletion=complete_tasks,
            help="Only this one.",
            show_default=False,
        ),
    ] = "",
    as_json: AsJson = False,
) -> int:
    """Show how tasks stand, and what they wait for."""
    from gascity.cli.records import home_of
    from gascity.runs import desired

    home = home_of(context.obj)
    if name:
        place = find_task(home, name)
        info = desired.truth(place)
        text = json.dumps(shown(place, info), indent=2) + "\n" if as_json else _told(place, info)
        sys.stdout.write(text)
        return Exit.OK
    found: list[tuple[TaskPlace, TaskInfo]] = []
    for place in _all(home):
        try:
            found.append((place, desired.truth(place)))
        except GascityError as problem:
            sys.stderr.write(f"warning: {problem.message}\n")
    if as_json:
        document = {"tasks": [shown(place, info) for place, info in found]}
        sys.stdout.write(json.dumps(document, indent=2) + "\n")
    elif found:
        from gascity.cli import render

        rows = [_row(info) for _, info in found]
        render.table(COLUMNS, rows, state=COLUMNS.index("STATE"), spare=SPARE)
    else:
        typer.echo("no tasks yet")
    return Exit.OK


def stop(context: typer.Context, name: TaskName) -> int:
    """End a task and the run of it; nothing of it starts again until `gc task resume`."""
    from gascity.cli.records import home_of
    from gascity.runs import desired
    from gascity.runs.reconcile import settle
    from gascity.runs.task_info import TaskState, Wanted
    from gascity.session import pids

    here: Here = context.obj
    home = home_of(here)
    place = find_task(home, name)
    before = desired.truth(place)
    if before.state in (TaskState.DONE, TaskState.FAILED):
        raise NotRunning(f"task {before.name} does not run: it is {before.state}: {before.why}")
    desired.change(place, lambda info: replace(info, wanted=Wanted.STOPPED))
    deadline = time.monotonic() + PATIENCE
    asked = None
    while desired.is_held(place):
        process = desired.read(place).process
        if process is not None and process != asked:
            pids.send(process.pid, process.started, signal.SIGTERM)
            pids.send(process.pid, process.started, signal.SIGCONT)  # of one that sleeps by Ctrl-Z
            asked = process
        if time.monotonic() >= deadline:
            raise StopTimedOut(f"task {before.name} is still there after {PATIENCE:g} s")
        time.sleep(LOOK)  # nothing tells when a lock is let go
    settle(home)
    after = desired.truth(place)
    typer.echo(f"task {after.task} is {after.state}: {after.why}")
    return Exit.OK


def shown(place: TaskPlace, info: TaskInfo) -> dict[str, object]:
    """Return a task as `--json` prints it."""
    from gascity.runs.task_info import document

    return {**document(info), "folder": place.path}


def _all(home: Home) -> list[TaskPlace]:
    """Return the tasks that were started as such; `gc run --task` makes none."""
    from gascity.runs.task_info import INFO

    return [one for one in home.tasks() if os.path.isfile(os.path.join(one.path, INFO))]


def _row(info: TaskInfo) -> list[str]:
    return [info.name, str(info.state), str(info.attempts), _lasted(info), info.why or "-"]


def _lasted(info: TaskInfo) -> str:
    from gascity.cli.render import ago
    from gascity.runs.info import seconds_of

    began, ended = seconds_of(info.started), seconds_of(info.ended)
    return "-" if began is None else ago(max((ended or time.time()) - began, 0.0))


def _told(place: TaskPlace, info: TaskInfo) -> str:
    """Return all about one task, for people."""
    import shlex

    from gascity.config.durations import format_duration

    limits = f"{info.max_restarts}, {format_duration(info.delay)} apart"
    facts = {
        "task": info.name,
        "state": f"{info.state}{f': {info.why}' if info.why else ''}",
        "wanted": str(info.wanted),
        "by": info.agent or info.backend or shlex.join(info.command),
        "in": info.cwd,
        "runs": f"{info.attempts}{f', the last is {info.last_run}' if info.last_run else ''}",
        "restarts": f"{limits}{', until DONE' if info.until_done else ''}",
        "after": ", ".join(info.depends_on),
        "supervisor": "" if info.supervisor is None else f"process {info.supervisor}",
        "folder": place.path,
    }
    return "".join(f"{name + ':':<12}{value}\n" for name, value in facts.items() if value)
