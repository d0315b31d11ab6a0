"""What a person asked to be done, and the job that this is: who does it, where, for which task."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass

from gascity.cli.city import Here, find_agent
from gascity.cli.limit_now import LimitNow
from gascity.cli.nearest import did_you_mean
from gascity.config import classes
from gascity.config.find import CITY_FILE
from gascity.config.oneshots import built_in
from gascity.core.model import City
from gascity.core.naming import is_component
from gascity.core.oneshot import OneShot, PromptBy, RunCommand
from gascity.errors import ConfigError, NotFound, UsageError
from gascity.runs.backends import types
from gascity.runs.conductor import address_of
from gascity.runs.environment import MARK, withheld_of
from gascity.runs.folder import RunFolder
from gascity.runs.info import WRAP, Broken
from gascity.runs.job import Job, mark_of
from gascity.runs.places import Home
from gascity.runs.waiting_line import Line
from gascity.runs.watchdog import Limits

ADHOC, DEFAULT = "adhoc", "default"
COMMAND = "command"


@dataclass(frozen=True, slots=True)
class Asked:
    """What a person asked for; what was not said is empty."""

    backend: str
    agent: str
    command: tuple[str, ...]
    project: str
    task: str
    prompt: str
    cwd: str
    limits: Limits


def city_of(here: Here) -> City | None:
    """Return the city of a folder; None where there is none. Raises ConfigError for a bad one."""
    try:
        return here.load()
    except NotFound:
        if here.given:
            raise
        return None


def job_of(city: City | None, home: Home, asked: Asked) -> Job:
    """Return the job that was asked for. Raises GascityError when it makes no sense."""
    known = built_in() if city is None else city.backends
    backend, work_dir, own = _who(city, asked, known)
    inside = {key: os.environ.get(f"JRUN_{key}", "") for key in ("PROJECT_ID", "TASK_ID", "ID")}
    name = city.name if city is not None and is_component(city.name) else DEFAULT
    project = asked.project or inside["PROJECT_ID"] or name
    task = asked.task or (inside["TASK_ID"] if not asked.project else "") or ADHOC
    cwd = os.path.abspath(asked.cwd or work_dir or ".")
    if not os.path.isdir(cwd):
        raise UsageError(f"there is no folder {cwd!a} to work in")
    served = address_of(home)
    return Job(
        home,
        home.task(project, task),
        backend,
        known,
        asked.prompt,
        cwd,
        os.environ,
        own,
        withheld=() if city is None else withheld_of(city.alerts),
        gc_folder=os.path.dirname(os.path.abspath(sys.argv[0])),
        url="" if served is None else served.url,
        agent=asked.agent,
        parent=inside["ID"],
        why="somebody asked for it",
        limits=asked.limits,
    )


def line_of(city: City | None, home: Home) -> Line:
    """Return the line that runs wait in.

    Who is waited for inside a run shares the place of that run.
    """
    if city is None or _has_place(home):
        return Line(home.projects, 0)
    file = os.path.join(os.path.dirname(home.path), CITY_FILE)
    places = city.runs.max_concurrent
    return Line(home.projects, places, LimitNow(file, places))


def _has_place(home: Home) -> bool:
    """Tell whether this process is inside a run of this home that has a place.

    A wrapped command of a person has none; one inside a run may be what that waits for.
    """
    inner = os.environ.get("JRUN_ID", "")
    if not inner or os.environ.get(MARK) != mark_of(home, inner):
        return False
    info = RunFolder(os.environ.get("JRUN_RUN_FOLDER", "")).read_info()
    return isinstance(info, Broken) or info.kind != WRAP or bool(info.parent_run_id)


def _who(
    city: City | None, asked: Asked, known: Mapping[str, OneShot]
) -> tuple[OneShot, str, Mapping[str, str]]:
    """Return the backend, the folder it works in, and what is laid over its environment."""
    if sum(map(bool, (asked.backend, asked.agent, asked.command))) > 1:
        raise UsageError("--backend, --agent and a command of your own say who does it: give one")
    if asked.command:
        return _own(asked.command, known), "", {}
    if asked.agent:
        if city is None:
            raise NotFound(f'there is no agent "{asked.agent}": there is no city here')
        spec = find_agent(city, asked.agent)
        if spec.backend not in known:
            raise ConfigError(
                f"agent {spec.name} is a plain command, which nobody can give a prompt",
                hint='give it provider = "..."',
            )
        return _able(known[spec.backend], known), spec.work_dir, spec.env
    name = asked.backend
    if not name:
        raise UsageError(
            "nobody says who does it", hint="--backend claude, --agent NAME, or -- COMMAND"
        )
    found = known.get(name) or known.get(name.lower())
    if found is None and not classes.where(name):
        there = able(known)
        hint = did_you_mean(name, there, otherwise=f"there are: {', '.join(there)}")
        raise UsageError(f"unknown agent type: {name}", hint=hint)
    return _able(found or OneShot(name), known), "", {}


def _own(command: tuple[str, ...], known: Mapping[str, OneShot]) -> OneShot:
    """Return a command of the caller's as a backend; a tool known by its name keeps its login."""
    tool = known.get(os.path.basename(command[0]), OneShot(COMMAND))
    return OneShot(
        COMMAND,
        RunCommand(command, prompt=PromptBy.STDIN),
        pass_env=tool.pass_env,
        token_env=tool.token_env,
        account_env=tool.account_env,
    )


def able(known: Mapping[str, OneShot]) -> list[str]:
    """Return the names of the backends that can do one piece of work, but for installed classes."""
    return sorted({*types(), *(one.name for one in known.values() if one.run)})


def _able(backend: OneShot, known: Mapping[str, OneShot]) -> OneShot:
    name = backend.name
    if backend.run is None and not classes.where(name):
        there = ", ".join(able(known))
        raise UsageError(
            f'backend "{name}" has no command for one-shot runs',
            hint=f"there are: {there}; [providers.{name}.run] gives it one",
        )
    return backend
