"""The files of services: which of them are a city's, and writing and removing them."""

from __future__ import annotations

import contextlib
import os
import sys
import tempfile
from dataclasses import dataclass

from gascity.errors import GascityError, NotFound, UsageError
from gascity.service.declared import Service
from gascity.service.host import Host
from gascity.service.launchd import Launchd
from gascity.service.signature import is_signed, is_untouched
from gascity.service.systemd import Systemd

MOST = 1024 * 1024  # bytes that are read of a file


@dataclass(frozen=True, slots=True)
class Installed:
    """A service's file as it lies there."""

    name: str
    path: str
    text: str

    @property
    def was_edited(self) -> bool:
        """Whether a person changed it since `gc` wrote it."""
        return not is_untouched(self.text)


def host_here(kind: str = "") -> Host:
    """Return the service manager of this machine, or the one that is named. Raises UsageError."""
    hosts: dict[str, type[Systemd | Launchd]] = {"systemd": Systemd, "launchd": Launchd}
    chosen = kind or ("launchd" if sys.platform == "darwin" else "systemd")
    if chosen not in hosts:
        raise UsageError(
            f"there is no service manager {chosen!a}", hint=f"there are: {', '.join(hosts)}"
        )
    return hosts[chosen]()


def services_of(host: Host, root: str) -> list[Installed]:
    """Return the services of the city in the folder `root`, under whatever name."""
    try:
        files = sorted(os.listdir(host.folder))
    except OSError:
        return []
    found = []
    for file in files:
        if file.startswith(".") or not (
            file.startswith(host.prefix) and file.endswith(host.suffix)
        ):
            continue
        path = os.path.join(host.folder, file)
        text = read(path)
        if is_signed(text) and host.city_of(text) == root:
            name = file.removeprefix(host.prefix).removesuffix(host.suffix)
            found.append(Installed(name, path, text))
    return found


def the_service_of(host: Host, root: str, name: str) -> Installed:
    """Return the city's service, the one of that name if a name is given. Raises NotFound."""
    found = [each for each in services_of(host, root) if _is_called(host, each, name)]
    if len(found) > 1:
        names = ", ".join(each.name for each in found)
        raise UsageError(f"this city has several services: {names}", hint="choose with --name")
    if not found:
        called = f' called "{name}"' if name else ""
        raise NotFound(
            f"this city has no service{called} in {host.folder}",
            hint="`gc service install` makes one",
        )
    return found[0]


def _is_called(host: Host, service: Installed, name: str) -> bool:
    return not name or host.file_name(service.name) == host.file_name(name)


def may_write(host: Host, service: Service, *, force: bool) -> str:
    """Return what stands in the service's file, or nothing. Raises UsageError.

    A file that somebody else wrote, or that is another city's, is never overwritten; one that a
    person edited only by force.
    """
    path = os.path.join(host.folder, host.file_name(service.name))
    if not os.path.lexists(path):
        return ""
    text = read(path)
    if not is_signed(text):
        raise UsageError(f"{path} was not written by gc", hint="--name gives this one another name")
    owner = host.city_of(text)
    if owner != service.root:
        raise UsageError(
            f"{path} is the service of another city: {owner}",
            hint="--name gives this one another name",
        )
    if not (is_untouched(text) or force):
        raise UsageError(
            f"{path} was edited since gc wrote it; it is left as it is",
            hint="--force overwrites it; `gc service show` prints what would be written",
        )
    return text


def read(path: str) -> str:
    """Return what stands in a file, byte for byte; nothing where it cannot be read."""
    try:
        with open(path, encoding="utf-8", errors="surrogateescape", newline="") as file:
            return file.read(MOST)
    except OSError:
        return ""


def write(path: str, text: str) -> None:
    """Put a text in a file's place at once: a kill at any instant leaves the old or the new."""
    folder = os.path.dirname(path)
    try:
        os.makedirs(folder, exist_ok=True)
        descriptor, beside = tempfile.mkstemp(prefix=".gc-", suffix=".new", dir=folder)
        try:
            with os.fdopen(descriptor, "w", encoding="utf-8", newline="") as file:
                file.write(text)
                os.fchmod(file.fileno(), 0o644)
                file.flush()
                os.fsync(file.fileno())
            os.replace(beside, path)
        except BaseException:  # whatever it is: cleaned up, and raised again
            with contextlib.suppress(OSError):
                os.unlink(beside)
            raise
    except OSError as problem:
        raise GascityError(f"{path} cannot be written: {problem.strerror}") from problem


def remove(path: str) -> None:
    """Remove a file; it may be gone already."""
    try:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)
    except OSError as problem:
        raise GascityError(f"{path} cannot be removed: {problem.strerror}") from problem
