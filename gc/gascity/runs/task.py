"""A task from its beginning to its end: runs, one after another, until one has done it.

What a person wants stands in `task-info.yaml`, and is read at the instant before each run: a stop
outranks a restart. Whoever supervises holds the lock of the task until its process is gone. The
turns of the task are told on the bus, and to `say`.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable
from dataclasses import dataclass, replace

from gascity.config.durations import format_duration
from gascity.errors import Exit, GascityError
from gascity.journal.bus import Bus
from gascity.journal.message import INFO
from gascity.runs import dependencies, desired, job
from gascity.runs.folder import RunFolder
from gascity.runs.info import RunInfo, utc
from gascity.runs.places import Home, TaskPlace
from gascity.runs.reconcile import settle
from gascity.runs.stops import Stops
from gascity.runs.task_info import TaskInfo, TaskState, Wanted
from gascity.runs.waiting_line import LeftLine, Line, standing
from gascity.runs.watchdog import TimedOut
from gascity.session import pids

LOOK = 0.2  # seconds between two looks at other tasks, or at runs of other processes
AUTHOR = "gc"
Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Ending:
    """How a task ended; `code` is what its supervisor ends with."""

    state: TaskState
    why: str
    code: int


class _Unwanted(Exception):
    """The task is to be stopped."""


class Supervisor:
    """Drives one task. `first` is its job, without what differs from run to run."""

    def __init__(self, first: job.Job, line: Line, stops: Stops, say: Say = lambda _: None) -> None:
        self._first, self._line, self._stops, self._say = first, line, stops, say
        self._home, self._place = first.home, first.task
        self._info = TaskInfo(first.task.project, first.task.name)
        self.outcome: job.Outcome | None = None

    def supervise(self) -> TaskInfo:
        """Take it to its end, and return what is written down of it then.

        Must be called by who holds the task. Raises GascityError when nothing can be written.
        """
        pid = os.getpid()
        self._note(supervisor=pid, supervisor_started=pids.table.started(pid) or "")
        with self._stops.after(self._info.timeout):
            try:
                ending = self._drive()
            except (_Unwanted, LeftLine):
                ending = self._stopped()
            except GascityError as problem:
                ending = Ending(TaskState.FAILED, problem.message, Exit.FAILED)
        is_failed = ending.state is TaskState.FAILED
        how = "has failed" if is_failed else f"is {ending.state}"
        self._tell(f"task {self._place.name} {how}: {ending.why}")
        return self._note(
            state=ending.state,
            why=ending.why,
            exit_code=int(ending.code),
            ended=utc(time.time()),
            supervisor=None,
            supervisor_started="",
            **({"wanted": Wanted.STOPPED} if ending.state is TaskState.STOPPED else {}),
        )

    def _drive(self) -> Ending:
        self._await_dependencies()
        made = replace(self._first, previous=self._info.last_run)
        made = replace(made, restarts=1 if made.previous else 0)
        while True:
            if self._place.is_done():
                return self._done("it says DONE")
            outcome = self.outcome = self._attempt(made)
            info = outcome.info
            if self._place.is_done():
                return self._done("it says DONE")
            if outcome.is_done and not self._info.until_done:
                return self._done(f"run {info.run_id} did it")
            if self._stops.whole.is_set():
                return self._stopped()
            how = f"run {info.run_id} ended with code {info.exit_code}{_reason(info)}"
            if outcome.is_done:
                how = f"run {info.run_id} ended without DONE"
            if self._info.attempts > self._info.max_restarts:
                code = outcome.exit_code or Exit.FAILED
                return Ending(TaskState.FAILED, f"no restart is left: {how}", code)
            self._pause(how)
            made = replace(made, previous=info.run_id, restarts=made.restarts + 1, why=how)

    def _await_dependencies(self) -> None:
        told: list[str] = []
        while unmet := dependencies.unmet(self._home, self._info.depends_on, self._place.project):
            if unmet != told:
                self._wait_for(f"waits for {', '.join(unmet)}")
                told = unmet
            if self._stops.whole.wait(LOOK):
                raise _Unwanted
        if told:
            self._tell(f"task {self._place.name} goes on: what it waited for is done")

    def _attempt(self, made: job.Job) -> job.Outcome:
        """Run it once. Raises _Unwanted when that is not wanted any more, LeftLine likewise."""
        with self._line.place(self._stops.whole, self._queued), self._stops.run() as cancel:
            self._info = desired.change(self._place, _begun)
            number = self._info.attempts
            self._tell(f"task {self._place.name}: run {number} begins")
            return job.run(made, cancel, self._recorded)

    def _recorded(self, folder: RunFolder) -> None:
        self._note(last_run=folder.run_id)

    def _queued(self, before: int) -> None:
        self._note(state=TaskState.QUEUED, why=standing(before))
        self._say(f"task {self._place.name} {standing(before)}")

    def _pause(self, how: str) -> None:
        """Wait before the next run. Raises _Unwanted when that is not wanted any more."""
        rest = f"restart {self._info.attempts} of {self._info.max_restarts}"
        self._wait_for(f"{how}; {rest} comes in {format_duration(self._info.delay)}")
        if self._stops.whole.wait(self._info.delay):
            raise _Unwanted

    def _done(self, why: str) -> Ending:
        """Wait for what its runs began, and then it is done."""
        told: list[str] = []
        while children := open_children(self._home, self._place):
            if children != told:
                self._wait_for(f"{why}; waits for the runs {', '.join(children)} that it began")
                told = children
            if self._stops.whole.wait(LOOK):
                raise _Unwanted
            settle(self._home)
        return Ending(TaskState.DONE, why, Exit.OK)

    def _stopped(self) -> Ending:
        reason = self._stops.whole.reason
        if isinstance(reason, TimedOut):
            return Ending(TaskState.FAILED, str(reason), Exit.TIMED_OUT)
        why = job.INTERRUPTED if reason == job.INTERRUPTED else desired.STOPPED
        return Ending(TaskState.STOPPED, why, job.code_of(reason))

    def _wait_for(self, why: str) -> None:
        self._note(state=TaskState.WAITING, why=why)
        self._tell(f"task {self._place.name}: {why}")

    def _note(self, **what: object) -> TaskInfo:
        self._info = desired.change(
            self._place,
            lambda info: replace(info, **what),  # type: ignore[arg-type]  # fields of it
        )
        return self._info

    def _tell(self, text: str) -> None:
        """Say it to who looks on, and on the bus, where what cannot be written is left out."""
        self._say(text)
        with contextlib.suppress(GascityError), Bus(self._home.journal) as bus:
            bus.post(INFO, text, project=self._place.project, task=self._place.name, author=AUTHOR)


def open_children(home: Home, place: TaskPlace) -> list[str]:
    """Return the runs of a task that runs of it began and that are not over, the oldest first."""
    own = set(place.runs.ids())
    found = []
    for run in home.open_runs():
        folder = place.runs.of(run.run_id)
        if run.folder == folder.path:
            info = folder.read_info()
            if isinstance(info, RunInfo) and info.parent_run_id in own:
                found.append(run.run_id)
    return found


def _reason(info: RunInfo) -> str:
    """Return what its record says beyond the exit code, to be told after that."""
    code = info.exit_code
    said = info.end.removeprefix(f"agent exited with code {code}").removeprefix(": ")
    return f": {said}" if said and said != f"exit status {code}" else ""


def _begun(info: TaskInfo) -> TaskInfo:
    if info.wanted is Wanted.STOPPED:
        raise _Unwanted
    return replace(info, state=TaskState.RUNNING, why="", attempts=info.attempts + 1)
