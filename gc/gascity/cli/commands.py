"""All commands under one name, and the options that belong to `gc` itself."""

from __future__ import annotations

import re
import sys
from typing import Annotated, Any

import typer

from gascity import __version__
from gascity.cli import (
    alerts,
    bus,
    change,
    drift,
    events,
    guest,
    inside,
    lifecycle,
    look,
    monitor,
    nudges,
    planning,
    run,
    runs,
    screens,
    service,
    setup,
    solve,
    talk,
    tasks,
    why,
    wrap,
)
from gascity.cli import explain as explaining
from gascity.cli import hooks as hooking
from gascity.cli import reload as reloading
from gascity.cli.city import Here
from gascity.cli.options import not_empty
from gascity.errors import Exit, UsageError, explain

HELP = "Keep a declared city of coding agents alive."


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"gc {__version__}")
        raise typer.Exit


def _root(
    context: typer.Context,
    folder: Annotated[
        str,
        typer.Option(
            "-C",
            metavar="DIR",
            callback=not_empty,
            help="Work for the city of this folder.",
            show_default=False,
        ),
    ] = "",
    _show_version: Annotated[
        bool,
        typer.Option("--version", callback=_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    context.obj = Here(folder or ".", given=bool(folder))


_typer = typer.Typer(
    name="gc",
    help=HELP,
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
_typer.callback()(_root)
for module in (
    setup,
    lifecycle,
    service,
    change,
    reloading,
    look,
    alerts,
    monitor,
    planning,
    why,
    events,
    run,
    wrap,
    runs,
    tasks,
    solve,
    drift,
    explaining,
    talk,
    nudges,
    bus,
    screens,
    inside,
    hooking,
    guest,
):
    module.register(_typer)


def app(*, standalone_mode: bool) -> int:
    """Run the command in this process's words; return its exit code."""
    try:
        code: Any = _typer(standalone_mode=standalone_mode, prog_name="gc")
    except Exception as problem:  # usage errors of the framework carry no common base
        if type(problem).__name__ == "Abort":  # what the framework makes of Ctrl-C
            return Exit.INTERRUPTED
        told = getattr(problem, "format_message", None)
        if told is None:
            raise
        message = str(told())
        if "\n" in message.strip():  # a group without a command: the message is its help text
            sys.stderr.write(message + "\n")
        else:
            said, near = _plain(message)
            sys.stderr.write(explain(UsageError(said, hint=near or _help(problem))))
        return int(getattr(problem, "exit_code", Exit.USAGE))
    return code if isinstance(code, int) else Exit.OK


_NEAR = re.compile(r"(.*?)\.? (?:Did you mean|\(Possible options:) '?([^',)?]+).*")
_OURS = (  # words of the framework, and ours
    (re.compile(r"got unexpected extra arguments?(?:\(s\))? \((.*)\)"), r"too many words: \1"),
    (re.compile(r": Input should be (.*?)(?:, unable to parse .*)?$"), r": it should be \1"),
)


def _plain(message: str) -> tuple[str, str]:
    """Return the framework's sentence as ours, small and on one line, and whom it was near to."""
    line = " ".join(message.split()).removesuffix(".")
    line = line[:1].lower() + line[1:]
    for theirs, ours in _OURS:
        line = theirs.sub(ours, line)
    if (found := _NEAR.fullmatch(line)) is None:
        return line, ""
    return found[1], f'did you mean "{found[2]}"?'


def _help(problem: Exception) -> str:
    context = getattr(problem, "ctx", None)
    if type(problem).__name__ == "NoSuchOption" and context and context.info_name == "nudge":
        return "`gc nudge AGENT -- TEXT` for a message that begins with -"
    return f"`{context.command_path if context else 'gc'} --help` shows what there is"
