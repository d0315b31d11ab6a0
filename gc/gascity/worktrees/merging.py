"""Merging the branch of an agent into a branch of the repository.

Nobody's checkout is touched by a merge that does not go through. It is done in a worktree made for
that, where conflicts, hooks and signatures can fail and anybody can be killed. What comes out is a
step forward for the target branch: where that is checked out, git makes the step as a person would
have it make it, and refuses where something there is in the way.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable

from gascity.config.problems import quoted
from gascity.errors import GascityError, UsageError
from gascity.runs.marked import end_marked
from gascity.worktrees import names
from gascity.worktrees.choosing import Taken
from gascity.worktrees.git import LONG, ask, git
from gascity.worktrees.record import Part, Solve
from gascity.worktrees.removal import remove_tree
from gascity.worktrees.repository import HEADS, Checkout, Repository, git_config
from gascity.worktrees.standing import repository_of
from gascity.worktrees.unhurried import unhurried
from gascity.worktrees.worktree import add_spare

_BEGUN = ("MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD")


def merge(solve: Solve, part: Part, into: str, *, mark: str, done: Callable[[Taken], None]) -> None:
    """Merge the work of an agent into a branch of this repository. Raises GascityError.

    `mark` is carried by git, so that one that outlives its caller is found. `done` is told of it
    before a signal is heard that came meanwhile.
    """
    repo = repository_of(solve)
    target = _target(repo, solve, into)
    checkouts = repo.checkouts()
    remove_spare(repo, solve, checkouts, mark)
    where = _checkout_of(target, checkouts)
    _is_free(repo, target, where)
    before = repo.commit(f"{HEADS}{target}")
    if ask(repo.path, "merge-base", "--is-ancestor", part.progress.tip, before).code == 0:
        done(Taken(f"is in {target} already", before))
        return
    spare = names.spare(part.worktree, solve.attempt)
    try:
        add_spare(repo, spare, before, mark=mark)
        after = _merged(repo, part, target, spare, mark)
        with unhurried():
            _step(repo, part, target, where, before, after)
            done(Taken(f"merged into {target}", after))
    finally:
        remove_tree(repo, spare)


def remove_spare(repo: Repository, solve: Solve, checkouts: list[Checkout], mark: str) -> None:
    """Remove the worktree of somebody who was killed while merging. Raises GitError, OSError."""
    spare = names.spare(solve.parts[0].worktree, solve.attempt)
    if os.path.lexists(spare) or any(one.path == spare for one in checkouts):
        end_marked(mark)
        remove_tree(repo, spare)


def _target(repo: Repository, solve: Solve, into: str) -> str:
    target = into or solve.base.branch
    if not target:
        raise UsageError(f"{solve.base.name} is no branch", hint="--into BRANCH names one")
    if target in solve.branches:
        raise UsageError(f"{target} is the branch of an agent", hint="--into BRANCH names another")
    if not repo.has(f"{HEADS}{target}"):
        raise UsageError(
            f"there is no branch {quoted(target)} in {repo.path}", hint="--into BRANCH, or --push"
        )
    return repo.meant(target)


def _checkout_of(target: str, checkouts: list[Checkout]) -> str:
    """Return where a branch is checked out; empty for nowhere. Raises GascityError for two."""
    found = [one.path for one in checkouts if one.branch == target]
    if len(found) > 1:
        raise GascityError(f"{target} is checked out in {' and '.join(found)}", hint="or --push")
    return found[0] if found else ""


def _is_free(repo: Repository, target: str, where: str) -> None:
    """See that nobody is in the middle of something with a branch. Raises GascityError."""
    if holder := repo.held_by(target):
        hint = "finish that first, or --push"
        raise GascityError(f"{target} is being rebased or bisected in {holder}", hint=hint)
    if not where:
        return
    if not os.path.isdir(where):
        raise GascityError(
            f"{target} is checked out in {where}, which is not there",
            hint="`git worktree prune` if it never comes back, or --push",
        )
    told = git(where, "status", "--porcelain", "--untracked-files=no")
    begun = [name for name in _BEGUN if ask(where, "rev-parse", "--verify", "-q", name).code == 0]
    if told.strip() or begun:
        what = "an unfinished merge or pick" if begun else "changes that are not committed"
        raise GascityError(
            f"{where} has {target} checked out, and {what}",
            hint="finish, commit or stash that first, or --push",
        )


def _merged(repo: Repository, part: Part, target: str, spare: str, mark: str) -> str:
    """Merge in the worktree made for that, and return the commit that comes out."""
    key = f"branch.{target}.mergeOptions"
    try:
        wanted = shlex.split(git_config(repo, key))
    except ValueError as problem:
        raise GascityError(f"{key} makes no sense: {problem}") from None
    message = f"Merge branch '{part.branch}' into {target}"
    ours = ("--commit", "--no-squash", "--no-edit", "-m", message)
    words = ("merge", *wanted, *ours, part.progress.tip)
    said = ask(spare, *words, timeout=LONG, mark=mark, reads=False)
    if said.code:
        conflicts = ask(spare, "diff", "--name-only", "-z", "--diff-filter=U").out.split("\0")
        named = ", ".join(name for name in conflicts if name)
        raise _refusal(part, f"conflicts in {named}" if named else said.complaint)
    after = git(spare, "rev-parse", "HEAD").strip()
    if ask(repo.path, "merge-base", "--is-ancestor", part.progress.tip, after).code:
        raise GascityError(f"git did not merge {part.branch} into {target}, and does not say why")
    return after


def _step(repo: Repository, part: Part, target: str, where: str, before: str, after: str) -> None:
    """Have the target branch go on to a commit that comes after its own."""
    ref = f"{HEADS}{target}"
    if _checkout_of(target, repo.checkouts()) != where:
        raise _refusal(part, f"{target} was checked out or left meanwhile")
    if not where:
        git(repo.path, "update-ref", "-m", f"merge {part.branch}", ref, after, before, reads=False)
        return
    seen = _seen(where)
    # The result is a merge already, and was looked at: how a person merges is no matter here.
    plain = ("-c", f"branch.{target}.mergeOptions=", "merge", "--ff-only", "--no-squash")
    safe = ("--no-autostash", "--no-overwrite-ignore", "--no-verify-signatures")
    said = ask(where, *plain, *safe, after, timeout=LONG, reads=False)
    if said.code and _seen(where) == seen:
        raise _refusal(part, said.complaint)
    if said.code:
        raise GascityError(
            f"{target} could not go on to {after[:10]}: {said.complaint}; files were written",
            hint=f"`git -C {where} status` shows which",
        )


def _seen(where: str) -> tuple[str, str]:
    """Return what is checked out somewhere, and what of it was changed."""
    return git(where, "rev-parse", "HEAD"), git(where, "status", "--porcelain")


def _refusal(part: Part, why: str) -> GascityError:
    return GascityError(
        f"{part.agent} cannot be merged: {why}; nothing was changed",
        hint=f"`git merge {part.branch}` and resolve it, or --push",
    )
