"""`gc runs`: incarnations of agents and one-shot work, when each lived and how it ended.

Reading needs no controller. What is done to a run is in `run_actions`.
"""

from __future__ import annotations

import itertools
import json
import sys
import time
from collections.abc import Iterator
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gascity.cli.city import Here
from gascity.cli.options import AsJson, complete_agents, not_empty
from gascity.errors import Exit, GascityError, NotFound

if TYPE_CHECKING:
    from gascity.cli.records import Known
    from gascity.runs.info import LastNudge

LINES = 20
PROMPT_LINES = 10
SCREEN_LINES = 50
COLUMNS = ("RUN", "AGENT", "STATE", "STARTED", "LASTED", "END")
SPARE = ("LASTED", "STARTED", "AGENT")


class ListByDefault(typer.core.TyperGroup):
    """A group in which the first word may be left out: `gc runs mayor` lists."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:  # noqa: ANN401  the framework's own
        """Put the word there that was left out."""
        known = {*self.commands, "-h", "--help"}
        is_whole = args[0] in known if args else ctx.resilient_parsing  # a shell completes it then
        return super().parse_args(ctx, args if is_whole else ["list", *args])

    def shell_complete(self, ctx: Any, incomplete: str) -> list[Any]:  # noqa: ANN401  as above
        """Offer the words of the group, and what may stand after the one that is left out."""
        listing = self.commands["list"]
        with listing.make_context("list", [], parent=ctx, resilient_parsing=True) as inner:
            told = (listing if incomplete.startswith("-") else listing.params[0]).shell_complete(
                inner, incomplete
            )
        return [*super().shell_complete(ctx, incomplete), *told]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    from gascity.cli import run_actions

    group = typer.Typer(
        cls=ListByDefault,
        help="Show what ran, and how it ended; stop it, or let old runs go. `gc runs` alone lists.",
    )
    group.command("list")(runs)
    run_actions.register(group)
    app.add_typer(group, name="runs")


def complete_runs(context: typer.Context, incomplete: str) -> list[str]:
    """Return the ids of runs that begin so, the newest first."""
    from gascity.cli.records import runs_of

    parent = context.find_root().params.get("folder") or "."
    agent = context.params.get("agent")
    try:
        found = [one.run_id for one in runs_of(Here(str(parent)), [str(agent)] if agent else ())]
    except (GascityError, OSError):
        return []
    return [run for run in found if run.startswith(incomplete)]


def complete_names(context: typer.Context, incomplete: str) -> list[str]:
    """Return the names of agents, pools and tasks that begin so."""
    from gascity.cli.task_actions import complete_tasks

    return [*complete_agents(context, incomplete), *complete_tasks(context, incomplete)]


def runs(
    context: typer.Context,
    agent: Annotated[
        str,
        typer.Argument(
            metavar="AGENT",
            callback=not_empty,
            autocompletion=complete_names,
            help="Only those of this agent, pool or task.",
            show_default=False,
        ),
    ] = "",
    run: Annotated[
        str,
        typer.Option(
            "--run",
            metavar="RUN",
            callback=not_empty,
            autocompletion=complete_runs,
            help="All about one run; the beginning of its id will do.",
            show_default=False,
        ),
    ] = "",
    lines: Annotated[
        int,
        typer.Option(
            "-n", "--lines", metavar="N", min=0, help="How many of the newest; 0 for all."
        ),
    ] = LINES,
    as_json: AsJson = False,
) -> int:
    """Show the runs of agents and of one-shot work, the newest first, and how each ended."""
    from gascity.cli import records

    here: Here = context.obj
    agents = _whose(context, agent) if agent else []
    if run:
        (one,) = records.known(here, [records.find_run(here, run, agents)])
        sys.stdout.write(json.dumps(one.document(), indent=2) + "\n" if as_json else told(one))
        return Exit.OK
    folders = list(itertools.islice(records.runs_of(here, agents), min(lines, sys.maxsize) or None))
    found = records.known(here, folders)
    if as_json:
        document = {"runs": [one.document() for one in found]}
        sys.stdout.write(json.dumps(document, indent=2) + "\n")
        return Exit.OK
    _warn(found)
    readable = [one for one in found if one.info is not None]
    if not readable:
        typer.echo(f"no runs of {agent} yet" if agent else "no runs yet")
        return Exit.OK
    from gascity.cli import render

    rows = [_row(one) for one in readable]
    render.table(COLUMNS, rows, state=COLUMNS.index("STATE"), spare=SPARE)
    return Exit.OK


def _whose(context: typer.Context, word: str) -> list[str]:
    """Return whose runs a word means. Raises NotFound, also for a command that was misspelt."""
    from gascity.cli import records
    from gascity.cli.nearest import did_you_mean

    try:
        return records.agents_meant(context.obj, word)
    except NotFound as problem:
        group = context.parent.command if context.parent is not None else None
        known = list(group.commands) if isinstance(group, ListByDefault) else []
        if not problem.hint.startswith("did you mean"):
            problem.hint = did_you_mean(word, known, otherwise=problem.hint)
        raise


def _warn(found: list[Known]) -> None:
    """Tell of records that cannot be read, on standard error."""
    for one in found:
        if one.info is None:
            from gascity.config.problems import visible

            where = one.folder.path
            sys.stderr.write(f"warning: the record in {where} cannot be read: {visible(one.end)}\n")


def _row(one: Known) -> list[str]:
    from gascity.config.problems import visible

    assert one.info is not None  # noqa: S101  only these are shown
    return [
        one.folder.run_id,
        visible(one.info.agent or f"{one.info.project_id}/{one.info.task_id}"),
        one.state,
        _started(one.info.start_time),
        _lasted(one),
        visible(one.end),
    ]


def _started(text: str) -> str:
    """Return a time for people: of today without the date, of another day without seconds."""
    if not text:
        return "-"
    moment = _local(text)
    if moment is None:
        return "?"
    today = datetime.now().astimezone().date()
    return moment.strftime("%H:%M:%S" if moment.date() == today else "%Y-%m-%d %H:%M")


def _lasted(one: Known) -> str:
    from gascity.cli.render import ago
    from gascity.runs.info import seconds_of

    if one.info is None:
        return "?"
    if one.info.duration is not None:
        return ago(one.info.duration)
    began = seconds_of(one.info.start_time)
    return ago(time.time() - began) if one.state == "running" and began is not None else "?"


def _local(text: str) -> datetime | None:
    try:
        return datetime.fromisoformat(text).astimezone()
    except (ValueError, OverflowError):
        return None


def told(one: Known) -> str:
    """Return all about one run."""
    return "".join(f"{line}\n" for line in (*_facts(one), *_texts(one)))


def _facts(one: Known) -> Iterator[str]:
    from gascity.config.problems import visible

    info = one.info
    facts = {
        "run": one.folder.run_id,
        "state": one.state,
        "end": one.end,
        "folder": one.folder.path,
    }
    if info is not None:
        where = f"{info.session} on {info.provider}" if info.provider else info.session
        nudge = info.last_nudge
        facts = {
            "run": info.run_id,
            "agent": info.agent,
            "session": f"{where}, {info.backend}" if where and info.backend else where,
            "backend": "" if where else info.backend,
            "state": f"{one.state} (a crash)" if info.crash else one.state,
            "started": _moment(info.start_time),
            "because": info.why,
            "ended": _moment(info.end_time),
            "end": one.end,
            "lasted": "" if _lasted(one) == "?" else _lasted(one),
            "exit code": "" if info.exit_code is None else str(info.exit_code),
            "restarts": str(info.restarts) if where or info.restarts else "",
            "before it": info.previous_run_id,
            "ready": {"timeout": "its prompt was never seen"}.get(info.ready, info.ready),
            "message": "" if nudge is None else _message(nudge),
            "works in": info.work_dir,
            "command": info.command,
            "task": f"{info.project_id}/{info.task_id}" if info.task_id else "",
            "started by": info.parent_run_id,
            "folder": one.folder.path,
        }
    for name, text in facts.items():
        if text:
            yield f"{name + ':':<11}{visible(text)}"


def _message(nudge: LastNudge) -> str:
    which = "the last one" if nudge.number is None else f"the last one, {nudge.number},"
    return f"{which} was {nudge.outcome} at {_moment(nudge.time)}"


def _moment(text: str) -> str:
    moment = _local(text) if text else None
    return moment.strftime("%Y-%m-%d %H:%M:%S") if moment is not None else ""


def _texts(one: Known) -> Iterator[str]:
    """Yield the beginning of the prompt, of the answer, and the end of the last screen."""
    from gascity.config.problems import visible
    from gascity.runs.folder import LAST_SCREEN, OUTPUT, PROMPT
    from gascity.runs.preamble import asked

    for title, name in (("prompt", PROMPT), ("answer", OUTPUT), ("last screen", LAST_SCREEN)):
        if not one.folder.has(name):
            continue
        text = one.folder.read(name)
        rows = (asked(text) if name == PROMPT else text).rstrip().split("\n")
        if rows == [""] and name != LAST_SCREEN:
            continue
        shown = rows[-SCREEN_LINES:] if name == LAST_SCREEN else rows[:PROMPT_LINES]
        yield ""
        yield f"{title} ({one.folder.file(name)}):"
        if name == LAST_SCREEN and len(rows) > len(shown):
            yield f"│ ... {len(rows) - len(shown)} lines above"
        yield from (f"│ {visible(row)}".rstrip() for row in shown)
        if name != LAST_SCREEN and len(rows) > len(shown):
            yield f"│ ... {len(rows) - len(shown)} more lines"
