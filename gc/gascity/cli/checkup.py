"""What `gc doctor` looks at: everything a city needs from the machine it runs on.

The programs that `gc` needs also outside of cities are in `checkup_tools`.
"""

from __future__ import annotations

import errno
import os
import shlex
import shutil
import sys
import tempfile
from collections.abc import Iterator

from gascity.cli.checkup_tools import backends, tools
from gascity.cli.city import Here
from gascity.cli.finding import Finding
from gascity.core.model import City, declared
from gascity.errors import GascityError

SAMPLE = 16 * 1024  # bytes that are written to see whether that can be
SEARCHED = 10.0  # seconds for which the journal is searched for damage


def checkup(here: Here) -> list[Finding]:
    """Return what was found; starts no session and leaves all as it is.

    Outside of cities that is what one-shot runs need; a folder named with `-C` has to have a city.
    """
    from gascity.cli.asked import city_of

    version = ".".join(map(str, sys.version_info[:3]))
    python = Finding("python", sys.version_info >= (3, 11), version)
    try:
        city = city_of(here)
    except GascityError as problem:
        broken = Finding("city file", fine=False, says=problem.message.splitlines()[0])
        return [python, broken, *tools()]
    if city is None:
        none = Finding("city file", fine=True, says="there is none here; `gc init` makes one")
        return [python, none, *tools(), *backends()]
    return [python, Finding("city file", True, here.city_file), *tools(), *_of_city(here, city)]


def _of_city(here: Here, city: City) -> Iterator[Finding]:
    yield _folder(here, city)
    yield from _journal(here)
    yield from _providers(city)
    yield from _commands(city)
    yield from _alerts(city)
    yield _controller(here)
    yield from _service(city)


def _folder(here: Here, city: City) -> Finding:
    """Really write where the state is kept, or will be: rights do not tell of a full disk."""
    folder = here.state if os.path.lexists(here.state) else city.root
    try:
        _write_and_remove(folder)
    except OSError as problem:
        why = problem.strerror or problem
        return Finding("state folder", fine=False, says=f"{folder} cannot be written: {why}")
    return Finding("state folder", fine=True, says=f"{folder} can be written")


def _write_and_remove(folder: str) -> None:
    with tempfile.NamedTemporaryFile(dir=folder, prefix="doctor-", buffering=0) as file:
        if file.write(os.urandom(SAMPLE)) < SAMPLE:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        os.fsync(file.fileno())


def _journal(here: Here) -> Iterator[Finding]:
    from gascity.journal.damage import examine

    path = os.path.join(here.state, "city.db")
    if not os.path.lexists(path):
        return
    try:
        examine(path, within=SEARCHED)
    except GascityError as problem:
        yield Finding("journal", fine=False, says=problem.message)
    else:
        yield Finding("journal", fine=True, says=f"{path} can be read and written")


def _providers(city: City) -> Iterator[Finding]:
    from gascity.controller.opening import open_provider
    from gascity.controller.place import Place

    for name in sorted({spec.provider for spec in declared(city.desired)}):
        try:
            says = open_provider(city, Place(city.root), name).about()
        except GascityError as problem:
            says = "; ".join(one for one in (problem.message, problem.hint) if one)
            yield Finding(f"provider {name}", fine=False, says=says)
        else:
            yield Finding(f"provider {name}", fine=True, says=says)


def _commands(city: City) -> Iterator[Finding]:
    """Look for each agent's program on the PATH the agent will have."""
    from gascity.controller.opening import home_of
    from gascity.core.environment import agent_environment
    from gascity.session.registry import is_local

    home = home_of(city)
    seen: dict[tuple[str, str], Finding] = {}
    for spec in declared(city.desired):
        if not is_local(spec.provider):
            continue  # what is on its machine cannot be seen from here
        program = _program(spec.base_command)
        env = agent_environment(
            spec,
            home.ambient,
            city=city.name,
            city_path=city.root,
            run="",
            gc_folder=home.gc_folder,
        )
        if not program:
            continue
        found = shutil.which(program, path=env["PATH"])
        says = found or f"not found on the PATH of agent {spec.name}"
        fine = found is not None
        seen.setdefault((program, env["PATH"]), Finding(f"command {program}", fine, says))
    yield from seen.values()


# fmt: off
_SHELL = frozenset({
    ":", ".", "!", "{", "alias", "break", "case", "cd", "command", "continue", "eval", "exit",
    "export", "for", "if", "read", "readonly", "return", "set", "shift", "source", "trap",
    "ulimit", "umask", "unset", "until", "wait", "while",
})
# fmt: on


def _program(command: str) -> str:
    """Return the program that a shell text runs first; nothing where the shell itself does it."""
    try:
        words = shlex.split(command)
    except ValueError:
        return ""
    for word in words:
        if "=" not in word and word != "exec":
            return "" if word.rstrip(";") in _SHELL or word.startswith("(") else word
    return ""


def _alerts(city: City) -> Iterator[Finding]:
    """Look whether the ways to tell a person can work here; tell nobody."""
    from importlib.util import find_spec

    from gascity.config.schema import is_web_address
    from gascity.patrol.sinks.apprise import INSTALL

    alerts = city.alerts
    for key, name in (("webhook_env", alerts.webhook_env), ("apprise_env", alerts.apprise_env)):
        if name:
            value = os.environ.get(name, "").strip()
            says = f"the variable {name} is {'set' if value else 'not set here'}"
            fine = bool(value)
            if value and key == "webhook_env" and not is_web_address(value):
                says = f"the variable {name} holds no address that begins with http:// or https://"
                fine = False
            yield Finding(f"alerts {key}", fine, says)
    if alerts.apprise or alerts.apprise_env:
        there = find_spec("apprise") is not None
        says = "installed" if there else f"not installed; {INSTALL}"
        yield Finding("alerts apprise", there, says)
    if alerts.desktop:
        program = "osascript" if sys.platform == "darwin" else "notify-send"
        found = shutil.which(program)
        yield Finding("alerts desktop", found is not None, found or f"{program} is not installed")


def _controller(here: Here) -> Finding:
    pid = here.controller_pid()
    return Finding("controller", fine=True, says=f"process {pid}" if pid else "not running")


def _service(city: City) -> Iterator[Finding]:
    """Look whether the agents would outlive the service and its login, if there is a service."""
    from gascity.service.installed import host_here, services_of

    host = host_here()
    for service in services_of(host, city.root):
        danger = host.danger(service.name, service.text)
        says = danger or f"{service.name} leaves the agents running when it is stopped"
        if not host.lingers():
            says += "; it ends with your last login, unless you `loginctl enable-linger`"
        yield Finding("service", fine=not danger, says=says)
