"""`gc service`: have the controller kept by the service manager of this user."""

from __future__ import annotations

import json
import os
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from gascity.cli.city import Here
from gascity.cli.options import AsJson, not_empty
from gascity.errors import CityHeld, Exit, GascityError, NotInstalled, UsageError, explain

if TYPE_CHECKING:
    from gascity.core.model import City
    from gascity.service.declared import Service
    from gascity.service.host import Host

Name = Annotated[
    str,
    typer.Option(
        "--name",
        metavar="NAME",
        callback=not_empty,
        help="Name of the service; made from the city's if not given.",
    ),
]
Force = Annotated[bool, typer.Option("--force", help="Also when a person edited its file.")]


def complete_managers(incomplete: str) -> list[str]:
    """Return the service managers that begin so."""
    return [name for name in ("systemd", "launchd") if name.startswith(incomplete)]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    service = typer.Typer(
        name="service",
        help="Have systemd or launchd keep the controller.",
        no_args_is_help=True,
    )
    for command in (install, uninstall, status, show):
        service.command()(command)
    app.add_typer(service)


def install(
    context: typer.Context,
    now: Annotated[bool, typer.Option("--now", "--start", help="Start it at once, too.")] = False,
    name: Name = "",
    no_enable: Annotated[
        bool, typer.Option("--no-enable", help="Only write the file, and tell nobody.")
    ] = False,
    force: Force = False,
) -> int:
    """Have the controller started at login and after a crash. The agents outlive it."""
    from gascity.controller.place import Place
    from gascity.service import installed

    if now and no_enable:
        raise UsageError("--now and --no-enable contradict each other")
    here: Here = context.obj
    city = here.load()
    host = installed.host_here()
    service = declare(host, city, name)
    before = installed.may_write(host, service, force=force)
    if now:
        _leave_to(host, here, service.name)
    path = os.path.join(host.folder, host.file_name(service.name))
    text = host.text(service)
    if text == before:
        typer.echo(f"{path} is up to date")
    else:
        Place(city.root).prepare()  # launchd opens a log there before anything of ours runs
        installed.write(path, text)
        typer.echo(f"wrote {path}")
    typer.echo("it has the PATH of this shell, and no variable that may be secret")
    _tell_of_variables(host, city)
    if not no_enable:
        _enable(host, service.name, now=now)
        _begin(host, here, service.name, now=now, changed=bool(before) and text != before)
    return Exit.OK


def declare(host: Host, city: City, name: str) -> Service:
    """Return the city's service, under the name it has if it is installed. Raises UsageError."""
    from gascity.core.naming import city_id
    from gascity.service import declared, installed

    there = installed.services_of(host, city.root)
    if name:
        declared.check_name(name)
    others = [each for each in there if host.file_name(each.name) != host.file_name(name)]
    if name and others:
        raise UsageError(
            f"this city has a service already: {others[0].name}",
            hint="`gc service uninstall` first; two would fight for the city",
        )
    known = there[0].name if there else declared.service_name(city.name, city_id(city.root))
    return declared.Service(
        name=name or known,
        city=city.name,
        root=city.root,
        program=_this_gc(),
        environment=declared.environment(os.environ),
    )


def _this_gc() -> str:
    """Return the absolute path of this `gc`: a link to it stays one. Raises NotInstalled."""
    beside = os.path.join(os.path.dirname(os.path.abspath(sys.executable)), "gc")
    called = os.path.abspath(sys.argv[0]) if os.sep in sys.argv[0] else ""
    usual = os.path.basename(called) in {"gc", "gascity"}
    for path in ([called] if usual else []) + [beside]:
        if os.access(path, os.X_OK) and os.path.isfile(path):
            return path
    raise NotInstalled(f"there is no program {beside}", hint="install gc, and call it by its name")


def _leave_to(host: Host, here: Here, name: str) -> None:
    """Raise CityHeld when a controller runs that the service did not start."""
    from gascity.service.host import Unmanaged

    pid = here.controller_pid()
    if pid is None:
        return
    try:
        if host.standing(name).pid == pid:
            return
    except (Unmanaged, NotInstalled):
        pass
    raise CityHeld(
        f"controller {pid} holds this city, and was not started by the service",
        hint=f"`kill {pid}` ends it and leaves the agents running; then try again",
    )


def _tell_of_variables(host: Host, city: City) -> None:
    """Say which variables the agents get only if somebody gives them to the service."""
    from gascity.core.model import declared
    from gascity.service.declared import ENV_FILE
    from gascity.service.installed import read

    path = os.path.join(city.root, ENV_FILE)
    given = {line.partition("=")[0].strip() for line in read(path).splitlines()}
    wanted = {key for spec in declared(city.desired) for key in spec.pass_env}
    lacking = sorted(key for key in wanted - given if key in os.environ)
    if os.environ.get("GC_SESSION") and "GC_SESSION" not in given:
        sys.stderr.write(
            "warning: the service does not see GC_SESSION of this shell;"
            " `[session] provider` in the city file holds for it\n"
        )
    if lacking and host.kind == "systemd":
        typer.echo(f"agents are passed {', '.join(lacking)}: write them to {path}, mode 0600,")
        typer.echo(f"or `systemctl --user import-environment {' '.join(lacking)}` at each login")
    elif lacking:
        typer.echo(f"agents are passed {', '.join(lacking)}: `launchctl setenv NAME VALUE`, each")
    if os.path.exists(path) and os.stat(path).st_mode & 0o077:
        sys.stderr.write(f"warning: others can read {path}; `chmod 600` it\n")


def _enable(host: Host, name: str, *, now: bool) -> None:
    from gascity.service.host import Unmanaged

    try:
        host.enable(name)
    except (Unmanaged, NotInstalled) as problem:
        raise NotInstalled(
            f"the file is written, and {name} is not enabled: {problem.message}",
            hint=f"where that works: `{host.by_hand('go' if now else 'enable', name)}`; "
            "here, `gc start --detach` does without",
        ) from problem
    typer.echo(f"{name} is started at every login")


def _begin(host: Host, here: Here, name: str, *, now: bool, changed: bool) -> None:
    """Start the service if that is wanted, and say what is left to do."""
    from gascity.service.host import Unmanaged

    try:
        was_active = host.standing(name).active
    except (Unmanaged, NotInstalled):
        was_active = False
    pid = here.controller_pid()
    if was_active and changed:
        again = host.by_hand("restart", name)
        typer.echo(f"it runs as it was; `{again}` takes the change up, and the agents go on")
    elif was_active:
        typer.echo("it runs")
    elif now:
        host.start(name)
        typer.echo("it runs now")
    elif pid is not None:
        typer.echo(
            f"controller {pid} was started by hand: `kill {pid}`, then"
            f" `{host.by_hand('start', name)}`; the agents go on"
        )
    else:
        typer.echo(f"`{host.by_hand('start', name)}` starts it now")
    if not host.lingers():
        typer.echo("it ends with your last login; `loginctl enable-linger` has it go on, and start")
        typer.echo("when the machine does")


def uninstall(
    context: typer.Context,
    stop: Annotated[
        bool, typer.Option("--stop", help="End the agents, too; else they go on.")
    ] = False,
    name: Name = "",
    force: Force = False,
) -> int:
    """Stop the service and remove its file. The agents go on unless told otherwise."""
    from gascity.service import installed
    from gascity.service.host import Unmanaged

    here: Here = context.obj
    host = installed.host_here()
    found = installed.the_service_of(host, os.path.dirname(here.city_file), name)
    if found.was_edited and not force:
        raise UsageError(
            f"{found.path} was edited since gc wrote it; it is left as it is",
            hint="--force removes it all the same",
        )
    danger = host.danger(found.name, found.text)
    if danger and not (stop or force):
        raise UsageError(danger, hint="--stop ends the agents in order; --force does not care")
    if stop:
        _end_agents(here)
    unasked: GascityError | None = None
    try:
        host.disable(found.name)
    except (Unmanaged, NotInstalled) as problem:
        unasked = problem
    installed.remove(found.path)
    try:
        host.forget(found.name)
    except (Unmanaged, NotInstalled) as problem:
        unasked = unasked or problem
    typer.echo(f"removed {found.path}")
    if unasked is not None:
        raise NotInstalled(
            f"the file is removed, but {found.name} could not be stopped: {unasked.message}",
            hint=unasked.hint or "`gc status` shows whether its controller runs",
        )
    if not stop:
        _tell_of_agents(here)
    return Exit.OK


def _end_agents(here: Here) -> None:
    from gascity.cli.lifecycle import end_city

    ended = end_city(here)
    stopped = ended.get("stopped") if isinstance(ended, dict) else None
    count = len(stopped) if isinstance(stopped, list) else ended
    typer.echo(f"stopped {count} agents")


def _tell_of_agents(here: Here) -> None:
    """Say how many agents go on."""
    from gascity.cli.alone import status_without_controller

    try:
        agents = status_without_controller(here)["agents"]
    except GascityError as problem:
        sys.stderr.write(explain(problem))
        typer.echo("agents that run go on; `gc stop` ends them")
        return
    alive = (
        [each for each in agents if each["since"] is not None] if isinstance(agents, list) else []
    )
    if alive:
        count = "1 agent goes" if len(alive) == 1 else f"{len(alive)} agents go"
        typer.echo(f"{count} on; `gc start` takes them up, `gc stop` ends them")
    else:
        typer.echo("no agent runs")


def status(context: typer.Context, as_json: AsJson = False, name: Name = "") -> int:
    """Show whether the service is installed, enabled and active.

    Ends with 0 when it is active as this gc would write it, 1 when its file is another, 3 when the
    service manager cannot be asked, 4 when it is not installed, 5 when it is not active.
    """
    from gascity.cli.service_status import print_status, service_status

    document = service_status(context.obj, name)
    if as_json:
        typer.echo(json.dumps(document.as_json(), indent=2))
    else:
        print_status(document)
    return document.exit_code


def show(
    context: typer.Context,
    name: Name = "",
    kind: Annotated[
        str,
        typer.Option(
            "--for",
            metavar="KIND",
            callback=not_empty,
            autocompletion=complete_managers,
            help="systemd or launchd; this machine's if not.",
        ),
    ] = "",
    as_json: AsJson = False,
) -> int:
    """Print the file that `gc service install` would write."""
    from gascity.service.installed import host_here

    here: Here = context.obj
    host = host_here(kind)
    service = declare(host, here.load(), name)
    text = host.text(service)
    if as_json:
        path = os.path.join(host.folder, host.file_name(service.name))
        facts = {"kind": host.kind, "name": service.name, "file": path, "text": text}
        typer.echo(json.dumps(facts, indent=2))
    else:
        sys.stdout.write(text)
    return Exit.OK
