"""Where one-shot work lies: its home, tasks, runs, and the marks of those that are not over.

    <home>/city.db                                   the journal, which is the bus as well
    <home>/projects/<project>/<task>/                a task: its prompt, what is wanted of it, DONE
    <home>/projects/<project>/<task>/runs/<run_id>/  one run
    <home>/projects/.open/<run_id>                   says that a run is not settled yet

The home is the `.gc` of a city or, where there is none, a folder of the user's. Whoever runs a run
holds a lock on its mark for as long as it lives: the kernel gives it back at any death, so nobody
has to guess from a process id. A mark is there before its run's folder, and goes last.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from typing import IO, Any

from gascity.config.find import find_city
from gascity.core.naming import is_component
from gascity.core.observed import ProcessId
from gascity.errors import GascityError, NotFound, UsageError
from gascity.journal.where import home
from gascity.runs.folder import RunFolder, Runs
from gascity.runs.ids import age_of, is_run_id, new_run_id
from gascity.session import pids

PROJECTS = "projects"
OPEN = ".open"
DONE = "DONE"
_RUNS = "runs"


@dataclass(frozen=True, slots=True)
class TaskPlace:
    """The folder of a task, which need not exist."""

    path: str
    project: str
    name: str

    @property
    def runs(self) -> Runs:
        """Its runs."""
        return Runs(os.path.join(self.path, _RUNS))

    @property
    def done(self) -> str:
        """The file by which an agent says that the task is done."""
        return os.path.join(self.path, DONE)

    def is_done(self) -> bool:
        """Tell whether somebody said so."""
        return os.path.isfile(self.done)


@dataclass(frozen=True, slots=True)
class OpenRun:
    """A run that is not settled: where it lies, and the process that runs it."""

    run_id: str
    folder: str
    runner: ProcessId | None


class Held:
    """A run that this process runs, until it lets it go."""

    def __init__(self, folder: RunFolder, mark: str, file: IO[str]) -> None:
        self.folder = folder
        self._mark = mark
        self._file = file

    def settled(self) -> None:
        """Say that all about the run is written down."""
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self._mark)
        self._file.close()

    def leave(self) -> None:
        """Let it go as it is; whoever comes next settles it."""
        self._file.close()


@dataclass(frozen=True, slots=True)
class Home:
    """The home of one-shot work."""

    path: str

    @property
    def journal(self) -> str:
        """The file of its journal."""
        return os.path.join(self.path, "city.db")

    @property
    def projects(self) -> str:
        """The folder of its projects."""
        return os.path.join(self.path, PROJECTS)

    def task(self, project: str, name: str) -> TaskPlace:
        """Return the place of a task. Raises UsageError for a name that cannot be one."""
        for what, text in (("project", project), ("task", name)):
            if not is_component(text):
                raise UsageError(
                    f'{what} "{text}" is no name',
                    hint="letters, digits and _, with single dashes between",
                )
        return TaskPlace(os.path.join(self.projects, project, name), project, name)

    def tasks(self) -> Iterator[TaskPlace]:
        """Yield all tasks, by project and name."""
        for project in _folders(self.projects):
            for name in _folders(os.path.join(self.projects, project)):
                yield TaskPlace(os.path.join(self.projects, project, name), project, name)

    def runs(self) -> Iterator[RunFolder]:
        """Yield all runs of all tasks, the newest first."""
        found = [(run, task.runs) for task in self.tasks() for run in task.runs.ids()]
        found.sort(key=lambda one: age_of(one[0]), reverse=True)
        return (runs.of(run) for run, runs in found)

    def allocate(self, task: TaskPlace) -> Held:
        """Make the folder of a new run, and hold it.

        Raises GascityError when nothing can be written there.
        """
        try:
            while True:
                run = new_run_id()
                folder = task.runs.of(run)
                mark, file = self._mark(run, folder.path)
                try:
                    os.makedirs(os.path.dirname(folder.path), mode=0o700, exist_ok=True)
                    os.mkdir(folder.path, 0o700)
                except FileExistsError:  # another machine has the same pid at the same instant
                    os.unlink(mark)
                    file.close()
                    continue
                except OSError:
                    os.unlink(mark)
                    file.close()
                    raise
                return Held(folder, mark, file)
        except OSError as problem:
            why = problem.strerror or str(problem)
            raise GascityError(f"no run can be recorded in {task.path}: {why}") from problem

    def open_runs(self) -> list[OpenRun]:
        """Return the runs that are not settled, the oldest first."""
        folder = os.path.join(self.projects, OPEN)
        names = [name for name in _names(folder) if is_run_id(name)]
        found = [_read_mark(os.path.join(folder, name)) for name in sorted(names, key=age_of)]
        return [one for one in found if one is not None]

    @contextlib.contextmanager
    def taken_over(self, run: OpenRun) -> Iterator[bool]:
        """Hold the mark of a run nobody runs any more; yields False where somebody does.

        The mark is gone when this ends without an exception.
        """
        path = os.path.join(self.projects, OPEN, run.run_id)
        try:
            file = open(path, encoding="utf-8")  # noqa: SIM115  closed below
        except FileNotFoundError:
            yield False
            return
        with file:
            if not _lock(file) or not _is_still(file, path):
                yield False
                return
            yield True
            with contextlib.suppress(FileNotFoundError):
                os.unlink(path)

    def _mark(self, run: str, folder: str) -> tuple[str, IO[str]]:
        """Write a mark and hold it; from the first moment that it is there it is held."""
        open_folder = os.path.join(self.projects, OPEN)
        os.makedirs(open_folder, mode=0o700, exist_ok=True)
        descriptor, beside = tempfile.mkstemp(dir=open_folder, prefix=".new-")
        file = os.fdopen(descriptor, "w", encoding="utf-8")
        try:
            pid = os.getpid()
            said = {"folder": folder, "runner": pid, "runner_started": pids.table.started(pid)}
            file.write(json.dumps(said))
            file.flush()
            _lock(file)
            path = os.path.join(open_folder, run)
            os.rename(beside, path)
        except OSError:
            file.close()
            with contextlib.suppress(OSError):
                os.unlink(beside)
            raise
        return path, file


def find_home(folder: str) -> Home:
    """Return the home of the city that a folder belongs to, or the user's own where there is none.

    Raises NotFound when there is no such folder.
    """
    try:
        return Home(os.path.join(os.path.dirname(find_city(folder)), ".gc"))
    except NotFound:
        if not os.path.isdir(folder):
            raise
    return Home(home(os.environ))


def _lock(file: IO[str]) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _is_still(file: IO[str], path: str) -> bool:
    """Tell whether a file that was opened is the one that lies there."""
    with contextlib.suppress(FileNotFoundError):
        return os.path.samestat(os.fstat(file.fileno()), os.stat(path))
    return False


def _read_mark(path: str) -> OpenRun | None:
    """Return what a mark says; None when it is gone. One that says nothing is nobody's."""
    said: Any = None
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            said = json.load(file)
    except FileNotFoundError:
        return None
    except ValueError:
        pass
    name = os.path.basename(path)
    match said:
        case {"folder": str(folder), "runner": int(pid), "runner_started": str(started)}:
            return OpenRun(name, folder, ProcessId(pid, started))
        case _:
            return OpenRun(name, "", None)


def _folders(path: str) -> list[str]:
    return [name for name in _names(path) if is_component(name)]


def _names(path: str) -> list[str]:
    try:
        return sorted(os.listdir(path))
    except (FileNotFoundError, NotADirectoryError):
        return []
