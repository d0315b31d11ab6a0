"""Which tasks a task waits for, and that they do not wait for each other in a circle."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Mapping, Sequence

from gascity.errors import GascityError, NotFound, UsageError
from gascity.runs import desired, locks
from gascity.runs.places import Home, TaskPlace
from gascity.runs.task_info import TaskState

_LOCK = ".dependencies.lock"
Graph = Mapping[str, Sequence[str]]


def place_of(home: Home, name: str, project: str) -> TaskPlace:
    """Return the place of `task`, of this project, or of `project/task`. Raises UsageError."""
    before, _, task = name.rpartition("/")
    return home.task(before or project, task)


def whole(place: TaskPlace) -> str:
    """Return the whole name of a task."""
    return f"{place.project}/{place.name}"


@contextlib.contextmanager
def deciding(home: Home) -> Iterator[None]:
    """Let nobody else declare dependencies meanwhile: two could close a circle together."""
    os.makedirs(home.projects, mode=0o700, exist_ok=True)
    with locks.locked(os.path.join(home.projects, _LOCK)):
        yield


def check(home: Home, task: TaskPlace, depends_on: Sequence[TaskPlace]) -> None:
    """Make sure that this task may wait for those.

    Raises NotFound for one that does not exist, UsageError for a circle, and names them.
    """
    for other in depends_on:
        if whole(other) != whole(task):
            try:
                desired.read(other)
            except NotFound:
                raise NotFound(
                    f'unknown dependency "{_short(whole(other), task.project)}"',
                    hint="`gc task status` shows which tasks there are",
                ) from None
    graph = {**stored(home), whole(task): [whole(other) for other in depends_on]}
    circle = cycle(graph, whole(task))
    if circle:
        shown = " -> ".join(_short(name, task.project) for name in circle)
        raise UsageError(f"dependency cycle: {shown}")


def stored(home: Home) -> dict[str, tuple[str, ...]]:
    """Return who waits for whom, by what is written down; what cannot be read waits for nobody."""
    graph = {}
    for place in home.tasks():
        with contextlib.suppress(GascityError):
            graph[whole(place)] = desired.read(place).depends_on
    return graph


def cycle(graph: Graph, start: str) -> list[str]:
    """Return a way from `start` to itself, both ends included; nothing where there is none."""
    came_from: dict[str, str] = {}
    waiting = [start]
    while waiting:
        name = waiting.pop()
        for other in graph.get(name, ()):
            if other == start:
                way = [start, name]
                while way[-1] != start:
                    way.append(came_from[way[-1]])
                return way[::-1]
            if other not in came_from:
                came_from[other] = name
                waiting.append(other)
    return []


def unmet(home: Home, names: Sequence[str], project: str) -> list[str]:
    """Return which of these are not done, each with how it stands."""
    found = []
    for name in names:
        try:
            info = desired.truth(place_of(home, name, project))
        except GascityError as problem:
            found.append(f"{_short(name, project)} ({problem.message})")
            continue
        if info.state is not TaskState.DONE:
            found.append(f"{_short(name, project)} ({info.state})")
    return found


def _short(name: str, project: str) -> str:
    return name.removeprefix(f"{project}/")
