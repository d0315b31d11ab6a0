"""Setting up and taking back the hooks of an agent, from what its city declares."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass

from gascity.core.model import AgentSpec
from gascity.errors import GascityError, NotInstalled
from gascity.hooks import files
from gascity.hooks.backends import hooked
from gascity.hooks.files import Record
from gascity.hooks.hooked import Untouchable

FOLDER = "hooks"  # in the city's state folder


@dataclass(frozen=True, slots=True)
class Installed:
    """The file that has the hooks of an agent; `changed` says that it had not before."""

    path: str
    changed: bool


def install(spec: AgentSpec, env: Mapping[str, str], state: str) -> Installed | None:
    """Set up the hooks of an agent whose environment is `env`; None for a backend without hooks.

    `state` is the city's `.gc` folder. Raises Untouchable when the tool's file cannot be changed.
    """
    hooks = hooked(spec.backend)
    if hooks is None:
        return None
    path = hooks.path(os.path.abspath(spec.work_dir), env)
    changed = files.install(records_folder(state), hooks, path, spec.session, executable())
    return Installed(path, changed)


def uninstall(state: str, session: str = "") -> tuple[list[Record], list[GascityError]]:
    """Take back the hooks of a session, or all; return which files are free of them now.

    A file that cannot be changed is a problem, and stays written down.
    """
    done: list[Record] = []
    problems: list[GascityError] = []
    for record in installed(state, session):
        hooks = hooked(record.backend)
        try:
            if hooks is None:
                raise Untouchable(f'{record.path}: this gc knows no backend "{record.backend}"')
            if files.uninstall(records_folder(state), record, hooks, session):
                done.append(record)
        except GascityError as problem:
            problems.append(problem)
    return done, problems


def unrecorded(spec: AgentSpec, env: Mapping[str, str], state: str) -> str:
    """Return the file of an agent with hooks of ours that no record tells of, or nothing."""
    hooks = hooked(spec.backend)
    if hooks is None:
        return ""
    path = hooks.path(os.path.abspath(spec.work_dir), env)
    return path if files.is_unrecorded(records_folder(state), hooks, path) else ""


def clean(spec: AgentSpec, path: str) -> bool:
    """Take our hooks out of such a file; not, and False, where it is all cities' of this user.

    Raises Untouchable.
    """
    hooks = hooked(spec.backend)
    if hooks is None or not path.startswith(os.path.join(os.path.abspath(spec.work_dir), "")):
        return False
    files.clean(hooks, path)
    return True


def installed(state: str, session: str = "") -> list[Record]:
    """Return the files that have hooks of ours, or those that a session asked for."""
    found = files.records(records_folder(state))
    return [record for record in found if not session or session in record.sessions]


def is_in_place(record: Record) -> bool | None:
    """Tell whether the hooks of a record are in its file; None where that cannot be read."""
    hooks = hooked(record.backend)
    try:
        content = files.content_of(record.target)
        return bool(hooks and content is not None and hooks.stripped(content) != content)
    except (GascityError, OSError):
        return None


def records_folder(state: str) -> str:
    """Return where a city keeps what it did to files."""
    return os.path.join(state, FOLDER)


def executable() -> str:
    """Return the absolute path of this `gc`. Raises NotInstalled."""
    here = os.path.dirname(os.path.abspath(sys.executable))
    for name in ("gc", "gascity"):
        path = os.path.join(here, name)
        if os.access(path, os.X_OK):
            return path
    found = shutil.which("gascity")
    if found is None:
        raise NotInstalled("gc itself is not installed as a program that a hook could call")
    return os.path.abspath(found)
