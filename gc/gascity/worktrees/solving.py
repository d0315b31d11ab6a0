"""One attempt at an issue, carried out: every agent in its worktree, all at once or some at a time.

Each agent's work is a run like any other, so it has a record, a guard that ends all it began, and
an end whatever happens. By the time a worktree is made the attempt says where: who is killed leaves
nothing that cannot be found. One thread waits for each run; the thread that calls `run` owns all
else, and looks at the commits.
"""

from __future__ import annotations

import contextlib
import queue
import threading
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, replace
from typing import Protocol

from gascity.errors import Exit, GascityError
from gascity.runs import job
from gascity.runs.context import Cancel
from gascity.runs.folder import RunFolder
from gascity.runs.info import RunInfo, utc
from gascity.runs.places import Home
from gascity.runs.waiting_line import LeftLine, Line
from gascity.worktrees import protocol
from gascity.worktrees.issue import Issue
from gascity.worktrees.losses import losses
from gascity.worktrees.place import SolvePlace
from gascity.worktrees.progress import progress_of
from gascity.worktrees.record import Part, Solve
from gascity.worktrees.removal import remove
from gascity.worktrees.repository import Checkout, Repository
from gascity.worktrees.standing import checkouts_of, finished, repository_of
from gascity.worktrees.verdict import State, living
from gascity.worktrees.worktree import Taken, add, fill

TICK = 0.1  # seconds between two looks at what agents say, and whether one is to be stopped
LOOK = 1.0  # seconds between two looks at the commits


class Watcher(Protocol):
    """Who looks on. All is called by the thread that calls `Solving.run`."""

    def began(self, part: Part, folder: RunFolder) -> None:
        """See where the run of an agent is recorded."""

    def moved(self, part: Part) -> None:
        """See that an agent is in another state, or over."""

    def warned(self, part: Part, text: str) -> None:
        """See what is odd and no failure."""

    def look(self) -> None:
        """Look at whatever else there is to see; called some times in a second."""


@dataclass(frozen=True, slots=True)
class Attempt:
    """What is to be carried out: by which jobs, at most `parallel` at once, 0 for all."""

    home: Home
    place: SolvePlace
    solve: Solve
    issue: Issue
    jobs: Mapping[str, job.Job]
    line: Line
    parallel: int = 0


class Solving:
    """Carries out one attempt, for who holds it."""

    def __init__(self, attempt: Attempt, watcher: Watcher) -> None:
        self._attempt, self._watcher = attempt, watcher
        self._repo: Repository = repository_of(attempt.solve)
        self._parts = {part.agent: part for part in attempt.solve.parts}
        self._cancels = {agent: Cancel() for agent in self._parts}
        self._slots = threading.Semaphore(attempt.parallel or len(self._parts))
        self._begun: queue.SimpleQueue[tuple[str, RunFolder]] = queue.SimpleQueue()
        self._odd: queue.SimpleQueue[tuple[str, str]] = queue.SimpleQueue()
        self._refused: dict[str, GascityError] = {}
        self._folders: dict[str, RunFolder] = {}
        self._heads: dict[str, str] = {}
        self._looked = 0.0
        self.stopped = ""  # why all agents are to end, once they are

    def stop(self, reason: str) -> None:
        """End all agents; may be called by a signal handler."""
        self.stopped = self.stopped or reason
        for cancel in self._cancels.values():
            cancel.set(reason)

    def run(self) -> Solve:
        """Carry it out, and return how it stands at the end. Raises GascityError."""
        over = threading.Event()
        # Apart from all else: who reads what we print may keep us waiting.
        threading.Thread(target=self._hear, args=(over,), name="stops", daemon=True).start()
        try:
            return self._run()
        finally:
            over.set()

    def _run(self) -> Solve:
        self._add_worktrees()
        with ThreadPoolExecutor(len(self._parts), "solve") as threads:
            waiting = {threads.submit(self._one, agent): agent for agent in self._parts}
            try:
                while waiting:
                    done, _ = wait(waiting, timeout=TICK, return_when=FIRST_COMPLETED)
                    self._tick()
                    for future in done:
                        self._finish(waiting.pop(future), future)
            finally:
                if waiting:  # whatever went wrong here: nobody would look after them
                    self.stop(job.STOPPED)
        ended, parts = utc(time.time()), tuple(self._parts.values())
        with contextlib.suppress(GascityError):  # who looks next finds nobody at it, and writes it
            self._attempt.place.change(lambda now: replace(now, ended=ended, parts=parts))
        self._watcher.look()
        return replace(self._attempt.solve, ended=ended, parts=parts)

    def _add_worktrees(self) -> None:
        """Have git know all worktrees before any agent runs; one that fails fails its run."""
        attempt = self._attempt
        mark, commit = attempt.place.mark, attempt.solve.base.commit
        for agent, part in list(self._parts.items()):
            if self._cancels[agent].is_set():
                continue
            try:
                add(self._repo, part.tree, commit, mark=mark, cancel=self._cancels[agent])
            except Taken as problem:
                self._refused[agent] = problem
                self._parts[agent] = replace(part, gone=True)  # what is there is another's
            except GascityError as problem:
                self._refused[agent] = problem
            except OSError as problem:
                why = problem.strerror or str(problem)
                self._refused[agent] = GascityError(f"no worktree can be made: {why}")

    def _hear(self, over: threading.Event) -> None:
        """Hear who is to be stopped; the thread of this name does that."""
        while not over.wait(TICK):
            for agent in self._cancels:
                self._obey(agent)

    def _obey(self, agent: str) -> None:
        cancel = self._cancels[agent]
        if not cancel.is_set() and self._attempt.place.is_to_stop(agent):
            cancel.set(job.STOPPED)

    # --- one agent, in a thread of its own

    def _one(self, agent: str) -> job.Outcome:
        cancel = self._cancels[agent]
        made = replace(
            self._attempt.jobs[agent], prepare=lambda folder: self._prepare(agent, folder)
        )
        with self._slot(agent, cancel), self._attempt.line.place(cancel):
            return job.run(made, cancel, lambda folder: self._begin(agent, folder))

    @contextlib.contextmanager
    def _slot(self, agent: str, cancel: Cancel) -> Iterator[None]:
        while not self._slots.acquire(timeout=TICK):
            if cancel.is_set():
                raise LeftLine(cancel.reason)
        try:
            self._obey(agent)
            if cancel.is_set():
                raise LeftLine(cancel.reason)
            yield
        finally:
            self._slots.release()

    def _begin(self, agent: str, folder: RunFolder) -> None:
        """Write down which run it is, before anything is made for it."""
        self._attempt.place.change(lambda now: _with(now, agent, run=folder.run_id))
        self._begun.put((agent, folder))

    def _prepare(self, agent: str, folder: RunFolder) -> Mapping[str, str]:
        part, attempt = self._parts[agent], self._attempt
        with folder.writing(protocol.BODY) as file:
            file.write(attempt.issue.body)
        if agent in self._refused:
            raise self._refused[agent]
        mark = attempt.place.mark
        commit, cancel = attempt.solve.base.commit, self._cancels[agent]
        odd = fill(part.tree, commit, cancel, mark=mark)
        if odd:
            self._odd.put((agent, odd))
        body = folder.file(protocol.BODY)
        return protocol.environment(attempt.issue, part.worktree, body, attempt.solve.marker)

    # --- all of them, in the thread of the caller

    def _tick(self) -> None:
        while not self._begun.empty():
            agent, folder = self._begun.get()
            self._folders[agent] = folder
            self._parts[agent] = replace(self._parts[agent], run=folder.run_id)
            self._watcher.began(self._parts[agent], folder)
        while not self._odd.empty():
            agent, text = self._odd.get()
            self._watcher.warned(self._parts[agent], text)
        self._watcher.look()
        self._look_at_states()

    def _look_at_states(self) -> None:
        now = time.monotonic()
        is_due = now >= self._looked + LOOK
        checkouts: Mapping[str, Checkout] = {}
        if is_due:
            self._looked = now
            with contextlib.suppress(GascityError):  # another look comes
                checkouts = checkouts_of(self._repo)
        for agent, folder in self._folders.items():
            part = self._parts[agent]
            if part.over or (not is_due and part.state is not State.STARTING):
                continue
            with contextlib.suppress(GascityError):  # another look comes
                part = self._measured(part, checkouts)
            progress, started = part.progress, part.state is not State.STARTING
            verdict = living(
                progress.commits, progress.ready, started=started or _has_started(folder)
            )
            self._move(replace(part, state=verdict.state, why=verdict.why))

    def _measured(self, part: Part, checkouts: Mapping[str, Checkout]) -> Part:
        """Return how far an agent is, if its newest commit is another than before."""
        solve = self._attempt.solve
        checkout = checkouts.get(part.worktree)
        if checkout is None or self._heads.get(part.agent) == checkout.head:
            return part
        progress = progress_of(self._repo, part.tree, checkout, solve.base, solve.marker)
        self._heads[part.agent] = checkout.head
        return replace(part, progress=progress)

    def _move(self, part: Part) -> None:
        before = self._parts[part.agent]
        self._parts[part.agent] = part
        if (part.state, part.over) != (before.state, before.over):
            self._watcher.moved(part)

    def _finish(self, agent: str, future: Future[job.Outcome]) -> None:
        part = self._parts[agent]
        try:
            future.result()
            part = finished(self._attempt.home, self._attempt.solve, part)
        except LeftLine as problem:
            code = job.code_of(problem.reason)
            why = f"{problem.reason} before it began"
            part = replace(part, over=True, state=State.FAILED, why=why, exit_code=code)
        except GascityError as problem:
            code = Exit.FAILED
            part = replace(part, over=True, state=State.FAILED, why=problem.message, exit_code=code)
        if not part.gone and (part.exit_code == Exit.INTERRUPTED or not part.run):
            part = self._cleaned(part)
        try:
            self._attempt.place.change(lambda now: _replaced(now, part))
        except GascityError as problem:  # the others go on all the same
            self._watcher.warned(part, problem.message)
        self._move(part)

    def _cleaned(self, part: Part) -> Part:
        """Remove the worktree of an agent that was interrupted, if nothing was done in it."""
        solve = self._attempt.solve
        try:
            kept = losses(
                self._repo,
                part.tree,
                checkouts_of(self._repo),
                solve.base.commit,
                solve.branches,
                began=part.agent in self._folders and _has_started(self._folders[part.agent]),
            )
            if part.progress.commits or kept:
                return part
            remove(self._repo, part.tree)
        except (GascityError, OSError):
            return part  # it stays, for `gc solve clean`
        return replace(part, gone=True, hint="")


def _has_started(folder: RunFolder) -> bool:
    """Tell whether the program of an agent runs, by the record of its run."""
    run = folder.read_info()
    return isinstance(run, RunInfo) and run.pid is not None


def _with(solve: Solve, agent: str, *, run: str) -> Solve:
    part = next(one for one in solve.parts if one.agent == agent)
    return _replaced(solve, replace(part, run=run))


def _replaced(solve: Solve, part: Part) -> Solve:
    parts = tuple(part if one.agent == part.agent else one for one in solve.parts)
    return replace(solve, parts=parts)
