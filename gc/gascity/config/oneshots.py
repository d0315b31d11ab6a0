"""Backends as one-shot runs know them: `[NAME.run]` of the presets and `[providers.NAME.run]`.

A key of the city's table stands in place of the preset's; `command` and `args` are words of an
argument list, which no shell and no template changes. A token is never read here, only whether the
file that holds it can be used; and no message has the path, for it may be the token by mistake.
"""

from __future__ import annotations

import functools
import os
import shlex
import stat
import urllib.parse
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from gascity.config.backends import Backend, everything, tables
from gascity.config.places import Path
from gascity.config.problems import quoted
from gascity.config.report import Report
from gascity.core.fingerprint import looks_secret
from gascity.core.oneshot import Format, OneShot, PromptBy, RunCommand
from gascity.core.template import TemplateError, expand

if TYPE_CHECKING:  # pydantic is imported only where a city is read
    from gascity.config.schema import BackendTable, CityFile, RunTable

_OTHERS_READ = stat.S_IRGRP | stat.S_IROTH
_NOT_OF_RUNS = dict.fromkeys(("Session", "Agent", "Name", "Dir"), "")  # templates of sessions


@functools.cache
def built_in() -> Mapping[str, OneShot]:
    """Return the backends gc knows, for where there is no city."""
    return {name: _preset(backend) for name, backend in everything().items()}


def one_shots(
    file: CityFile, backends: Mapping[str, Backend], city: str, root: str, report: Report
) -> Mapping[str, OneShot]:
    """Return every backend of a city, by name, also those that cannot be run once.

    What is wrong with their tables goes to the report.
    """
    variables = {**_NOT_OF_RUNS, "City": city, "CityRoot": root, "WorkDir": root}
    shared = _expanded(file.workspace.env, ("workspace", "env"), variables, report)
    known = {}
    for name, backend in backends.items():
        own = _expanded(backend.env, ("providers", name, "env"), variables, report)
        made = replace(_preset(backend), env={**shared, **own})
        table = file.providers.get(name)
        known[name] = made if table is None else _changed(made, table, root, report)
    return known


def _preset(backend: Backend) -> OneShot:
    """Return what is known of a backend before the city has said anything of runs."""
    made = OneShot(
        name=backend.name,
        env=backend.env,
        pass_env=backend.pass_env,
        token_env=backend.token_env,
        login_env=backend.token_env[:1],
    )
    table = tables().get(backend.name)
    if table is None:
        return made
    made = replace(made, account_env=tuple(table.account_env), base_url_env=table.base_url_env)
    if table.login_env and backend.token_env == tuple(table.token_env or ()):
        made = replace(made, login_env=tuple(table.login_env))
    if table.run is None:
        return made
    empty = RunCommand(
        (), model_args=tuple(table.run.model_args), base_url_args=tuple(table.run.base_url_args)
    )
    return replace(made, run=_laid(empty, table.run))


def _changed(below: OneShot, table: BackendTable, root: str, report: Report) -> OneShot:
    """Return a backend with what the city says of its runs."""
    at = ("providers", below.name)
    run = below.run if table.run is None else _run(below, table.run, (*at, "run"), report)
    has_login = "@" in urllib.parse.urlsplit(table.base_url).netloc
    if has_login and run is not None and run.base_url_args:
        report.at(
            (*at, "base_url"),
            "an address with a login cannot be used here: it would be an argument of the command, "
            "which everybody on this machine can read",
        )
    return replace(
        below,
        run=run,
        token_file=_token_file(below, table.token_file, root, (*at, "token_file"), report),
        base_url=table.base_url,
        model=table.model,
    )


def _run(below: OneShot, table: RunTable, at: Path, report: Report) -> RunCommand | None:
    """Return the command with the city's changes; None, and a problem, when there is none."""
    try:
        run = _laid(below.run or RunCommand(()), table)
    except ValueError as problem:  # a quote without its end
        report.at((*at, "command"), str(problem).lower())
        return None
    if not run.command:
        whose = f"backend {quoted(below.name)} has no built-in command for one-shot runs"
        report.at(at, f'missing key "command": {whose}')
        return None
    return run


def _laid(below: RunCommand, table: RunTable) -> RunCommand:
    """Return `below` with the keys of a table. Raises ValueError for a command with open quotes."""
    return replace(
        below,
        command=tuple(shlex.split(table.command)) or below.command,
        args=below.args if table.args is None else tuple(table.args),
        prompt=PromptBy(table.prompt or below.prompt),
        format=Format(table.format or below.format),
    )


def _token_file(below: OneShot, name: str, root: str, at: Path, report: Report) -> str:
    """Return the absolute path of the file with the token; empty for none."""
    if not name:
        return ""
    path = os.path.normpath(os.path.join(root, os.path.expanduser(name)))
    report.came_from(path)
    if not below.login_env:
        report.at(
            at,
            f"backend {quoted(below.name)} has no variable for a token",
            'name it: token_env = ["..."]',
        )
        return ""
    try:
        found = os.stat(path)
    except (OSError, ValueError) as problem:  # ValueError: a name the system cannot have
        why = getattr(problem, "strerror", None) or "its name is not possible here"
        hint = "" if os.path.isabs(name) else "a path begins at the folder of the city file"
        report.at(at, f"this file cannot be used: {why}", hint)
        return ""
    if not stat.S_ISREG(found.st_mode):
        report.at(at, "this is not a file")
    elif not found.st_size:
        report.at(at, "this file is empty")
    elif not os.access(path, os.R_OK):
        report.at(at, "this file cannot be read")
    if found.st_mode & _OTHERS_READ:
        report.warn(
            f"the token_file of backend {quoted(below.name)} can be read by others: "
            "chmod 600 makes it yours alone"
        )
    return path


def _expanded(
    env: Mapping[str, str], at: Path, variables: Mapping[str, str], report: Report
) -> dict[str, str]:
    """Return an environment with its templates expanded; a run has no session to name."""
    made = {}
    for key, value in env.items():
        try:
            made[key] = expand(value, variables)
        except TemplateError as problem:
            text = "cannot expand the value's templates" if looks_secret(key) else str(problem)
            report.at((*at, key), text)
    return made
