"""`gc start`, `gc stop`, `gc restart`: change what runs."""

from __future__ import annotations

import os
import signal
import sys
import time
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gascity.cli.city import Here, find_agents, names_meant
from gascity.cli.detach import start_detached
from gascity.cli.options import AgentNames, AsJson, complete_agents, not_empty
from gascity.cli.quick import STOP_TIMEOUT, print_stopped
from gascity.errors import CityHeld, Exit, HungUp, NotLeading, NotRunning, UsageError, explain

if TYPE_CHECKING:
    from gascity.cli.diary import Diary
    from gascity.core.actions import Event
    from gascity.core.model import City
    from gascity.session.leadership import StandsBy

AGAIN = 0.1  # seconds until a city is tried again that somebody holds who does not answer


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command()(start)
    app.command()(stop)
    app.command()(restart)


def start(
    context: typer.Context,
    detach: Annotated[
        bool, typer.Option("--detach", "-d", help="Run the controller in the background.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", "-n", help="Say what would be done, and do nothing.")
    ] = False,
    leader_elect: Annotated[
        bool,
        typer.Option(
            "--leader-elect",
            envvar="GC_LEADER_ELECT",
            help="Stand by until no other controller of the city leads.",
        ),
    ] = False,
) -> int:
    """Run the controller: start what should run, and keep it so.

    In the foreground until Ctrl-C, which leaves the agents running; the next `gc start` takes them
    up as they are. With `--leader-elect` several may run, each on a machine of its own, where the
    sessions live in a cluster: one leads, and the others stand by.
    """
    here: Here = context.obj
    if dry_run:
        from gascity.cli.planning import show_plan

        show_plan(here, as_json=False)
        return Exit.OK
    if detach and leader_elect:
        raise UsageError("a controller that stands by for the lead does so in the foreground")
    return start_detached(here.folder) if detach else _foreground(here, leader_elect)


def _foreground(here: Here, leader_elect: bool) -> int:
    from gascity.cli.diary import Diary
    from gascity.controller.daemon import run_city
    from gascity.controller.leading import Election
    from gascity.service.notify import Listener

    manager = Listener()
    diary = Diary(headings=True, today=datetime.now().astimezone().date())

    def ready(city: City) -> None:
        diary.expect([spec.name for spec in city.desired.agents])
        _greet(city)
        try:
            manager.ready(f"keeps the city {city.name}")
        except OSError as problem:
            sys.stderr.write(f"warning: systemd was not told of the start: {problem.strerror}\n")

    election = Election(_stand_by, _end) if leader_elect else None
    path, report = Path(here.city_file), partial(_tell, diary)
    try:
        run_city(path, report=report, ready=ready, election=election)
    except NotLeading as problem:
        _end(problem)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(Exit.OK)  # a call that is stuck in a worker must not keep the process alive


def _stand_by(news: StandsBy) -> None:
    sys.stdout.write(f"standing by: {news}\n")
    sys.stdout.flush()


def _end(problem: NotLeading) -> None:
    """End at once: whatever a worker is about to do must not be done any more."""
    os.write(2, explain(problem).encode(errors="replace"))  # whoever holds a lock may be stuck
    os._exit(problem.exit_code)


def _greet(city: City) -> None:
    for warning in city.warnings:
        sys.stderr.write(f"warning: {warning}\n")
    names = [spec.name for spec in city.desired.agents]
    names += [f"{pool.name} (pool of {pool.min} to {pool.max})" for pool in city.desired.pools]
    from gascity.controller.opening import where_sessions_live

    sys.stdout.write(f"{city.name}: {', '.join(names) or 'no agents'}\n")
    sys.stdout.write(f"sessions live in {where_sessions_live(city)}\n")
    sys.stdout.write("Ctrl-C leaves the agents running; `gc stop` ends them\n")
    sys.stdout.flush()


def _tell(diary: Diary, event: Event) -> None:
    """Print one event for a person who watches."""
    if event.type == "controller.started":  # they have been greeted
        return
    now = datetime.now().astimezone()
    words = (event.agent, event.message, event.session, event.detail)
    sys.stdout.write(diary.entry(now, event.type, *words))
    sys.stdout.flush()


def stop(
    context: typer.Context,
    agents: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="AGENT",
            callback=not_empty,
            autocompletion=complete_agents,
            help="Only these; they stay down until `gc restart`.",
        ),
    ] = None,
) -> int:
    """Stop the whole city with its controller, or only the agents named.

    Returns the moment all is gone.
    """
    here: Here = context.obj
    if agents:
        return _stop_agents(here, agents)
    answered = end_city(here)
    if isinstance(answered, dict):
        print_stopped(answered)
    else:
        sessions = "1 session" if answered == 1 else f"{answered} sessions"
        typer.echo(f"stopped {sessions}; no controller was running")
    return Exit.OK


def end_city(here: Here) -> object:
    """End every agent, then the controller.

    Returns the controller's answer, or how many sessions were ended without one.
    """
    deadline = time.monotonic() + 5.0
    while True:
        try:
            return here.ask("stop", {}, timeout=STOP_TIMEOUT)
        except (NotRunning, HungUp):  # what one that ended has not stopped, is stopped here
            from gascity.cli.alone import stop_city

            signal.signal(signal.SIGHUP, signal.SIG_IGN)  # our own terminal may be one that ends
            try:
                return stop_city(here)
            except CityHeld:  # a controller that is coming up, or going
                if time.monotonic() >= deadline:
                    raise
                time.sleep(AGAIN)  # nothing tells when somebody listens


def _stop_agents(here: Here, words: list[str]) -> int:
    names = names_meant(here, words)
    try:
        here.ask("stop_agents", {"agents": names}, timeout=STOP_TIMEOUT)
    except NotRunning:
        from gascity.cli.alone import stop_agents

        stop_agents(here, find_agents(here.load(), names))
    typer.echo(f"stopped {', '.join(names)}")
    return Exit.OK


def restart(context: typer.Context, agents: AgentNames, as_json: AsJson = False) -> int:
    """Replace agents by new incarnations; also starts what was stopped or quarantined."""
    here: Here = context.obj
    names = names_meant(here, agents)
    answered = here.ask("restart", {"agents": names}, timeout=STOP_TIMEOUT)
    if as_json:
        import json

        typer.echo(json.dumps(answered, indent=2))
    else:
        done = answered.get("restarted", names) if isinstance(answered, dict) else names
        said = f"restarted {', '.join(done)}" if done else "restarted none: none of them is needed"
        typer.echo(said)
    return Exit.OK
