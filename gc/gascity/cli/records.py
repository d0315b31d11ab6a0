"""The records of runs for who reads them: which there are, and whether they still live.

Incarnations of sessions and one-shot work, as one history. A controller that was killed leaves
records that say `running`. Whether that is so is asked of the process table, and of a running
controller where no process is known. Of one-shot work, what nobody runs any more is settled first,
so that its records are true.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from gascity.core.views import State
from gascity.errors import ConfigError, GascityError, NotFound
from gascity.runs.folder import RunFolder, Runs
from gascity.runs.ids import age_of
from gascity.runs.info import SESSION, Broken, RunInfo
from gascity.runs.places import Home, find_home
from gascity.runs.reconcile import settle

if TYPE_CHECKING:
    from gascity.cli.city import Here

UNKNOWN = "unknown"
OVER = "it does not live any more, and nobody saw how it ended"
UNSURE = "nobody knows whether it lives"


@dataclass(frozen=True, slots=True)
class Known:
    """One run as it is shown. `state` is its status, or `unknown`; `end` says more."""

    folder: RunFolder
    info: RunInfo | None
    state: str
    end: str

    def document(self) -> dict[str, object]:
        """Return it as `gc runs --json` prints it."""
        info = asdict(self.info) if self.info is not None else {"run_id": self.folder.run_id}
        return {**info, "state": self.state, "end": self.end, "folder": self.folder.path}


def home_of(here: Here) -> Home:
    """Return the home of one-shot work, with all of it settled that nobody runs any more.

    Raises NotFound when there is no such folder, or no city where one was named.
    """
    if here.given:
        _ = here.state
    home = find_home(here.folder)
    settle(home)
    return home


def runs_of(here: Here, names: Collection[str] = ()) -> Iterator[RunFolder]:
    """Yield the runs of these agents and tasks, or all of them, the newest first.

    A task of one-shot work is named as in the table, `project/task`, or `task` alone.
    """
    home = home_of(here)
    sessions = Runs(os.path.join(home.path, "runs"))
    of_sessions = [sessions.of(run) for run in sessions.ids()]
    jobs = {folder.path: folder.belongs_to() for folder in home.runs()}
    found = [*of_sessions, *map(RunFolder, jobs)]
    for folder in sorted(found, key=lambda one: age_of(one.run_id), reverse=True):
        project, task = jobs.get(folder.path, ("", ""))
        is_named = not names or (bool(task) and not {task, f"{project}/{task}"}.isdisjoint(names))
        if is_named or ((head := folder.glance()) is not None and head.agent in names):
            yield folder


def agents_meant(here: Here, word: str) -> list[str]:
    """Return whose runs a word means: an agent or a task with runs, or agents of the city file.

    Raises NotFound.
    """
    if next(runs_of(here, [word]), None) is not None:
        return [word]
    from gascity.cli.city import find_agents

    try:
        city = here.load()
    except NotFound:
        raise NotFound(f'there is no task "{word}"', hint="`gc runs` shows what ran") from None
    except ConfigError as problem:
        raise NotFound(
            f'there is no run of an agent "{word}"',
            hint="the city file cannot be read; `gc check` tells why",
        ) from problem
    try:
        return [spec.name for spec in find_agents(city, [word])]
    except NotFound as problem:
        raise NotFound(f"{problem.message}, and no task that ran", hint=problem.hint) from None


def find_run(here: Here, beginning: str, agents: Collection[str] = ()) -> RunFolder:
    """Return the one run whose id begins so. Raises NotFound."""
    found = [folder for folder in runs_of(here, agents) if folder.run_id.startswith(beginning)]
    exact = [folder for folder in found if folder.run_id == beginning]
    if not found or not beginning:
        raise NotFound(f'there is no run "{beginning}"', hint="`gc runs` shows which there are")
    if len(found) > 1 and not exact:
        hint = f"for example {found[0].run_id}"
        raise NotFound(f'"{beginning}" is the beginning of {len(found)} runs', hint=hint)
    return (exact or found)[0]


def known(here: Here, folders: Sequence[RunFolder]) -> list[Known]:
    """Read records, and find out whether those that are open still live."""
    read = [(folder, folder.read_info()) for folder in folders]
    open_ones = [one for _, one in read if isinstance(one, RunInfo) and not one.is_over]
    living = _living(here, open_ones)
    shown = []
    for folder, info in read:
        if isinstance(info, Broken):
            shown.append(Known(folder, None, UNKNOWN, info.why))
        elif info.is_over or living.get(info.run_id) is True:
            shown.append(Known(folder, info, info.status, info.end))
        else:
            end = OVER if living.get(info.run_id) is False else UNSURE
            shown.append(Known(folder, info, UNKNOWN, end))
    return shown


def lives(here: Here, folder: RunFolder) -> Callable[[], bool]:
    """Return what tells whether a one-shot run lives; once it says no, all is written down."""
    home = find_home(here.folder)

    def ask() -> bool:
        if home.runs_now(folder.run_id):
            return True
        settle(home)
        return False

    return ask


def _living(here: Here, infos: Sequence[RunInfo]) -> dict[str, bool]:
    """Return which of these runs live and which do not; one of which that is not known is left out.

    A process is known by its pid and its start time. One-shot work lives while its runner does.
    """
    from gascity.session import pids

    found = {
        info.run_id: pids.table.started(info.pid) == info.pid_started
        for info in infos
        if info.kind == SESSION and info.pid is not None
    }
    jobs = [info.run_id for info in infos if info.kind != SESSION]
    run = {one.run_id for one in find_home(here.folder).open_runs() if one.lives} if jobs else set()
    found |= {job: job in run for job in jobs}
    if len(found) < len(infos):
        found |= dict.fromkeys(_seen_by_controller(here), True)
    return found


def _seen_by_controller(here: Here) -> list[str]:
    from gascity.cli.quick import STATUS_TIMEOUT

    try:
        document = here.ask("status", {}, timeout=STATUS_TIMEOUT)
    except GascityError:
        return []
    agents = document.get("agents") if isinstance(document, dict) else None
    return [str(one["run"]) for one in agents if is_there(one)] if isinstance(agents, list) else []


def is_there(agent: Mapping[str, object]) -> bool:
    """Tell whether an agent of a status document has a session that has not ended.

    One on another machine has no process here.
    """
    return agent["since"] is not None or bool(agent["pid"]) or agent["state"] == State.PENDING
