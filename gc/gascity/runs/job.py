"""One run from its beginning to its end, by the one road that every way of failing takes too.

The record is there before anything slow is done, and its final state is written once. What an agent
leaves is the same whatever happened: five files, and two messages on the bus, `RUN_START` and then
`RUN_STOP` or `RUN_CRASH`. A runner that is killed leaves a mark, by which `settle` ends the road
for it.
"""

from __future__ import annotations

import shlex
import threading
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from gascity.core.fingerprint import conceal
from gascity.errors import BackendError, Exit, GascityError
from gascity.journal.bus import Bus
from gascity.runs.context import Backend, Cancel, RunContext
from gascity.runs.environment import Identity, run_environment
from gascity.runs.folder import OUTPUT, PROMPT, STDERR, STDOUT, RunFolder
from gascity.runs.info import JOB, RunInfo, Status, concealed, utc
from gascity.runs.leavings import complete, last_lines
from gascity.runs.places import Held, Home, TaskPlace
from gascity.runs.preamble import prompt_text
from gascity.runs.watchdog import Limits, Watchdog

START, STOP, CRASH = "RUN_START", "RUN_STOP", "RUN_CRASH"
TAIL = 50  # lines of what a failed agent complained that its crash message holds
PANIC = "agent panic"


@dataclass(frozen=True, slots=True)
class Job:
    """What is to be done once: which backend, what it is told, where, and within which limits.

    `command` is how the record names it. `own` is laid over the environment of this process,
    which is `host`; `vendor` says what the backend needs of it.
    """

    home: Home
    task: TaskPlace
    backend: Backend
    prompt: str
    work_dir: str
    host: Mapping[str, str] = field(repr=False)
    own: Mapping[str, str] = field(default_factory=dict, repr=False)
    agent: str = ""
    command: Sequence[str] = ()
    format: str = "text"
    parent: str = ""
    previous: str = ""
    restarts: int = 0
    why: str = ""
    kind: str = JOB
    limits: Limits = Limits()


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a run."""

    folder: RunFolder
    info: RunInfo
    exit_code: int

    @property
    def is_done(self) -> bool:
        """Whether it did what it should."""
        return self.info.status is Status.COMPLETED


def run(job: Job, cancel: Cancel, begun: Callable[[RunFolder], None] = lambda _: None) -> Outcome:
    """Do a job, and return what became of it; `begun` is told where it is recorded.

    Raises GascityError when nothing can be recorded; then nothing was done either.
    """
    held = job.home.allocate(job.task)
    try:
        return _Road(job, held, cancel).go(begun)
    except BaseException:
        held.leave()  # whoever comes next settles it
        raise


class _Road:
    """The steps of one run."""

    def __init__(self, job: Job, held: Held, cancel: Cancel) -> None:
        self._job = job
        self._held = held
        self._folder = held.folder
        self._cancel = cancel
        self._bus = Bus(job.home.journal)
        self._began = time.monotonic()
        who = Identity(held.folder.run_id, job.task.project, job.task.name, job.parent)
        self._given = run_environment(job.host, job.own, who, job.task.path, job.home, job.backend)
        self._info = concealed(
            RunInfo(
                held.folder.run_id,
                kind=job.kind,
                agent=job.agent,
                backend=job.backend.type,
                work_dir=job.work_dir,
                previous_run_id=job.previous,
                restarts=job.restarts,
                why=job.why,
                start_time=utc(time.time()),
                project_id=job.task.project,
                task_id=job.task.name,
                parent_run_id=job.parent,
                command=shlex.join(job.command),
            ),
            self._given.secrets,
        )

    def go(self, begun: Callable[[RunFolder], None]) -> Outcome:
        """Go all the way."""
        self._folder.write_info(self._info)
        begun(self._folder)
        code, end = self._work()
        self._folder_is_whole()
        is_done = code == 0
        self._info = concealed(
            replace(
                self._info,
                status=Status.COMPLETED if is_done else Status.FAILED,
                end_time=utc(time.time()),
                duration=round(time.monotonic() - self._began, 3),
                exit_code=code,
                signal=code - 128 if 128 < code <= 128 + 64 else None,
                end=end,
                crash=not is_done and not self._cancel.is_set(),
                asked=self._cancel.is_set(),
            ),
            self._given.secrets,
        )
        self._folder.write_info(self._info)
        self._say(STOP if is_done else CRASH, self._farewell())
        self._held.settled()
        return Outcome(self._folder, self._info, code)
