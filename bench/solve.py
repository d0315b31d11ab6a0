"""What it costs to give an issue to ten agents at once, beside ten bare `git worktree add`.

The repository has 5,000 files. What is measured is the time from the beginning of an attempt until
the program of the last agent runs: records, worktrees, guards and all. The floor is the same ten
worktrees made one after another by git alone. Prints one JSON line.
"""

from __future__ import annotations

import json
import os
import shutil
import statistics
import subprocess
import tempfile
import time
from datetime import UTC, datetime

from gascity.config.oneshots import built_in
from gascity.core.oneshot import OneShot, RunCommand
from gascity.runs import job
from gascity.runs.folder import RunFolder
from gascity.runs.info import SOLVE, utc
from gascity.runs.places import Home
from gascity.runs.waiting_line import Line
from gascity.worktrees import names, protocol, solves
from gascity.worktrees.issue import Issue
from gascity.worktrees.record import Part, Solve
from gascity.worktrees.repository import Repository, base_of, find
from gascity.worktrees.solving import Attempt, Solving
from gascity.worktrees.verdict import State

FILES, AGENTS, ROUNDS = 5000, 10, 2
LIMIT = 1.3
AGENT = (
    'date +%s.%N >"$STARTED/$JRUN_TASK_ID"; git commit -q --allow-empty -m "$COCODE_READY_MARKER"'
)


class Quiet:
    """Nobody looks on."""

    def began(self, part: Part, folder: RunFolder) -> None: ...

    def moved(self, part: Part) -> None: ...

    def warned(self, part: Part, text: str) -> None: ...

    def look(self) -> None: ...


def main() -> int:
    with tempfile.TemporaryDirectory() as folder:
        os.environ["HOME"] = folder  # nobody's settings
        repo = _repository(os.path.join(folder, "repo"))
        ours, floor = [], []
        for number in range(ROUNDS):
            floor.append(_bare(repo, os.path.join(folder, f"bare-{number}")))
            ours.append(_ours(repo, folder, number))
    ratio = statistics.median(ours) / statistics.median(floor)
    told = {
        "bench": "solve: ten worktrees",
        "files": FILES,
        "ms": round(1000 * statistics.median(ours)),
        "floor": round(1000 * statistics.median(floor)),
        "ratio": round(ratio, 2),
        "limit": LIMIT,
    }
    print(json.dumps(told))
    return 0 if ratio <= LIMIT else 1


def _repository(path: str) -> Repository:
    os.mkdir(path)
    _git(path, "init", "-q", "-b", "main")
    for key, value in (("user.name", "bench"), ("user.email", "bench@example.com")):
        _git(path, "config", key, value)
    for number in range(FILES):
        folder = os.path.join(path, f"part-{number % 100}")
        os.makedirs(folder, exist_ok=True)
        with open(os.path.join(folder, f"{number}.txt"), "w", encoding="utf-8") as file:
            file.write(f"{number} " * 200)
    _git(path, "add", ".")
    _git(path, "commit", "-q", "-m", "first")
    return find(path)


def _bare(repo: Repository, folder: str) -> float:
    """Return how long git alone takes for the worktrees."""
    names = [os.path.join(folder, str(number)) for number in range(AGENTS)]
    began = time.perf_counter()
    for name in names:
        branch = f"bare/{os.path.basename(folder)}/{os.path.basename(name)}"
        _git(repo.path, "worktree", "add", "-q", "-b", branch, name, "main")
    took = time.perf_counter() - began
    for name in names:
        _git(repo.path, "worktree", "remove", "--force", name)
    return took


def _ours(repo: Repository, folder: str, number: int) -> float:
    """Return how long it takes until ten agents run, each in its worktree."""
    home = Home(os.path.join(folder, "state"))
    started = os.path.join(folder, f"started-{number}")
    os.mkdir(started)
    issue = Issue("bench", 0, "", "bench", b"bench\n")
    trees = os.path.join(folder, f"trees-{number}")

    def record(attempt: int) -> Solve:
        parts = tuple(
            Part(name, "sh", f"gc/bench/{name}-{attempt}", os.path.join(trees, name))
            for name in (f"a{each}" for each in range(AGENTS))
        )
        now = utc(datetime.now(UTC).timestamp())
        base = base_of(repo, "")
        return Solve(
            "repo", issue.key, attempt, repo.path, repo.common, base, 0, "", "bench",
            protocol.MARKER, 60.0, now, parts=parts,
        )  # fmt: skip

    place, descriptor = solves.create(home, "repo", issue.key, 1, record, issue.body)
    solve = place.read()
    backend = OneShot("bench", RunCommand(("sh", "-c", AGENT)), env={"STARTED": started})
    jobs = {
        part.agent: job.Job(
            home, home.task("repo", names.task(issue.key, part.agent)), backend, built_in(), "",
            part.worktree, os.environ, kind=SOLVE,
        )
        for part in solve.parts
    }  # fmt: skip
    attempt = Attempt(home, place, solve, issue, jobs, Line(home.projects, 0))
    began = time.time()
    after = Solving(attempt, Quiet()).run()
    os.close(descriptor)
    assert all(part.state is State.READY for part in after.parts), after
    last = max(float(_read(os.path.join(started, name))) for name in os.listdir(started))
    for part in solve.parts:
        _git(repo.path, "worktree", "remove", "--force", part.worktree)
    shutil.rmtree(started)
    return last - began


def _read(path: str) -> str:
    with open(path, encoding="utf-8") as file:
        return file.read()


def _git(folder: str, *words: str) -> None:
    subprocess.run(["git", *words], cwd=folder, check=True, capture_output=True)


if __name__ == "__main__":
    raise SystemExit(main())
