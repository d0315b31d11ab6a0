"""Beginning an attempt at an issue, and showing it to a person until it is over."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from gascity.cli.asked import city_of, line_of
from gascity.cli.city import Here
from gascity.cli.running import say, signals
from gascity.cli.solve_found import home_at
from gascity.cli.solve_shown import Showing
from gascity.cli.solvers import Solver, check_program, job_for, shown, solvers
from gascity.core.model import City
from gascity.errors import GascityError, UsageError
from gascity.runs.context import Cancel
from gascity.runs.info import utc
from gascity.runs.job import code_of
from gascity.runs.places import Home
from gascity.runs.watchdog import Limits
from gascity.session import pids
from gascity.worktrees import github, issue, names, protocol, solves
from gascity.worktrees.issue import Issue
from gascity.worktrees.record import Part, Solve
from gascity.worktrees.repository import Base, Repository, base_of, fetch, find
from gascity.worktrees.solving import Attempt, Solving
from gascity.worktrees.verdict import exit_code

FETCH_LIMIT = 60.0  # seconds


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a person asked for; what was not said is empty."""

    issue: str
    agents: tuple[str, ...]
    repo: str
    base: str
    limits: Limits
    parallel: int
    fetch: bool
    number: int | None
    url: str
    name: str
    marker: str
    worktrees: str


def solve(here: Here, wanted: Wanted, *, verbose: bool, as_json: bool) -> int:
    """Carry it out, and return what to end with. Raises GascityError when it cannot begin."""
    home = home_at(here)
    city = city_of(here)
    is_file = not (wanted.issue == issue.STDIN or issue.is_asked_of_github(wanted.issue))
    about = issue.from_file(wanted.issue) if is_file else None
    who = solvers(city, wanted.agents, wanted.limits)
    folder = wanted.repo or here.folder
    repo = find(folder)
    root = _root(repo, wanted.worktrees)
    marker = _marker(wanted.marker)
    about = issue.named(about or _asked(repo, wanted), wanted.name, wanted.number, wanted.url)
    cancel = Cancel()
    with signals(cancel.set):
        base = _base(repo, folder, wanted, cancel)
    if cancel.is_set():
        return code_of(cancel.reason)
    attempt, descriptor = _begin(city, home, repo, about, base, marker, who, wanted, root)
    try:
        showing = Showing(attempt, verbose=verbose, as_json=as_json)
        solving = Solving(attempt, showing)
        with signals(solving.stop):
            showing.begin()
            after = solving.run()
        showing.end(after)
    finally:
        os.close(descriptor)
    code = exit_code([(part.state, part.exit_code) for part in after.parts])
    return code_of(solving.stopped) if code and solving.stopped else code


def _asked(repo: Repository, wanted: Wanted) -> Issue:
    if wanted.issue == issue.STDIN:
        if sys.stdin.isatty():
            say("type the issue, and Ctrl-D at its end")
        return issue.from_stream(sys.stdin.buffer)
    return github.read_issue(repo.path, wanted.issue)


def _marker(text: str) -> str:
    marker = (text or protocol.MARKER).strip()
    if not marker or not marker.isprintable():
        raise UsageError("--marker must be one line that says something")
    return marker


def _base(repo: Repository, folder: str, wanted: Wanted, cancel: Cancel) -> Base:
    base = base_of(repo, wanted.base, folder)
    if not wanted.fetch or not base.remote:
        return base
    try:
        return fetch(repo, base, timeout=FETCH_LIMIT, cancel=cancel)
    except GascityError as problem:
        if not cancel.is_set():
            say(f"warning: {base.name} is used as it was last fetched: {problem.message}")
        return base


def _begin(
    city: City | None,
    home: Home,
    repo: Repository,
    about: Issue,
    base: Base,
    marker: str,
    who: list[Solver],
    wanted: Wanted,
    root: str,
) -> tuple[Attempt, int]:
    """Write down what will be made, and hold it."""
    prompt = protocol.prompt(about, marker)
    first = Solve(
        repo.name,
        about.key,
        0,
        repo.path,
        repo.common,
        base,
        about.number,
        about.url,
        about.title,
        marker,
        wanted.limits.wall,
        utc(datetime.now(UTC).timestamp()),
        solver=os.getpid(),
        solver_started=pids.table.started(os.getpid()) or "",
    )
    asked = {one.name: replace(one.asked, prompt=prompt) for one in who}
    by = {one.name: "" for one in who}

    def part(solver: Solver, number: int) -> Part:
        branch = names.branch(about.key, solver.name, number)
        worktree = names.worktree(root, repo.name, about.key, solver.name, number)
        return Part(solver.name, by[solver.name], branch, worktree)

    def record(number: int) -> Solve:
        parts = tuple(part(solver, number) for solver in who)
        return replace(first, attempt=number, parts=parts)

    for one in who:  # what cannot be done is told before anything is written
        made = job_for(city, home, first, part(one, 0), asked[one.name])
        check_program(made, one)
        by[one.name] = shown(made, one)
    least = _taken(repo, root, about.key) + 1
    place, descriptor = solves.create(home, repo.name, about.key, least, record, about.body)
    begun = place.read()
    jobs = {part.agent: job_for(city, home, begun, part, asked[part.agent]) for part in begun.parts}
    line = line_of(city, home)
    return Attempt(home, place, begun, about, jobs, line, wanted.parallel), descriptor


def _root(repo: Repository, given: str) -> str:
    """Return the folder for worktrees, outside of the repository. Raises UsageError."""
    root = os.path.realpath(given or names.root(os.environ))
    for tree in {repo.path, repo.common, *(one.path for one in repo.checkouts())}:
        if os.path.commonpath([root, tree]) == tree:
            raise UsageError(
                f"worktrees cannot be in {root}, which is inside of {tree}",
                hint="--worktrees DIR names another folder",
            )
    try:
        os.makedirs(root, mode=0o700, exist_ok=True)
    except OSError as problem:
        raise UsageError(f"worktrees cannot be in {root}: {problem.strerror}") from None
    return root


def _taken(repo: Repository, root: str, key: str) -> int:
    """Return the highest attempt at an issue of which there is a branch or a folder."""
    folder = os.path.join(root, repo.name, key)
    there = os.listdir(folder) if os.path.isdir(folder) else []
    branches = repo.branches(names.branches_of(key))
    return max((names.attempt_of(name) for name in (*branches, *there)), default=0)
