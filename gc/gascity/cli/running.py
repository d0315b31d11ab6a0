"""Carrying out one run for a person at a terminal: who, where, what is shown, and Ctrl-C."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import FrameType
from typing import Self

from gascity.cli.city import Here, find_agent
from gascity.cli.render import ago
from gascity.config import classes
from gascity.config.oneshots import built_in
from gascity.core.model import City
from gascity.core.naming import is_component
from gascity.core.oneshot import OneShot, PromptBy, RunCommand
from gascity.errors import ConfigError, NotFound, UsageError
from gascity.runs import job
from gascity.runs.backends import types
from gascity.runs.context import Cancel
from gascity.runs.environment import withheld_of
from gascity.runs.folder import OUTPUT, STDERR, STDOUT, RunFolder
from gascity.runs.places import Home, find_home
from gascity.runs.reconcile import settle
from gascity.runs.watchdog import Limits

ADHOC, DEFAULT = "adhoc", "default"
COMMAND = "command"
STOPPED = "stopped"
_PACE = 1.0  # seconds between two looks at how far it is


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


@dataclass(frozen=True, slots=True)
class Told:
    """What became of it, to be shown."""

    outcome: job.Outcome

    @property
    def exit_code(self) -> int:
        """What the command ends with."""
        return self.outcome.exit_code

    def document(self) -> dict[str, object]:
        """Return it as `--json` prints it."""
        info, folder = self.outcome.info, self.outcome.folder
        return {
            "run": info.run_id,
            "project": info.project_id,
            "task": info.task_id,
            "backend": info.backend,
            "status": info.status,
            "exit_code": self.exit_code,
            "end": info.end,
            "started": info.start_time,
            "ended": info.end_time,
            "duration": info.duration,
            "folder": folder.path,
            "output": folder.file(OUTPUT),
        }

    def show(self) -> None:
        """Print the answer and, of one that failed, why and where to look."""
        info, folder = self.outcome.info, self.outcome.folder
        sys.stdout.flush()
        with contextlib.suppress(OSError), open(folder.file(OUTPUT), "rb") as output:
            shutil.copyfileobj(output, sys.stdout.buffer)
        sys.stdout.flush()
        if not self.outcome.is_done:
            sys.stderr.write(f"error: run {info.run_id} failed: {info.end}\n")
            sys.stderr.write(f"hint: `gc runs show {info.run_id}` tells more\n")


def carry_out(here: Here, asked: Asked) -> Told:
    """Do what was asked for, and return what became of it. Raises GascityError."""
    home = find_home(here.folder)
    settle(home)
    made = make_job(here, home, asked)
    cancel = Cancel()
    with until_signalled(cancel), _Progress(made.backend.name) as progress:
        return Told(job.run(made, cancel, progress.begin))


def city_of(here: Here) -> City | None:
    """Return the city of a folder; None where there is none. Raises ConfigError for a bad one."""
    try:
        return here.load()
    except NotFound:
        if here.given:
            raise
        return None


def make_job(here: Here, home: Home, asked: Asked) -> job.Job:
    """Return the job that was asked for. Raises GascityError."""
    city = city_of(here)
    known = built_in() if city is None else city.backends
    backend, work_dir, own = _who(city, asked, known)
    inside = {key: os.environ.get(f"JRUN_{key}", "") for key in ("PROJECT_ID", "TASK_ID", "ID")}
    name = city.name if city is not None and is_component(city.name) else DEFAULT
    project = asked.project or inside["PROJECT_ID"] or name
    task = asked.task or (inside["TASK_ID"] if not asked.project else "") or ADHOC
    cwd = os.path.abspath(asked.cwd or work_dir or ".")
    if not os.path.isdir(cwd):
        raise UsageError(f"there is no folder {cwd!a} to work in")
    return job.Job(
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
        agent=asked.agent,
        parent=inside["ID"],
        why="somebody asked for it",
        limits=asked.limits,
    )


def _who(
    city: City | None, asked: Asked, known: Mapping[str, OneShot]
) -> tuple[OneShot, str, Mapping[str, str]]:
    """Return the backend, the folder it works in, and what is laid over its environment."""
    if sum(map(bool, (asked.backend, asked.agent, asked.command))) > 1:
        raise UsageError("--backend, --agent and a command of your own say who does it: give one")
    if asked.command:
        return OneShot(COMMAND, RunCommand(asked.command, prompt=PromptBy.STDIN)), "", {}
    if asked.agent:
        if city is None:
            raise NotFound(f'there is no agent "{asked.agent}": there is no city here')
        spec = find_agent(city, asked.agent)
        if spec.backend not in known:
            raise ConfigError(
                f"agent {spec.name} is a plain command, which nobody can give a prompt",
                hint='give it provider = "..."',
            )
        return known[spec.backend], spec.work_dir, spec.env
    name = asked.backend
    if not name:
        raise UsageError(
            "nobody says who does it", hint="--backend claude, --agent NAME, or -- COMMAND"
        )
    found = known.get(name) or known.get(name.lower())
    if found is None and not classes.where(name):
        there = ", ".join(sorted({*types(), *(one.name for one in known.values() if one.run)}))
        raise UsageError(f"unknown agent type: {name}", hint=f"there are: {there}")
    return found or OneShot(name), "", {}


@contextlib.contextmanager
def until_signalled(cancel: Cancel) -> Iterator[None]:
    """Turn the signals that end a program into the end of its run."""

    def interrupt(_: int, __: FrameType | None) -> None:
        cancel.set(job.INTERRUPTED)

    def stop(_: int, __: FrameType | None) -> None:
        cancel.set(STOPPED)

    before = {
        signal.SIGINT: signal.signal(signal.SIGINT, interrupt),
        signal.SIGTERM: signal.signal(signal.SIGTERM, stop),
        signal.SIGHUP: signal.signal(signal.SIGHUP, stop),
    }
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


class _Progress:
    """A line on the terminal that says how far it is, where there is a terminal."""

    def __init__(self, who: str) -> None:
        self._who = who
        self._began = time.monotonic()
        self._over = threading.Event()
        self._thread: threading.Thread | None = None

    def __enter__(self) -> Self:
        return self

    def begin(self, folder: RunFolder) -> None:
        """Say where it is recorded, and go on with how far it is."""
        if sys.stderr.isatty():
            self._thread = threading.Thread(target=self._show, args=[folder], daemon=True)
            self._thread.start()

    def __exit__(self, *_: object) -> None:
        self._over.set()
        if self._thread is not None:
            self._thread.join()

    def _show(self, folder: RunFolder) -> None:
        said = -1
        while not self._over.wait(_PACE):
            said = sum(_size(folder.file(name)) for name in (STDOUT, STDERR))
            passed = ago(time.monotonic() - self._began)
            sys.stderr.write(f"\r\033[K{self._who}: {folder.run_id}, {passed}, {said} bytes")
            sys.stderr.flush()
        if said >= 0:
            sys.stderr.write("\r\033[K")
            sys.stderr.flush()


def _size(path: str) -> int:
    try:
        return os.stat(path).st_size
    except OSError:
        return 0
