"""One run from its beginning to its end, by the one road that every way of failing takes too.

The record is there before anything slow is done, and its final state is written once. What a run
leaves is the same whatever happened: five files, and two messages on the bus, `RUN_START` and then
`RUN_STOP` or `RUN_CRASH`. A runner that is killed leaves a mark, and `settle` goes the rest of the
road for it.
"""

from __future__ import annotations

import contextlib
import shlex
import time
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from gascity.config.keeping import kept
from gascity.core.fingerprint import conceal
from gascity.core.observed import ProcessId
from gascity.core.oneshot import Format, OneShot
from gascity.errors import BackendError, Exit, GascityError
from gascity.journal.bus import Bus
from gascity.runs import backends, messages
from gascity.runs.context import Backend, Cancel, RunContext
from gascity.runs.environment import (
    RunEnvironment,
    RunIds,
    RunPaths,
    run_environment,
    secrets_in,
)
from gascity.runs.folder import PROMPT, STDERR, STDOUT, RunFolder
from gascity.runs.info import JOB, SOLVE, RunInfo, Status, concealed, utc
from gascity.runs.leavings import complete
from gascity.runs.places import Held, Home, TaskPlace
from gascity.runs.preamble import prompt_text
from gascity.runs.tokens import read_token
from gascity.runs.watchdog import Limits, TimedOut, Watchdog

INTERRUPTED, STOPPED = "interrupted", "stopped"  # why a run is cancelled
PANIC = "agent panic"
TERMINATED = 143
_SIGNALS = range(129, 193)


@dataclass(frozen=True, slots=True)
class Job:
    """What is to be done once: by which backend, what it is told, where, within which limits.

    `known` are all backends there are. `own` is laid over the environment of the run, which comes
    from `host`; `withheld` names variables of the supervisor that no run gets. `by` makes who
    does it, in place of the backend of that name. `prepare` is given the folder before anything
    is started, and returns what else is laid over the environment.
    """

    home: Home
    task: TaskPlace
    backend: OneShot
    known: Mapping[str, OneShot] = field(repr=False)
    prompt: str
    work_dir: str
    host: Mapping[str, str] = field(repr=False)
    own: Mapping[str, str] = field(default_factory=dict, repr=False)
    withheld: tuple[str, ...] = ()
    gc_folder: str = ""
    url: str = ""
    agent: str = ""
    parent: str = ""
    previous: str = ""
    restarts: int = 0
    why: str = ""
    kind: str = JOB
    limits: Limits = field(default_factory=Limits)
    by: Callable[[Callable[[ProcessId], None]], Backend] | None = None
    prepare: Callable[[RunFolder], Mapping[str, str]] | None = None

    @property
    def format(self) -> Format:
        """In what form its answer is printed."""
        return Format.TEXT if self.backend.run is None else self.backend.run.format


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a run; `exit_code` is what a command that runs it ends with."""

    folder: RunFolder
    info: RunInfo
    exit_code: int

    @property
    def is_done(self) -> bool:
        """Whether it did what it should."""
        return self.info.status is Status.COMPLETED


Begun = Callable[[RunFolder], None]


def run(job: Job, cancel: Cancel, begun: Begun = lambda _: None) -> Outcome:
    """Do a job, and return what became of it; `begun` is told where it is recorded.

    Raises GascityError when nothing can be recorded; then nothing was done either.
    """
    held = job.home.allocate(job.task)
    try:
        return _Road(job, held, cancel).go(begun)
    except OSError as problem:
        held.leave()
        why = problem.strerror or str(problem)
        raise GascityError(f"run {held.folder.run_id} cannot be recorded: {why}") from problem
    except BaseException:  # whatever it is: cleaned up, and raised again
        held.leave()  # whoever comes next settles it
        raise


class _Road:
    """The steps of one run."""

    def __init__(self, job: Job, held: Held, cancel: Cancel) -> None:
        self._job, self._held, self._cancel = job, held, cancel
        self._folder = held.folder
        self._began = time.monotonic()
        self._ids = RunIds(self._folder.run_id, job.task.project, job.task.name, job.parent)
        self._paths = RunPaths(
            job.task.path, self._folder.path, job.task.runs.path, job.home.journal
        )
        # What is known to be secret before anything is read; the rest is for `_prepare`.
        declared = {**job.backend.env, **job.own}
        known = secrets_in({**job.host, **declared}, job.backend, declared)
        self._secrets = known
        self._given = RunEnvironment({}, known)
        command = job.backend.run
        self._info = RunInfo(
            self._folder.run_id,
            kind=job.kind,
            agent=job.agent,
            backend=job.backend.name,
            work_dir=job.work_dir,
            previous_run_id=job.previous,
            restarts=job.restarts,
            why=job.why,
            start_time=utc(time.time()),
            project_id=job.task.project,
            task_id=job.task.name,
            parent_run_id=job.parent,
            command="" if command is None else shlex.join([*command.command, *command.args]),
            format=str(job.format),
        )

    def go(self, begun: Begun) -> Outcome:
        """Go all the way."""
        self._write(self._info)
        begun(self._folder)
        with Bus(self._job.home.journal, kept=kept) as bus:
            code, end = self._work(bus)
            complete(self._folder, self._job.format)
            is_done = code == 0
            self._info = replace(
                self._info,
                status=Status.COMPLETED if is_done else Status.FAILED,
                end_time=utc(time.time()),
                duration=round(time.monotonic() - self._began, 3),
                exit_code=int(code),
                signal=code - 128 if code in _SIGNALS else None,
                end=conceal(end, self._given.secrets),
                crash=not is_done and not self._cancel.is_set(),
                asked=self._cancel.is_set(),
            )
            self._write(self._info)
            messages.post_end(bus, self._folder, self._info, self._given.secrets)
        self._held.settled()
        return Outcome(self._folder, self._info, int(code))

    def _work(self, bus: Bus) -> tuple[int, str]:
        """Do the work; return the exit code of the run and how it ended."""
        try:
            self._prepare()
            messages.post_start(bus, self._folder, self._info)
            self._execute()
        except GascityError as problem:
            if self._cancel.is_set():
                return code_of(self._cancel.reason), str(self._cancel.reason)
            code = problem.code if isinstance(problem, BackendError) else Exit.FAILED
            return code or Exit.FAILED, problem.message
        except OSError as problem:
            what = f": {problem.filename}" if problem.filename else ""
            return Exit.FAILED, f"{problem.strerror or problem}{what}"
        except Exception as problem:  # noqa: BLE001  whatever a backend does: its run fails, not gc
            self._complain()
            return Exit.FAILED, f"{PANIC}: {type(problem).__name__}: {problem}"
        return 0, "it did what it should"

    def _prepare(self) -> None:
        """Write down what the agent is told, and gather what it is given."""
        job = self._job
        text = prompt_text(
            job.prompt,
            self._ids,
            self._paths,
            restart=bool(job.restarts),
            by_file=job.kind != SOLVE,  # its commits tell
        )
        self._folder.write(PROMPT, text)
        more = job.prepare(self._folder) if job.prepare is not None else {}
        self._given = run_environment(
            job.host,
            self._ids,
            self._paths,
            job.backend,
            known=job.known.values(),
            own={**job.own, **more},
            token=read_token(job.backend),
            url=job.url,
            mark=mark_of(job.home, self._folder.run_id),
            withheld=job.withheld,
            gc_folder=job.gc_folder,
        )
        # What was withheld may stand in the command all the same.
        both = {*self._secrets, *self._given.secrets}
        self._given = replace(self._given, secrets=tuple(sorted(both, key=len, reverse=True)))
        self._info = concealed(self._info, self._given.secrets)

    def _execute(self) -> None:
        job, folder = self._job, self._folder
        out, err = folder.file(STDOUT), folder.file(STDERR)
        context = RunContext(
            folder.run_id,
            job.task.project,
            job.task.name,
            job.prompt,
            job.work_dir,
            out,
            err,
            self._given.variables,
        )
        backend = (
            job.by(self._started)
            if job.by
            else backends.find(
                job.backend.name,
                {**job.known, job.backend.name: job.backend},
                withheld=job.withheld,
                grace=job.limits.grace,
                started=self._started,
            )
        )
        with Watchdog(job.limits, (out, err), self._cancel):
            backend.execute(context, self._cancel)

    def _started(self, agent: ProcessId) -> None:
        self._info = replace(self._info, pid=agent.pid, pid_started=agent.started)
        with contextlib.suppress(OSError):  # the agent may be at the folder: it is written at last
            self._write(self._info)

    def _write(self, info: RunInfo) -> None:
        self._folder.write_info(concealed(info, self._given.secrets))

    def _complain(self) -> None:
        """Leave a traceback where a person who looks for the cause finds it."""
        told = conceal(traceback.format_exc(), self._given.secrets)
        with open(self._folder.file(STDERR), "a", encoding="utf-8", errors="replace") as file:
            file.write(told)


def mark_of(home: Home, run_id: str) -> str:
    """Return what every process of a run carries in its environment."""
    return f"{home.path}:{run_id}"


def code_of(reason: str) -> int:
    """Return what a run ends with that was cancelled for this reason."""
    if isinstance(reason, TimedOut):
        return Exit.TIMED_OUT
    return Exit.INTERRUPTED if reason == INTERRUPTED else TERMINATED
