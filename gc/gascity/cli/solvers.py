"""Who works on an issue: what a person names with `--agent`, and the job that each of them is."""

from __future__ import annotations

import os
import re
import shlex
import shutil
from collections.abc import Sequence
from dataclasses import dataclass, replace

from gascity.cli.asked import Asked, able, job_of
from gascity.cli.nearest import did_you_mean
from gascity.config import classes
from gascity.config.oneshots import built_in
from gascity.config.problems import quoted
from gascity.core.fingerprint import conceal
from gascity.core.model import City, declared
from gascity.core.naming import is_component
from gascity.errors import NotInstalled, UsageError
from gascity.runs.environment import secrets_in
from gascity.runs.info import SOLVE
from gascity.runs.job import Job
from gascity.runs.places import Home
from gascity.runs.watchdog import Limits
from gascity.worktrees import names
from gascity.worktrees.git import LOCATED
from gascity.worktrees.record import Part, Solve
from gascity.worktrees.repository import slug

MOST = 50  # agents at one issue
_LONGEST_NAME = 20
_NAMED = re.compile(r"([^/\s=]+)=(.*)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Solver:
    """One agent that is to work: its name at this issue, and who it is."""

    name: str
    asked: Asked

    @property
    def words(self) -> str:
        """Who it is, for people."""
        asked = self.asked
        return asked.backend or asked.agent or shlex.join(asked.command)


def solvers(city: City | None, words: Sequence[str], limits: Limits) -> list[Solver]:
    """Return who is meant by these words, each with a name of its own. Raises UsageError.

    A word is a backend, an agent of the city, or a command; `NAME=` before it names it.
    """
    if not words:
        hint = f"--agent NAME for each: {', '.join(_backends(city))}; or a command of your own"
        raise UsageError("nobody says who works on it", hint=hint)
    if len(words) > MOST:
        raise UsageError(f"more than {MOST} agents at one issue")
    found: list[Solver] = []
    for word in words:
        alias, what = _split(word)
        asked = _asked(city, what, limits)
        given = alias or slug(_usual_name(asked).lower(), _LONGEST_NAME) or "agent"
        if alias and (len(alias) > _LONGEST_NAME or any(one.name == alias for one in found)):
            is_long = len(alias) > _LONGEST_NAME
            why = (
                f"has more than {_LONGEST_NAME} characters" if is_long else "stands for two agents"
            )
            raise UsageError(f"the name {quoted(alias)} {why}")
        taken = {one.name for one in found}
        name, number = given, 1
        while name in taken:
            number += 1
            name = f"{given}-{number}"
        found.append(Solver(name, asked))
    return found


def job_for(city: City | None, home: Home, solve: Solve, part: Part, asked: Asked) -> Job:
    """Return what one agent is to do. Raises GascityError."""
    made = job_of(city, home, asked)
    issue = f"issue {solve.number or solve.issue}"
    return replace(
        made,
        task=home.task(solve.project, names.task(solve.issue, part.agent)),
        work_dir=part.worktree,
        withheld=(*made.withheld, *LOCATED),
        kind=SOLVE,
        why=f"{issue} is to be resolved, attempt {solve.attempt}",
    )


def check_program(job: Job, solver: Solver) -> None:
    """See that what a backend runs is installed. Raises NotInstalled."""
    words = job.backend.run.command if job.backend.run is not None else ()
    if not words or ("/" in words[0] and not os.path.isabs(words[0])):
        return  # it is asked over HTTP, or will be looked for in the worktree
    path = {**job.host, **job.backend.env, **job.own}.get("PATH")
    if shutil.which(words[0], path=path) is None:
        raise NotInstalled(
            f"{solver.name} cannot work: there is no program {quoted(words[0])} here",
            hint="`gc doctor` tells what is here",
        )


def shown(job: Job, solver: Solver) -> str:
    """Return who a solver is, for people and records: without a secret."""
    return conceal(solver.words, secrets_in(os.environ, job.backend, job.own))


def _split(word: str) -> tuple[str, str]:
    """Return the name before a word, and the rest of it. Raises UsageError for what is no name."""
    found = _NAMED.fullmatch(word)
    if found is None:
        return "", word
    if not is_component(found[1]):
        hint = "letters, digits, _ and single dashes"
        raise UsageError(f"{quoted(found[1])} is no name for an agent", hint=hint)
    if not found[2]:
        raise UsageError(f"--agent {quoted(word)} names nobody")
    return found[1], found[2]


def _asked(city: City | None, what: str, limits: Limits) -> Asked:
    blank = Asked("", "", (), "", "", "", "", limits)
    if city is not None and any(spec.name == what for spec in declared(city.desired)):
        return replace(blank, agent=what)
    known = built_in() if city is None else city.backends
    if what in known or what.lower() in known or classes.where(what):
        return replace(blank, backend=what)
    return replace(blank, command=_command(city, what))


def _command(city: City | None, text: str) -> tuple[str, ...]:
    try:
        words = shlex.split(text)
    except ValueError as problem:
        raise UsageError(f"--agent {quoted(text)} is no command: {problem}") from None
    if not words:
        raise UsageError("--agent is empty", hint="leave it out, or say who")
    program = words[0]
    if "/" in program:
        path = os.path.abspath(program)  # it will run in another folder
        if not os.path.isfile(path):
            raise UsageError(f"there is no program {quoted(program)}")
        if not os.access(path, os.X_OK):
            raise UsageError(f"{quoted(program)} cannot be executed", hint=f"`chmod +x {program}`")
        return (path, *words[1:])
    if shutil.which(program) is None:
        known = _backends(city)
        agents = [] if city is None else [spec.name for spec in declared(city.desired)]
        there = f"backends are {', '.join(known)}"
        hint = did_you_mean(program, [*known, *agents], otherwise=there)
        raise UsageError(f"there is no backend, agent or program {quoted(program)}", hint=hint)
    return tuple(words)


def _usual_name(asked: Asked) -> str:
    if asked.command:
        return os.path.splitext(os.path.basename(asked.command[0]))[0]
    return asked.backend or asked.agent.rpartition("/")[2]


def _backends(city: City | None) -> list[str]:
    return able(built_in() if city is None else city.backends)
