"""`gc guest`: a hand inside a sandbox. Here: the daemon, and the file to carry it there."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from gascity.cli import guest_client
from gascity.cli.options import not_empty
from gascity.errors import Exit, GascityError, UsageError


def register(app: typer.Typer) -> None:
    """Add the commands."""
    group = typer.Typer(
        help="Run commands and move files inside a VM, a container or a pod.",
        no_args_is_help=True,
        rich_markup_mode=None,
    )
    group.command()(serve)
    group.command()(bundle)
    guest_client.register(group)
    app.add_typer(group, name="guest")


def serve(
    socket: Annotated[
        str,
        typer.Option(
            metavar="PATH", callback=not_empty, help="Serve a Unix socket, for this user alone."
        ),
    ] = "",
    stdio: Annotated[
        bool, typer.Option("--stdio", help="Serve standard input and output.")
    ] = False,
    vsock: Annotated[
        int | None,
        typer.Option(
            metavar="PORT", min=0, max=2**32 - 2, help="Serve the host of this virtual machine."
        ),
    ] = None,
    root: Annotated[
        str | None,
        typer.Option(
            metavar="DIR",
            callback=not_empty,
            help="Read, write and list files in this folder alone.",
        ),
    ] = None,
    workdir: Annotated[
        str,
        typer.Option(metavar="DIR", callback=not_empty, help="Where commands and paths begin."),
    ] = ".",
    timeout: Annotated[
        float,
        typer.Option(
            metavar="SECONDS", min=0, help="The most that a command may take; 0 for no limit."
        ),
    ] = 600,
    max_output: Annotated[
        int,
        typer.Option(
            metavar="BYTES", min=1, help="The most that is kept of each output of a command."
        ),
    ] = 1024 * 1024,
    max_file: Annotated[
        int, typer.Option(metavar="BYTES", min=1, help="The largest file that is read.")
    ] = 10 * 1024 * 1024,
    max_line: Annotated[int, typer.Option(metavar="BYTES", min=1, help="The longest request.")] = 16
    * 1024
    * 1024,
    max_connections: Annotated[
        int, typer.Option(metavar="COUNT", min=1, help="How many are served at once.")
    ] = 64,
    token_file: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            callback=not_empty,
            help="Who connects must first say the token in this file.",
        ),
    ] = None,
) -> int:
    """Answer on a socket: run commands, move files. Until SIGTERM, or the end of the input."""
    from gascity.guest import main
    from gascity.guest.server import CannotServe

    if stdio == bool(socket or vsock is not None):
        raise UsageError("one of --socket, --vsock and --stdio is needed; --stdio goes alone")
    settings = main.Settings(
        socket=socket,
        stdio=stdio,
        vsock=vsock,
        root=root,
        workdir=workdir,
        timeout=timeout,
        max_output=max_output,
        max_file=max_file,
        max_line=max_line,
        max_connections=max_connections,
        token_file=token_file,
    )
    try:
        main.serve(settings)
    except CannotServe as problem:
        raise GascityError(str(problem)) from problem
    return Exit.OK


def bundle() -> int:
    """Print the daemon as one file, which any Python from 3.9 on runs: `> guest.pyz`."""
    from gascity.guest.bundle import build

    if sys.stdout.isatty():
        raise UsageError("this is no text", hint="`gc guest bundle > guest.pyz` puts it in a file")
    sys.stdout.buffer.write(build())
    return Exit.OK
