"""What would be lost with a worktree: files that were not committed, commits that nothing else has.

Where git cannot tell all of it, that is said, and counts as a loss.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from gascity.errors import GascityError
from gascity.worktrees.git import GitError, ask, git
from gascity.worktrees.repository import HEADS, Checkout, Repository, Worktree

# Why git locks a worktree that it has not finished, or that was added so.
_UNUSED = ("initializing", "added with --lock")
_SHOWN = 20  # commits and files that are named
_DELETED = (" D", "D ")
_CLOSED = "could not open directory"  # what git says of a folder that it leaves out


@dataclass(frozen=True, slots=True)
class Losses:
    """What removing a worktree would destroy. `unknown` says why that cannot be told."""

    files: tuple[str, ...] = ()
    commits: tuple[str, ...] = ()
    unknown: str = ""

    def __bool__(self) -> bool:
        return bool(self.files or self.commits or self.unknown)

    def words(self) -> str:
        """Return it in words."""
        parts = []
        if self.commits:
            parts.append(_counted(len(self.commits), "commit") + " that nothing else has")
        if self.files:
            parts.append(_counted(len(self.files), "uncommitted file"))
        return "; ".join(filter(None, (" and ".join(parts), self.unknown)))

    def lines(self) -> list[str]:
        """Return all that would be lost, a line each."""
        found = [*(f"commit {one}" for one in self.commits), *(f"file {one}" for one in self.files)]
        more = len(found) - _SHOWN
        return found[:_SHOWN] + ([f"... and {more} more"] if more > 0 else [])


def losses(
    repo: Repository,
    tree: Worktree,
    checkouts: Mapping[str, Checkout],
    base: str,
    going: Collection[str],
    *,
    began: bool = True,
    half_gone: bool = False,
) -> Losses:
    """Return what would be lost with this worktree and the branches that are `going`.

    `base` is the commit it began with. One that was never given to an agent, because it is locked
    as it was added and nobody `began` in it, holds nothing. Of one that is `half_gone`, because
    somebody was ended who removed it, only what is still there counts.
    """
    checkout = checkouts.get(tree.path)
    heads = (repo.commit(f"{HEADS}{tree.branch}"), checkout.head if checkout else "")
    tips = {tip for tip in heads if tip.strip("0")}
    unknown = ""
    if checkout is not None and checkout.locked:
        if not began and checkout.locked in _UNUSED and tips <= {base}:
            return Losses()
        unknown = f"it is locked: {checkout.locked}"
    for other in checkouts.values():
        if other.branch == tree.branch and other.path != tree.path:
            unknown = f"{tree.branch} is checked out in {other.path}"
    if where := repo.held_by(tree.branch):
        unknown = f"{tree.branch} is being rebased or bisected in {where}"
    commits: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    try:
        commits = _unmerged(repo, tips, base, going) if tips else ()
        if os.path.isdir(tree.path):
            files = _all_uncommitted(repo, tree.path, half_gone=half_gone)
    except GascityError as problem:
        if not half_gone:
            unknown = f"nobody can tell what is in {tree.path}: {problem.message}"
    return Losses(files, commits, unknown)


def uncommitted(path: str) -> int | None:
    """Return how many files of a worktree are not committed; None where nobody can tell."""
    try:
        return len(_uncommitted(path)) if os.path.isdir(path) else 0
    except GascityError:
        return None


def _all_uncommitted(repo: Repository, path: str, *, half_gone: bool) -> tuple[str, ...]:
    """Return what is not committed in a worktree. Raises GitError where git cannot know all of it.

    An agent may have made a repository of its own there, or commits in a submodule.
    """
    common, _, own = git(path, "rev-parse", "--git-common-dir", "--git-dir").partition("\n")
    if os.path.realpath(os.path.join(path, common)) != repo.common:
        raise GitError("it is no worktree of its repository any more")
    modules = os.path.join(path, own.rstrip("\n"), "modules")
    if os.path.isdir(modules) and os.listdir(modules):
        raise GitError("it has submodules, which may have commits of their own")
    for folder, below, files in os.walk(path, onerror=_refuse):
        if folder != path and ".git" in (*below, *files):
            raise GitError(f"there is a repository of its own in {os.path.relpath(folder, path)}")
    return _uncommitted(path, without=_DELETED if half_gone else ())


def _uncommitted(path: str, without: Collection[str] = ()) -> tuple[str, ...]:
    words = ("--untracked-files=normal", "--no-renames", "--ignore-submodules=none")
    said = ask(path, "status", "--porcelain", "-z", *words)
    if said.code or _CLOSED in said.err:
        raise GitError(said.complaint)
    entries = (entry for entry in said.out.split("\0") if entry)
    return tuple(entry[3:] for entry in entries if entry[:2] not in without)


def _refuse(problem: OSError) -> None:
    raise GitError(f"{problem.filename} cannot be read: {problem.strerror}") from problem


def _unmerged(
    repo: Repository, tips: Collection[str], base: str, going: Collection[str]
) -> tuple[str, ...]:
    spared = [f"--exclude={branch}" for branch in going]
    others = ["--not", base, *spared, "--branches", "--tags", "--remotes"]
    words = ("log", "--no-show-signature", "--no-notes", "--format=%h %s", "--encoding=UTF-8")
    return tuple(git(repo.path, *words, *sorted(tips), *others).splitlines())


def _counted(count: int, what: str) -> str:
    return f"{count} {what}{'' if count == 1 else 's'}"
