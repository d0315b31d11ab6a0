"""Taking the branch of one agent: whether it can be, and how it is handed on.

It is pushed, or made a pull request; merging it here is in `merging`.
"""

from __future__ import annotations

from dataclasses import dataclass

from gascity.config.problems import quoted
from gascity.errors import GascityError, UsageError
from gascity.worktrees import github
from gascity.worktrees.git import LONG, ask, git
from gascity.worktrees.record import Part, Solve
from gascity.worktrees.repository import HEADS, Repository
from gascity.worktrees.standing import repository_of
from gascity.worktrees.verdict import State


@dataclass(frozen=True, slots=True)
class Taken:
    """What was done with a branch: in words, and where it is now."""

    how: str
    commit: str
    url: str = ""


def check(solve: Solve, part: Part, *, force: bool) -> None:
    """See whether the work of an agent can be taken. Raises GascityError."""
    if not part.over:
        end = f"gc solve stop {solve.issue} {part.agent}"
        raise GascityError(f"{part.agent} still works", hint=f"`{end}` ends it, then pick again")
    if part.gone or not part.progress.tip:
        raise GascityError(f"nothing is left of what {part.agent} did")
    if not part.progress.commits:
        raise GascityError(f"{part.agent} has committed nothing")
    if part.state is not State.READY and not force:
        why = f": {part.why}" if part.why else ""
        raise GascityError(f"{part.agent} is not ready{why}", hint="--force takes it all the same")


def push(solve: Solve, part: Part, remote: str, name: str) -> Taken:
    """Push the work of an agent to a remote, as a branch of that name. Raises GascityError."""
    repo = repository_of(solve)
    if name and ask(repo.path, "check-ref-format", "--branch", name).out.strip() != name:
        raise UsageError(f"{quoted(name)} is no name for a branch")
    target, branch = _remote(repo, solve, remote), name or part.branch
    source = f"{part.progress.tip}:{HEADS}{branch}"
    git(repo.path, "push", target, source, timeout=LONG, may_ask=True, reads=False)
    return Taken(f"pushed to {target} as {branch}", part.progress.tip)


def pull_request(solve: Solve, part: Part, remote: str, name: str, title: str) -> Taken:
    """Push the work of an agent, and open a pull request for it. Raises GascityError."""
    if not github.is_installed():
        raise github.missing("--push pushes the branch")
    if not solve.base.branch:
        raise UsageError(f"{solve.base.name} is no branch to open a pull request for")
    taken = push(solve, part, remote, name)
    closes = f"Closes #{solve.number}.\n\n" if solve.number else ""
    url = github.open_pull_request(
        solve.repo,
        head=name or part.branch,
        base=solve.base.branch,
        title=title or solve.title,
        body=f"{closes}By {part.agent}, attempt {solve.attempt}.",
    )
    return Taken(f"{taken.how}; {url}", taken.commit, url)


def _remote(repo: Repository, solve: Solve, wanted: str) -> str:
    known = repo.remotes()
    if wanted and wanted not in known:
        raise UsageError(f"{repo.path} has no remote {quoted(wanted)}")
    found = wanted or solve.base.remote or repo.remote()
    if not found:
        told = f"it has {', '.join(known)}" if known else "it has none"
        raise UsageError(f"{repo.path} has no remote to push to: {told}", hint="--remote REMOTE")
    return found
