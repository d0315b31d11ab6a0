"""`gc hook`: having a coding tool itself tell what its agent does."""

from __future__ import annotations

import contextlib
import json
import os
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated

import typer

from gascity.cli.city import Here, find_agents
from gascity.cli.options import AsJson, complete_agents, not_empty
from gascity.config.find import find_city
from gascity.errors import Exit, GascityError, NotFound, explain

if TYPE_CHECKING:
    from gascity.core.model import AgentSpec, City

PRIMING = 0.5  # seconds for what the tool says, and for the controller's answer
GIVEN_UP = 2.0  # ... to a tool that never ends what it says
_NOTES = {True: "", False: "  (somebody took them out)", None: "  (it cannot be read)"}

_Words = Annotated[
    list[str] | None, typer.Argument(metavar="[-- COMMAND...] [JSON]", help="What Codex says.")
]
_Backend = Annotated[str, typer.Argument(metavar="BACKEND", help="Whose hook it is.")]
_Name = Annotated[
    str,
    typer.Argument(
        metavar="AGENT",
        callback=not_empty,
        autocompletion=complete_agents,
        help="An agent, a pool or a session.",
    ),
]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    group = typer.Typer(
        help="Let a coding tool's own hooks tell what its agent does.",
        no_args_is_help=True,
        rich_markup_mode=None,
    )
    group.command()(install)
    group.command()(uninstall)
    group.command()(status)
    group.command()(report)
    group.command()(prime)
    app.add_typer(group, name="hook")


def install(context: typer.Context, agent: _Name) -> int:
    """Set up the hooks of an agent's backend, so that it primes itself and reports its state.

    What is in the tool's settings already stays. A backend without hooks is left alone.
    """
    from gascity.controller.place import Place
    from gascity.hooks.install import install as set_up
    from gascity.session.registry import is_local

    city = _city(context.obj, agent).load()
    place = Place(city.root)
    place.prepare()
    for spec in _meant(city, agent):
        if not is_local(spec.provider):
            raise GascityError(
                f"{spec.name} runs on {spec.provider}, and hooks are files of this machine",
                hint="its screen tells what it does",
            )
        done = set_up(spec, _environment(city, spec), place.state)
        if done is None:
            what = f"backend {spec.backend}" if spec.backend else "a plain command"
            sys.stderr.write(f"{spec.name}: {what} has no hooks; its screen tells what it does\n")
        else:
            was = "are in" if done.changed else "were already in"
            typer.echo(f"{spec.name}: hooks {was} {done.path}")
    return Exit.OK


def uninstall(
    context: typer.Context,
    agent: Annotated[
        str | None,
        typer.Argument(
            metavar="AGENT",
            callback=not_empty,
            autocompletion=complete_agents,
            help="An agent, a pool or a session; all hooks of the city without one.",
        ),
    ] = None,
) -> int:
    """Take hooks back: a file nobody changed since becomes what it was, byte for byte.

    A file that several agents share keeps them until the last of these is taken out. Where nothing
    is written down any more, the files of the city's agents are looked at.
    """
    from gascity.hooks import install as hooking

    here = _city(context.obj, agent or "")
    names = [""] if agent is None else _sessions(here, agent)
    problems: list[GascityError] = []
    count = 0
    for name in names:
        done, troubles = hooking.uninstall(here.state, name)
        problems += troubles
        count += len(done)
        for record in done:
            typer.echo(f"no hooks any more in {record.path}")
    count += _clean(here, agent, problems)
    if not count and not problems:
        left = any(hooking.installed(here.state, name) for name in names)
        typer.echo("other agents still use them" if left else "there are no hooks to take back")
    for problem in problems:
        sys.stderr.write(explain(problem))
    return Exit.FAILED if problems else Exit.OK


def _clean(here: Here, name: str | None, problems: list[GascityError]) -> int:
    """Take out the hooks that no record tells of; return how many files had such."""
    from gascity.core.model import declared
    from gascity.hooks import install as hooking

    try:
        city = here.load()
        specs = _meant(city, name) if name else declared(city.desired)
    except GascityError:  # what is written down was enough
        return 0
    found: dict[str, AgentSpec] = {}
    for spec in specs:
        found.setdefault(hooking.unrecorded(spec, _environment(city, spec), here.state), spec)
    found.pop("", None)
    for path, spec in found.items():
        try:
            if hooking.clean(spec, path):
                typer.echo(f"no hooks any more in {path}")
                continue
        except GascityError as problem:
            problems.append(problem)
            continue
        problems.append(
            GascityError(
                f"hooks are in {path}, and nothing tells whether this city put them there",
                hint=f"`gc hook install {spec.name}` and `gc hook uninstall` take them out",
            )
        )
    return len(found)


def status(context: typer.Context, as_json: AsJson = False) -> int:
    """List the files that have hooks of this city, and who asked for them."""
    from gascity.hooks.install import installed, is_in_place

    found = [(record, is_in_place(record)) for record in installed(_city(context.obj, "").state)]
    if as_json:
        told = [
            {
                "path": record.path,
                "backend": record.backend,
                "sessions": list(record.sessions),
                "in_place": in_place,
            }
            for record, in_place in found
        ]
        typer.echo(json.dumps({"hooks": told}, indent=2))
        return Exit.OK
    if not found:
        typer.echo("no hooks are set up")
    for record, in_place in found:
        typer.echo(f"{record.path}  {record.backend}{_NOTES[in_place]}")
        for session in record.sessions:
            typer.echo(f"  {session}")
    return Exit.OK


def report(
    backend: _Backend,
    event: Annotated[str, typer.Argument(metavar="EVENT", help="What happened.")],
    words: _Words = None,
) -> int:
    """Tell the controller what an agent does: for hooks to call, which give JSON on standard input.

    Prints nothing, waits for nobody and ends with 0, also where there is no controller.
    """
    from gascity.hooks.report import main

    return main([backend, event, *(words or [])])


def prime(backend: _Backend) -> int:
    """Print an agent's prompt as its tool wants it: for the hook at the start of a session.

    Prints nothing outside a session, and for a tool that an agent started within its own.
    """
    from gascity.hooks import report as hook

    with contextlib.suppress(GascityError, OSError, KeyError):
        if hook.in_session() and _is_the_agent(backend):
            home, session, _ = (os.environ[key] for key in hook.SESSION)
            _print_prime(Here(home).load(), backend, session)
    return Exit.OK


def _is_the_agent(backend: str) -> bool:
    """Report the start, and ask whether this is the agent's own tool; without an answer, it is."""
    from gascity.cli.ask import ask_controller
    from gascity.hooks import report as hook

    params = hook.message(backend, "SessionStart", hook.standard_input(GIVEN_UP))
    state = os.path.join(os.environ["GC_CITY_PATH"], ".gc")
    try:
        answered = ask_controller(state, "report", params, timeout=PRIMING)
    except GascityError:
        return True
    return not isinstance(answered, dict) or answered.get("owner") is not False


def _print_prime(city: City, backend: str, session: str) -> None:
    from gascity.core.model import declared

    for spec in declared(city.desired):
        if spec.session == session and (spec.primes_itself or not spec.hooks):
            text = spec.prompt or f"You are {spec.name} of the city {city.name}."
            if backend == "gemini":
                told = {"hookEventName": "SessionStart", "additionalContext": text}
                text = json.dumps({"hookSpecificOutput": told})
            typer.echo(text)


def _environment(city: City, spec: AgentSpec) -> Mapping[str, str]:
    from gascity.core.environment import agent_environment

    return agent_environment(
        spec, os.environ, city=city.name, city_path=city.root, run="", gc_folder=""
    )


def _city(here: Here, name: str) -> Here:
    """Return the city: as given, else that of the session that calls, else the nearest one."""
    home = os.environ.get("GC_CITY_PATH", "")
    if here.given or not home:
        return here
    if name and name != os.environ.get("GC_SESSION_NAME", ""):
        with contextlib.suppress(NotFound):
            find_city(here.folder)
            return here
    return Here(home)


def _meant(city: City, name: str) -> list[AgentSpec]:
    from gascity.core.model import declared

    sessions = [spec for spec in declared(city.desired) if spec.session == name]
    return sessions or find_agents(city, [name])


def _sessions(here: Here, name: str) -> list[str]:
    """Return the sessions meant; one that is no longer declared may still have hooks."""
    from gascity.hooks.install import installed

    if installed(here.state, name):
        return [name]
    return [spec.session for spec in _meant(here.load(), name)]
