"""How far an agent is, by its commits alone.

Its own commits are those since the base that it made in its worktree, by what git writes down
there, and those that nothing else has: no other branch, tag or remote. An agent that takes in what
others did has not done that itself, and a marker in there is not its own. What it made stays its
own when somebody merges it.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass

from gascity.errors import GascityError
from gascity.worktrees.git import ask, git
from gascity.worktrees.repository import HEADS, REMOTES, Base, Checkout, Repository, Worktree

# How git notes that it made a commit, among the notes of where a worktree was; and how it notes
# that it went to one that was there.
_MADE = re.compile(
    r"(commit|merge|cherry-pick|revert|am)\b"
    r"|(rebase|pull)\b.* \((?!start|finish)"
    r"|pull\b.*: Merge made"
)
_WENT = re.compile(r"merge [^:]*: Fast-forward$|cherry-pick: fast-forward$")


@dataclass(frozen=True, slots=True)
class Changed:
    """One file that differs from where the agent began. A binary file has no lines."""

    path: str
    added: int
    removed: int


@dataclass(frozen=True, slots=True)
class Progress:
    """What an agent has committed. `tip` is its newest commit, `ready` the one that says so.

    `since` is the commit that its changes are measured from.
    """

    tip: str = ""
    since: str = ""
    commits: int = 0
    ready: str = ""
    files: int = 0
    added: int = 0
    removed: int = 0

    @property
    def lines(self) -> str:
        """The lines it added and removed, for people."""
        return f"+{self.added} -{self.removed}" if self.files else "-"


def progress_of(
    repo: Repository, tree: Worktree, checkout: Checkout | None, base: Base, marker: str
) -> Progress:
    """Return how far an agent is: by what it has checked out, or else by its branch.

    It may have gone to another branch of its own, or last have looked at an older commit. Without
    a tip neither worktree nor branch is there. Raises GitError.
    """
    head = checkout.head if checkout is not None and checkout.head.strip("0") else ""
    found = _measure(repo, tree, head, base, marker)
    branch = repo.commit(f"{HEADS}{tree.branch}")
    if branch in ("", head):
        return found
    if found.commits and ask(repo.path, "merge-base", "--is-ancestor", head, branch).code:
        return found  # it went on elsewhere
    return _measure(repo, tree, branch, base, marker)


def changes(repo: Repository, since: str, tip: str) -> list[Changed]:
    """Return the files in which two commits differ. Raises GitError."""
    if not tip or not since:
        return []
    words = ("diff", "--numstat", "-z", "--no-ext-diff", "--no-textconv", "--no-renames")
    told = git(repo.path, *words, since, tip, "--")
    rows = (entry.split("\t", 2) for entry in told.split("\0") if entry)
    return [Changed(path, _number(added), _number(removed)) for added, removed, path in rows]


def subjects(repo: Repository, since: str, tip: str) -> list[str]:
    """Return the commits between two, the newest first, a line each. Raises GitError."""
    if not tip or not since or tip == since:
        return []
    words = ("log", "--no-show-signature", "--no-notes", "--encoding=UTF-8", "--format=%h %s")
    return git(repo.path, *words, tip, "--not", since).splitlines()


def _measure(repo: Repository, tree: Worktree, tip: str, base: Base, marker: str) -> Progress:
    if not tip or tip == base.commit:
        return Progress(tip, base.commit)
    words = ("log", "-z", "--no-show-signature", "--no-notes", "--encoding=UTF-8")
    told = git(repo.path, *words, "--format=%H%n%B", tip, "--not", base.commit)
    messages = {
        commit: said for commit, _, said in (one.partition("\n") for one in told.split("\0"))
    }
    messages.pop("", None)
    own = _own(repo, tree, tip, base, set(messages))
    if not own:
        return Progress(tip, base.commit)
    ready = next((one for one, said in messages.items() if one in own and marker in said), "")
    since = base.commit if own == set(messages) else _since(repo, tip, base, own)
    files = changes(repo, since, tip)
    added, removed = sum(one.added for one in files), sum(one.removed for one in files)
    return Progress(tip, since, len(own), ready, len(files), added, removed)


def _own(repo: Repository, tree: Worktree, tip: str, base: Base, commits: set[str]) -> set[str]:
    """Return which of the commits since the base are the agent's own."""
    others = (f"--exclude={tree.branch}", "--branches", "--tags", "--remotes")
    alone = set(git(repo.path, "rev-list", tip, "--not", base.commit, *others).split())
    if alone == commits or not os.path.isdir(tree.path):
        return alone
    said = ask(tree.path, "log", "-g", "--no-show-signature", "--format=%H %gs", "HEAD")
    notes = (line.partition(" ") for line in said.out.splitlines())
    made = {commit for commit, _, what in notes if _MADE.match(what) and not _WENT.match(what)}
    return alone | (made & commits)


def _since(repo: Repository, tip: str, base: Base, own: set[str]) -> str:
    """Return where the changes of an agent begin: where its branch last met the base branch."""
    refs = [base.ref] if base.ref else []
    if base.branch:
        remote = base.remote or repo.remote()
        refs += [f"{HEADS}{base.branch}"]
        refs += [f"{REMOTES}{remote}/{base.branch}"] if remote else []
    known = sorted({commit for ref in refs if (commit := repo.commit(ref))})
    try:
        met = git(repo.path, "merge-base", tip, *known).strip() if known else base.commit
        older = git(repo.path, "merge-base", met, base.commit).strip()
    except GascityError:
        return base.commit  # they have nothing in common any more
    if older != base.commit or met == tip or met in own:
        return base.commit  # it went back, or the base branch has taken its work in
    return met


def _number(text: str) -> int:
    return int(text) if text.isdigit() else 0
