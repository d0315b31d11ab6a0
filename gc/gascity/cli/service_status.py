"""How a city's service stands: its file, and what the service manager says of it."""

from __future__ import annotations

import os
from dataclasses import asdict, dataclass

import typer

from gascity.cli.city import Here
from gascity.errors import Exit, GascityError, NotInstalled
from gascity.service import installed
from gascity.service.host import Host, Standing, Unmanaged


@dataclass(frozen=True, slots=True)
class ServiceStatus:
    """What `gc service status` tells.

    What cannot be known is None: of a service that is not installed nothing is asked, and `problem`
    says why the manager, or the city file, could not be asked.
    """

    kind: str
    name: str | None
    file: str | None
    installed: bool
    edited: bool | None = None
    same: bool | None = None
    enabled: bool | None = None
    active: bool | None = None
    state: str | None = None
    pid: int | None = None
    lingers: bool | None = None
    danger: str = ""
    problem: str = ""

    @property
    def exit_code(self) -> Exit:
        """Return the code that says the same."""
        if not self.installed:
            return Exit.NOT_FOUND
        if self.active is None:
            return Exit.MISSING
        if not self.active:
            return Exit.NOT_RUNNING
        return Exit.OK if self.same and not self.danger else Exit.FAILED

    def as_json(self) -> dict[str, object]:
        """Return the document for programs."""
        return asdict(self)


def service_status(here: Here, name: str) -> ServiceStatus:
    """Return how the city's service stands. Raises NotFound when there is no city."""
    host = installed.host_here()
    root = os.path.dirname(here.city_file)
    found = [
        each
        for each in installed.services_of(host, root)
        if not name or host.file_name(each.name) == host.file_name(name)
    ]
    if not found:
        return ServiceStatus(host.kind, None, None, installed=False)
    service = installed.the_service_of(host, root, name)
    same, problem = _is_same(here, host, service)
    standing: Standing | None = None
    try:
        standing = host.standing(service.name)
    except (Unmanaged, NotInstalled) as why:
        problem = why.message
    return ServiceStatus(
        host.kind,
        service.name,
        service.path,
        installed=True,
        edited=service.was_edited,
        same=same,
        enabled=standing.enabled if standing else None,
        active=standing.active if standing else None,
        state=standing.says if standing else None,
        pid=(standing.pid or None) if standing else None,
        lingers=host.lingers() if standing else None,
        danger=host.danger(service.name, service.text),
        problem=problem,
    )


def _is_same(here: Here, host: Host, service: installed.Installed) -> tuple[bool | None, str]:
    """Tell whether this gc would write that file; None, and why, when that is not known."""
    from gascity.cli.service import declare

    try:
        wanted = host.text(declare(host, here.load(), service.name))
    except GascityError as problem:
        return None, problem.message.splitlines()[0]
    return host.essence(wanted) == host.essence(service.text), ""


def print_status(found: ServiceStatus) -> None:
    """Print it for a person."""
    if not found.installed:
        typer.echo(f"no {found.kind} service of this city is installed; `gc service install`")
        return
    typer.echo(f"{found.name}: {_how(found)}")
    typer.echo(f"file: {found.file} ({_which(found)})")
    if found.danger:
        typer.echo(f"danger: {found.danger}")
    if found.problem:
        typer.echo(f"not known: {found.problem}")
    if found.lingers is False:
        typer.echo("it ends with your last login; `loginctl enable-linger` has it go on")


def _how(found: ServiceStatus) -> str:
    if found.active is None:
        return "installed"
    process = f", process {found.pid}" if found.pid else ""
    return f"{found.state}{process}, {'enabled' if found.enabled else 'not enabled'}"


def _which(found: ServiceStatus) -> str:
    if found.edited:
        return "edited by hand"
    match found.same:
        case True:
            return "as this gc writes it"
        case False:
            return "this gc writes another; `gc service install` renews it"
        case None:
            return "as gc wrote it"
