"""Removing a worktree and its branch, whatever is in them: `losses` tells that before.

Other worktrees are never touched; `git worktree prune`, which might, is never called.
"""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import stat
import time

from gascity.worktrees.git import LONG, GitError, ask, git
from gascity.worktrees.repository import HEADS, Repository, Worktree

STALE = 5.0  # seconds after which nobody is taken to live who holds a lock on a branch of ours
_GLANCE = 0.05


def remove(repo: Repository, tree: Worktree) -> str:
    """Remove a worktree and its branch, whatever is in them; return what stays, if anything does.

    A branch that is checked out elsewhere stays. Raises GitError, OSError.
    """
    remove_tree(repo, tree.path)
    for other in repo.checkouts():
        if other.branch == tree.branch:
            return f"{tree.branch} stays: it is checked out in {other.path}"
    if where := repo.held_by(tree.branch):
        return f"{tree.branch} stays: it is being rebased or bisected in {where}"
    remove_branch(repo, tree.branch)
    return ""


def remove_tree(repo: Repository, path: str) -> None:
    """Remove a worktree, whatever is in it. Raises GitError, OSError."""
    words = ("worktree", "remove", "--force", "--force", path)  # twice: also a locked one
    said = ask(repo.path, *words, timeout=LONG, reads=False)
    if said.code:
        remove_files(path)
        said = ask(repo.path, *words, timeout=LONG, reads=False)
    if said.code and "is not a working tree" not in said.err:
        raise GitError(f"{path} cannot be removed: {said.complaint}")
    remove_files(path)  # what git leaves, and the folder above


def remove_files(path: str) -> None:
    """Remove a tree, in which an agent may have made folders that cannot be written.

    The folders of its issue and of its repository go too where it was the last. Raises OSError.
    """
    if os.path.isdir(path) and not os.path.islink(path):
        with contextlib.suppress(OSError):
            os.chmod(path, os.stat(path).st_mode | stat.S_IRWXU)
        for folder, below, _ in os.walk(path):
            for each in (os.path.join(folder, name) for name in below):
                if not os.path.islink(each):
                    with contextlib.suppress(OSError):  # of somebody else: told below
                        os.chmod(each, os.stat(each).st_mode | stat.S_IRWXU)
        shutil.rmtree(path, ignore_errors=True)
        if os.path.lexists(path):
            raise OSError(errno.EPERM, "it has files that cannot be removed", path)
    elif os.path.lexists(path):
        os.unlink(path)
    with contextlib.suppress(OSError):  # there are others
        for folder in (os.path.dirname(path), os.path.dirname(os.path.dirname(path))):
            os.rmdir(folder)


def remove_branch(repo: Repository, branch: str) -> None:
    """Remove a branch of ours and what git has set for it, if it is there. Raises GitError."""
    _remove_stale(os.path.join(repo.common, f"{HEADS}{branch}.lock"))
    tip = repo.commit(f"{HEADS}{branch}")
    if tip:
        git(repo.path, "update-ref", "-d", f"{HEADS}{branch}", tip, reads=False)
    settings = ask(repo.path, "config", "--local", "--get-regexp", rf"^branch\.{branch}\.")
    if settings.out:
        ask(repo.path, "config", "--local", "--remove-section", f"branch.{branch}", reads=False)


def _remove_stale(lock: str) -> None:
    """Remove the lock on a branch of ours that was left by somebody who is no more.

    git takes its locks along when it is ended, unless that comes in the moment in which it makes
    one. Whoever lives holds it for milliseconds.
    """
    with contextlib.suppress(OSError):  # it is gone; or it stays, and git will say so
        first = os.lstat(lock)
        until = time.monotonic() + STALE
        while time.monotonic() < until:
            time.sleep(_GLANCE)  # nothing tells when a lock is given back
            now = os.lstat(lock)
            if (now.st_ino, now.st_mtime_ns) != (first.st_ino, first.st_mtime_ns):
                return
        os.unlink(lock)
