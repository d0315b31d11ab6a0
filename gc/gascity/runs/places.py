"""Where one-shot work lies: its home, tasks, runs, and the marks of those that are not over.

    <home>/city.db                                   the journal, which is the bus as well
    <home>/projects/<project>/<task>/                a task: its prompt, what is wanted of it, DONE
    <home>/projects/<project>/<task>/runs/<run_id>/  one run
    <home>/projects/.open/<run_id>                   says that a run is not settled yet

The home is the `.gc` of a city or, where there is none, a folder of the user's. A mark (see
`marks`) is there before its run's folder, and goes last.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from dataclasses import dataclass, replace

from gascity.config.find import find_city
from gascity.config.problems import visible
from gascity.core.naming import is_component
from gascity.errors import GascityError, NotFound, UsageError
from gascity.journal.where import home
from gascity.runs import marks
from gascity.runs.environment import MARK
from gascity.runs.folder import RunFolder, Runs
from gascity.runs.ids import age_of, is_run_id, new_run_id
from gascity.runs.marks import Held, OpenRun

__all__ = ["Held", "Home", "OpenRun", "TaskPlace", "find_home"]

STATE = ".gc"  # the folder beside a city file
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
                    f'{what} "{visible(text)}" is no name',
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

    def make(self) -> None:
        """Make its folder, for its owner alone. Raises GascityError."""
        try:
            make_state(self.path)
        except OSError as problem:
            why = problem.strerror or str(problem)
            raise GascityError(f"nothing can be kept in {self.path}: {why}") from problem

    def allocate(self, task: TaskPlace) -> Held:
        """Make the folder of a new run, and hold it.

        Raises GascityError when nothing can be written there.
        """
        try:
            make_state(self.path)
            while True:
                os.makedirs(task.runs.path, mode=0o700, exist_ok=True)
                folder = task.runs.of(new_run_id())
                held = marks.make(self._open, folder)
                try:
                    os.mkdir(folder.path, 0o700)
                except (FileExistsError, FileNotFoundError):
                    held.settled()  # another machine has the same id, or somebody prunes
                    continue
                except OSError:
                    held.settled()
                    raise
                return held
        except OSError as problem:
            why = problem.strerror or str(problem)
            raise GascityError(f"no run can be recorded in {task.path}: {why}") from problem

    def open_runs(self) -> list[OpenRun]:
        """Return the runs that are not settled, the oldest first."""
        names = [name for name in _names(self._open) if is_run_id(name)]
        found = [marks.read(os.path.join(self._open, name)) for name in sorted(names, key=age_of)]
        return [replace(one, folder=self._own(one)) for one in found if one is not None]

    def runs_now(self, run_id: str) -> bool:
        """Tell whether somebody runs this run."""
        one = marks.read(os.path.join(self._open, run_id))
        return one is not None and one.lives

    @contextlib.contextmanager
    def taken_over(self, run: OpenRun) -> Iterator[bool]:
        """Hold the mark of a run nobody runs any more; yields False where somebody does.

        The mark is gone when this ends without an exception.
        """
        with marks.taken_over(os.path.join(self._open, run.run_id)) as is_ours:
            yield is_ours

    def sweep(self) -> None:
        """Remove what those left who were killed while they made a mark."""
        marks.sweep(self._open)

    @property
    def _open(self) -> str:
        return os.path.join(self.projects, OPEN)

    def _own(self, run: OpenRun) -> str:
        """Return where a run lies in this home, which may have been moved since; "" for nowhere."""
        project, task = RunFolder(run.folder).belongs_to()
        if os.path.basename(run.folder) != run.run_id or not _are_names(project, task):
            return ""
        return self.task(project, task).runs.of(run.run_id).path


def make_state(path: str) -> None:
    """Make a folder for state, for its owner alone; a city's stays out of git. Raises OSError."""
    os.makedirs(path, mode=0o700, exist_ok=True)
    ignore = os.path.join(path, ".gitignore")
    if os.path.basename(path) == STATE and not os.path.exists(ignore):
        with open(ignore, "w", encoding="utf-8") as file:
            file.write("*\n")


def find_home(folder: str) -> Home:
    """Return the home of the city that a folder belongs to, or the user's own where there is none.

    Where an agent works on an issue, a city file is a copy of that of the repository: there it is
    the home of its run. Raises NotFound when there is no such folder.
    """
    if of_run := _of_the_issue(folder):
        return Home(of_run)
    try:
        return Home(os.path.join(os.path.dirname(find_city(folder)), STATE))
    except NotFound:
        if not os.path.isdir(folder):
            raise
    return Home(os.path.realpath(home(os.environ)))


def _of_the_issue(folder: str) -> str:
    """Return the home of the run that works on an issue in this folder; empty for none."""
    tree, mark = os.environ.get("COCODE_REPO_PATH", ""), os.environ.get(MARK, "")
    inside = os.path.realpath(folder)
    if not tree or not mark or os.path.commonpath([inside, os.path.realpath(tree)]) != tree:
        return ""
    home_of_run, _, run = mark.rpartition(":")
    return home_of_run if is_run_id(run) and os.path.isdir(home_of_run) else ""


def _are_names(*texts: str) -> bool:
    return all(map(is_component, texts))


def _folders(path: str) -> list[str]:
    return [name for name in _names(path) if is_component(name)]


def _names(path: str) -> list[str]:
    try:
        return sorted(os.listdir(path))
    except (FileNotFoundError, NotADirectoryError):
        return []
