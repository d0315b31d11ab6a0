"""`gc explain`: what an agent's screen was taken for, and why."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gascity.cli.city import Here, find_agent
from gascity.cli.options import AsJson, complete_agents, complete_backends, not_empty
from gascity.errors import Exit, NotRunning, NotSupported, UsageError

if TYPE_CHECKING:
    from gascity.cli.account import Seen


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(explain)


def explain(
    context: typer.Context,
    agent: Annotated[
        str | None,
        typer.Argument(
            metavar="AGENT",
            callback=not_empty,
            autocompletion=complete_agents,
            help="Name of an agent; none with --file.",
        ),
    ] = None,
    file: Annotated[
        str | None,
        typer.Option(
            metavar="SCREEN",
            callback=not_empty,
            help="A saved screen; - reads it from standard input.",
        ),
    ] = None,
    backend: Annotated[
        str | None,
        typer.Option(
            metavar="BACKEND",
            callback=not_empty,
            autocompletion=complete_backends,
            help="With --file: whose screen it is.",
        ),
    ] = None,
    title: Annotated[
        str | None, typer.Option(metavar="TEXT", help="With --file: the title of its window.")
    ] = None,
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="Every rule that was tried, and why not.")
    ] = False,
    as_json: AsJson = False,
) -> int:
    """Show what an agent's screen is taken for: which rule matched, where, and why.

    Reads, and presses nothing. Ends with 0 when the screen could be read, whatever it shows.
    """
    from gascity.cli.account import account, document
    from gascity.cli.reported import Reported, reported, speaker, without_screen
    from gascity.cli.reported import told as told_of_hook
    from gascity.cli.story import fact, told

    here: Here = context.obj
    heard: Reported | None = None
    if file is None:
        for option, given in (("--backend", backend), ("--title", title)):
            if given is not None:
                raise UsageError(f"{option} is for a saved screen: it needs --file")
        if agent is None:
            raise UsageError("which agent?", hint="give its name, or --file for a saved screen")
        heard = reported(here, find_agent(here.load(), agent).name)
        try:
            seen = agent_screen(here, agent)
        except NotSupported:
            if heard is None:
                raise
            typer.echo(without_screen(agent, heard, as_json=as_json))
            return Exit.OK
    else:
        if agent is not None:
            raise UsageError("either an agent or --file, not both")
        if backend is None:
            raise UsageError("--file needs --backend: rules differ from program to program")
        seen = _saved(here, file, backend, title or "")
    found = account(seen, time.time())
    if as_json:
        said = document(found, verbose=verbose) | {"spoke": speaker(heard), "hook": heard}
        typer.echo(json.dumps(said, indent=2, ensure_ascii=False))
    else:
        hook = "" if heard is None else fact("hook", told_of_hook(heard)) + "\n"
        typer.echo(told(found, verbose=verbose) + hook, nl=False)
    return Exit.OK


def agent_screen(here: Here, name: str) -> Seen:
    """Look at an agent's screen. Raises NotRunning, or NotSupported where there is no terminal."""
    from gascity.agent import TIMEOUT
    from gascity.cli.account import Seen
    from gascity.cli.concealed import secrets_now
    from gascity.controller.opening import open_provider
    from gascity.controller.place import Place

    city = here.load()
    spec = find_agent(city, name)
    provider = open_provider(city, Place(city.root), spec.provider)
    terminal = provider.terminal(spec.session)
    if terminal is None and provider.is_running(spec.session, timeout=TIMEOUT):
        raise NotSupported(
            f"{spec.name} has no screen: its provider {spec.provider} gives it no terminal",
            hint=f"`gc peek {spec.name}` shows what it printed",
        )
    secrets = secrets_now(spec, provider, timeout=TIMEOUT)
    screen = None if terminal is None else terminal.look(timeout=TIMEOUT)
    if screen is None or not (screen.alive or any(screen.rows)):
        raise NotRunning(f"{spec.name} is not running", hint="`gc status` tells why")
    return Seen(
        agent=spec.name,
        backend=spec.backend,
        screen=screen,
        rules=city.screens.of(spec.backend, spec.hints.ready_prompt_prefix),
        chosen=spec.dialogs,
        secrets=secrets,
    )


def _saved(here: Here, file: str, backend: str, title: str) -> Seen:
    from gascity.cli.account import Seen
    from gascity.cli.rulebook import rules_here
    from gascity.screens.screen import Screen

    rules = rules_here(here, backend)
    return Seen("", backend, Screen.of(saved_text(file), title), rules)


def saved_text(file: str) -> str:
    """Return a saved screen, without the sequences that colour it. Raises UsageError."""
    from gascity.config.files import Unreadable, read_text
    from gascity.screens.sequences import without_sequences

    if file == "-":
        return without_sequences(sys.stdin.buffer.read().decode("utf-8", "replace"))
    try:
        return without_sequences(read_text(Path(file), file))
    except Unreadable as error:
        place = f":{error.problem.line}" if error.problem.line else ""
        raise UsageError(f"{file}{place}: {error.problem.message}") from None
