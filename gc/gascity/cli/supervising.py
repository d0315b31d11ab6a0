"""Starting the supervisor of a task: in this process, or in one of its own that outlives it.

The lock that makes it the only one is taken here and handed over to that process, so that there is
no instant in which nobody holds it. A command that may hold a secret is handed over as well, and
never written down.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace

from gascity.cli.asked import Asked, city_of, job_of, line_of
from gascity.cli.city import Here
from gascity.cli.running import Told, say, signals
from gascity.core.fingerprint import conceal
from gascity.errors import GascityError, UsageError
from gascity.runs import dependencies, desired
from gascity.runs.environment import MARK, secrets_in
from gascity.runs.folder import RunFolder
from gascity.runs.info import utc
from gascity.runs.job import Job
from gascity.runs.places import DONE, Home, TaskPlace, find_home
from gascity.runs.reconcile import settle
from gascity.runs.stops import Stops
from gascity.runs.task import Supervisor
from gascity.runs.task_info import TaskInfo, TaskState, Wanted
from gascity.runs.watchdog import Limits
from gascity.session.marks import MARK as SESSION_MARK

LOG = "supervisor.log"


@dataclass(frozen=True, slots=True)
class Order:
    """A task that this process holds, to be supervised. `command` is the real one."""

    here: Here
    home: Home
    place: TaskPlace
    command: tuple[str, ...]
    lock: int
    gc_folder: str

    def job(self) -> Job:
        """Return its job, by what is written down of it. Raises GascityError."""
        info = desired.read(self.place)
        asked = Asked(
            backend=info.backend,
            agent=info.agent,
            command=self.command,
            project=info.project,
            task=info.task,
            prompt=desired.read_prompt(self.place),
            cwd=info.cwd,
            limits=Limits(idle=info.idle_timeout),
        )
        made = job_of(city_of(self.here), self.home, asked)
        return replace(made, gc_folder=self.gc_folder, why="its task was started")


def start(here: Here, asked: Asked, wanted: TaskInfo, depends_on: list[str]) -> Order:
    """Declare a task anew, and hold it; `wanted` has its limits. Raises GascityError."""
    home = find_home(here.folder)
    made = job_of(city_of(here), home, asked)
    place = made.task
    others = [dependencies.place_of(home, name, place.project) for name in depends_on]
    home.make()
    lock = desired.hold(place)
    secrets = secrets_in(os.environ, made.backend, made.own)
    words = (conceal(word, secrets) for word in asked.command)
    kept = tuple(word.encode("utf-8", "backslashreplace").decode() for word in words)
    info = replace(
        wanted,
        project=place.project,
        task=place.name,
        started=utc(time.time()),
        backend=asked.backend,
        agent=asked.agent,
        command=kept,
        concealed=kept != asked.command,
        cwd=made.work_dir,
        depends_on=tuple(dependencies.whole(other) for other in others),
    )
    with dependencies.deciding(home):
        dependencies.check(home, place, others)
        desired.write_prompt(place, asked.prompt)
        if place.is_done():  # of what it was before
            os.unlink(os.path.join(place.path, DONE))
        desired.write(place, info)
    return Order(here, home, place, asked.command, lock, made.gc_folder)


def resume(here: Here, home: Home, place: TaskPlace) -> Order:
    """Hold a task that is over and not done, to go on with it. Raises GascityError."""
    desired.read(place)
    lock = desired.hold(place)
    info = desired.read(place)
    if info.state is TaskState.DONE:
        raise UsageError(f"task {info.name} is done", hint="`gc task start` begins it anew")
    if info.concealed:
        raise UsageError(
            f"the command of task {info.name} held a secret, or no text, which was not kept",
            hint="`gc task start` begins it anew",
        )
    with dependencies.deciding(home):
        others = [dependencies.place_of(home, name, place.project) for name in info.depends_on]
        dependencies.check(home, place, others)
        gc_folder = os.path.dirname(os.path.abspath(sys.argv[0]))
        order = Order(here, home, place, info.command, lock, gc_folder)
        order.job()  # one that cannot begin stays as it is
        desired.change(place, _again)
    return order


def _again(info: TaskInfo) -> TaskInfo:
    return replace(
        info,
        wanted=Wanted.RUNNING,
        state=TaskState.WAITING,
        why="",
        attempts=0,
        exit_code=None,
        started=utc(time.time()),
        ended="",
    )


def supervise(order: Order, *, aloud: bool) -> tuple[TaskInfo, Told | None]:
    """Take a task to its end in this process; return how it stands, and its last run.

    The task is held until this process ends. Raises GascityError.
    """
    stops = Stops()
    with signals(stops.set):
        settle(order.home)
        line = line_of(city_of(order.here), order.home)
        driven = Supervisor(order.job(), line, stops, say if aloud else lambda _: None)
        info = driven.supervise()
    return info, None if driven.outcome is None else Told(driven.outcome)


def detach(order: Order) -> TaskInfo:
    """Have a process of its own supervise the task; return when it does.

    It ends neither with this terminal nor with the run or session that this was called from.
    Raises GascityError when it ended before it began.
    """
    reading, writing = os.pipe()
    path = os.path.join(order.place.path, LOG)
    log = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND, 0o600)
    told = {
        "folder": os.path.abspath(order.here.folder),
        "given": order.here.given,
        "project": order.place.project,
        "task": order.place.name,
        "command": list(order.command),
        "lock": order.lock,
        "ready": writing,
        "gc_folder": order.gc_folder,
    }
    with os.fdopen(reading, "rb") as answer:
        child = subprocess.Popen(
            [sys.executable, "-P", "-m", "gascity.cli.task_process"],
            stdin=subprocess.PIPE,
            stdout=log,
            stderr=log,
            env=_environment(order),
            start_new_session=True,
            pass_fds=[order.lock, writing],
        )
        os.close(writing)
        os.close(log)
        os.close(order.lock)
        _hand_over(child, told)
        is_ready = bool(answer.readline())
    if not is_ready:
        child.wait()
        said = RunFolder(order.place.path).read(LOG).strip().removeprefix("error: ")
        raise GascityError(f"task {order.place.name} did not begin: {said or 'nobody knows why'}")
    child.returncode = 0  # it lives on without us; there is nothing to reap
    return desired.read(order.place)


def _hand_over(child: subprocess.Popen[bytes], told: Mapping[str, object]) -> None:
    """Tell it what it needs. One that is dead already is noticed by who waits for it."""
    if child.stdin is not None:
        try:
            child.stdin.write(json.dumps(told).encode())
            child.stdin.close()
        except BrokenPipeError:
            return


def _environment(order: Order) -> dict[str, str]:
    """Return our environment without the marks by which a run or a session ends its processes.

    What carries another mark is of another run for the guard of this one, if there is one.
    """
    env = {key: value for key, value in os.environ.items() if key not in (MARK, SESSION_MARK)}
    own = f"{order.home.path}:task:{dependencies.whole(order.place)}"
    return {**env, MARK: own} if MARK in os.environ else env
