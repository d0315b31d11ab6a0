"""`gc task`: goals that outlive their runs. Starting them; the rest is in `task_actions`."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from gascity.cli.city import Here
from gascity.cli.options import AsJson, not_empty, seconds
from gascity.cli.run import limit, prompt_given
from gascity.cli.run_options import AsAgent, Backend, Cwd, Project, Prompt, PromptFile
from gascity.errors import Exit

if TYPE_CHECKING:
    from gascity.cli.supervising import Order

MAX_RESTARTS, DELAY = 10, "1s"
Detach = Annotated[
    bool, typer.Option("--detach", help="In a process of its own, which outlives this one.")
]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    from gascity.cli import task_actions

    group = typer.Typer(
        help="Have work done that may take several runs.",
        no_args_is_help=True,
        rich_markup_mode=None,
    )
    group.command(
        options_metavar="[OPTIONS] [-- COMMAND ...]", context_settings={"allow_extra_args": True}
    )(start)
    group.command()(resume)
    task_actions.register(group)
    app.add_typer(group, name="task")


def complete_tasks(context: typer.Context, incomplete: str) -> list[str]:
    """Return the names of tasks that begin so."""
    from gascity.cli.task_actions import complete_tasks as complete

    return complete(context, incomplete)


def start(
    context: typer.Context,
    task: Annotated[
        str, typer.Option(metavar="TASK", callback=not_empty, help="Its name.", show_default=False)
    ],
    backend: Backend = "",
    agent: AsAgent = "",
    project: Project = "",
    prompt: Prompt = None,
    prompt_file: PromptFile = "",
    cwd: Cwd = "",
    max_restarts: Annotated[
        int,
        typer.Option(
            metavar="N", min=0, max=1_000_000, help="How often it is run again; 0 for one run."
        ),
    ] = MAX_RESTARTS,
    delay: Annotated[
        str, typer.Option(metavar="TIME", callback=not_empty, help="How long between two runs.")
    ] = DELAY,
    until_done: Annotated[
        bool, typer.Option("--until-done", help="Only the file DONE ends it, not exit code 0.")
    ] = False,
    timeout: Annotated[
        str,
        typer.Option(
            metavar="TIME",
            callback=not_empty,
            help="How long the whole task may take: 8h.",
            show_default=False,
        ),
    ] = "",
    idle_timeout: Annotated[
        str,
        typer.Option(
            metavar="TIME",
            callback=not_empty,
            help="How long a run may say nothing: 5m.",
            show_default=False,
        ),
    ] = "",
    depends_on: Annotated[
        list[str] | None,
        typer.Option(
            metavar="TASK",
            callback=not_empty,
            autocompletion=complete_tasks,
            help="A task that has to be done before.",
            show_default=False,
        ),
    ] = None,
    detach: Detach = False,
    as_json: AsJson = False,
) -> int:
    """Have a task done, with as many runs as it takes, and print the answer of the last one.

    It is done when a run ends with exit code 0, or when there is a file DONE in the task's folder,
    and all runs that it began are over. Otherwise it is run again. `-- COMMAND ...` runs a command
    of your own. Ends with 0 when it is done, else as its last run did; 124 when its time is over.
    """
    from gascity.cli import supervising
    from gascity.cli.asked import Asked
    from gascity.runs.task_info import TaskInfo
    from gascity.runs.watchdog import Limits

    here: Here = context.obj
    wanted = TaskInfo(
        project,
        task,
        max_restarts=max_restarts,
        delay=seconds("--delay", delay, least=0.0),
        until_done=until_done,
        timeout=limit("--timeout", timeout),
        idle_timeout=limit("--idle-timeout", idle_timeout),
    )
    asked = Asked(
        backend=backend,
        agent=agent,
        command=tuple(context.args),
        project=project,
        task=task,
        prompt=prompt_given(prompt, prompt_file, needed=not context.args, who=backend or agent),
        cwd=cwd,
        limits=Limits(),
    )
    order = supervising.start(here, asked, wanted, depends_on or [])
    return _carry_out(order, detach=detach, as_json=as_json)


def resume(
    context: typer.Context,
    name: Annotated[
        str,
        typer.Argument(
            metavar="TASK", callback=not_empty, autocompletion=complete_tasks, help="Its name."
        ),
    ],
    detach: Detach = False,
    as_json: AsJson = False,
) -> int:
    """Go on with a task that was stopped or failed, with a fresh count of restarts."""
    from gascity.cli import supervising
    from gascity.cli.records import home_of
    from gascity.cli.task_actions import find_task
    from gascity.runs import desired

    here: Here = context.obj
    home = home_of(here)
    place = find_task(home, name)
    desired.truth(place)
    order = supervising.resume(here, home, place)
    return _carry_out(order, detach=detach, as_json=as_json)


def _carry_out(order: Order, *, detach: bool, as_json: bool) -> int:
    from gascity.cli import supervising
    from gascity.cli.running import printed, say
    from gascity.cli.task_actions import shown
    from gascity.runs.task_info import TaskState

    if detach:
        info = supervising.detach(order)
        name = order.place.name
        words = f"task {name} is on its way; `gc task status {name}` shows how it stands\n"
        sys.stdout.write(
            json.dumps(shown(order.place, info), indent=2) + "\n" if as_json else words
        )
        return Exit.OK
    info, told = supervising.supervise(order, aloud=True)
    code = info.exit_code or Exit.OK
    if as_json:
        text = json.dumps(shown(order.place, info), indent=2) + "\n"
        return printed(lambda: sys.stdout.write(text), code, order.place.path)
    if told is not None:
        code = printed(told.answer, code, told.folder)
    if info.state is TaskState.FAILED:
        where = f"`gc runs show {info.last_run}` tells more, " if info.last_run else ""
        say(f"hint: {where}`gc task resume {info.task}` goes on")
    return code
