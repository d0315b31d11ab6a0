"""All commands under one name, and the options that belong to `gc` itself."""

from __future__ import annotations

import sys
from typing import Annotated, Any

import typer

from gascity import __version__
from gascity.cli import lifecycle, look, setup, talk
from gascity.cli.city import Here
from gascity.errors import Exit

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
            "-C", metavar="DIR", help="Work for the city of this folder.", show_default=False
        ),
    ] = ".",
    _show_version: Annotated[
        bool,
        typer.Option("--version", callback=_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    context.obj = Here(folder)


_typer = typer.Typer(
    name="gc",
    help=HELP,
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
_typer.callback()(_root)
for module in (setup, lifecycle, look, talk):
    module.register(_typer)


def app(*, standalone_mode: bool) -> int:
    """Run the command in this process's words; return its exit code."""
    try:
        code: Any = _typer(standalone_mode=standalone_mode, prog_name="gc")
    except Exception as problem:  # usage errors of the framework carry no common base
        show = getattr(problem, "show", None)
        if show is None:
            raise
        show(file=sys.stderr)
        return int(getattr(problem, "exit_code", Exit.USAGE))
    return code if isinstance(code, int) else Exit.OK
