"""The worktree of one agent, made. What is in it and how it goes is in `losses` and `removal`.

It has a branch of its own and lies outside of the repository's tree. It is made in two steps. `add`
has git know it, which is quick, and is done for all agents before any of them starts: while git
writes down one worktree, commands of others that look at all of them can fail. `fill` checks the
files out. Until that is done the worktree is locked, and so known as one that nobody worked in.

Each carries the mark of its attempt, beside what git itself knows of it. The same name may be given
twice, by attempts that are written down in two places: the mark tells whose a worktree is.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator

from gascity.runs import locks
from gascity.runs.context import Cancel
from gascity.runs.folder import open_file
from gascity.worktrees import names
from gascity.worktrees.git import LIMIT, LONG, GitError, ask, git
from gascity.worktrees.removal import remove_branch
from gascity.worktrees.repository import HEADS, Repository, Worktree

_MARK = "gc-solve"  # the file with the mark, in the folder that git has for the worktree
_LONGEST = 8192  # bytes of a path, or of a mark
_TRIES = 3  # at a worktree, of which the branch was made alone
# What an older git needs to run a hook: a command of its own, which a shell reads.
_ALIAS = "gc-post-checkout"
_HOOK = (
    "!f() { hook=$(git rev-parse --git-path hooks/post-checkout);"
    ' test ! -x "$hook" || "$hook" "$@"; }; f'
)


class Taken(GitError):
    """Somebody else has a worktree or a branch of that name."""


def add(
    repo: Repository, tree: Worktree, commit: str, *, mark: str, cancel: Cancel | None = None
) -> None:
    """Have git know a worktree at a commit, on a new branch; there are no files in it yet.

    One is added at a time, whoever does it. Raises Taken, and then nothing was made; GitError, also
    when it is cancelled.
    """
    words = ("worktree", "add", "--lock", "--no-checkout", "-b", tree.branch, tree.path, commit)
    with _adding(repo, cancel):
        if os.path.lexists(tree.path):
            raise Taken(f"no worktree can be made: {tree.path} is there already")
        if repo.commit(f"{HEADS}{tree.branch}"):
            raise Taken(f"no worktree can be made: there is a branch {tree.branch} already")
        os.makedirs(os.path.dirname(tree.path), mode=0o700, exist_ok=True)
        for _ in range(_TRIES):
            said = ask(repo.path, *words, mark=mark, reads=False)
            if said.code == 0:
                _write_mark(tree.path, mark)
                return
            if repo.commit(f"{HEADS}{tree.branch}") != commit:
                break
            remove_branch(repo, tree.branch)  # it was made, and the worktree was not
    raise GitError(f"no worktree can be made: {said.complaint}")


def add_spare(repo: Repository, path: str, commit: str, *, mark: str) -> None:
    """Make a worktree at a commit and on no branch, with its files. Raises GitError."""
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    words = ("worktree", "add", "--lock", "--no-checkout", "--detach", path, commit)
    with _adding(repo, None):
        git(repo.path, *words, mark=mark, reads=False)
    _check_out(path, mark, None)


def fill(tree: Worktree, commit: str, cancel: Cancel, *, mark: str = "") -> str:
    """Check the files out into a worktree that was added; return what a hook complained of, if any.

    Raises GitError, also when it is cancelled.
    """
    _check_out(tree.path, mark, cancel)
    hooked = _post_checkout(tree.path, commit, mark, cancel)
    git(tree.path, "worktree", "unlock", tree.path, mark=mark, reads=False)
    return hooked


def owner_of(path: str) -> str:
    """Return the mark of the attempt that a worktree was made for; empty where nobody can tell."""
    try:
        link = _line_in(os.path.join(path, ".git"))
        return _line_in(os.path.join(path, link.removeprefix("gitdir: "), _MARK))
    except (OSError, ValueError):  # the latter for what is no path
        return ""


def _line_in(path: str) -> str:
    """Return the line in a file, which an agent may have made anything of. Raises OSError."""
    with open_file(path) as file:
        return os.fsdecode(file.read(_LONGEST)).rstrip("\n")


def home_of(folder: str) -> str:
    """Return the home of the attempt in whose worktree a folder is; empty where it is in none."""
    folder = os.path.realpath(folder)
    while not os.path.lexists(os.path.join(folder, ".git")):
        above = os.path.dirname(folder)
        if above == folder:
            return ""
        folder = above
    return names.home_in(owner_of(folder))


def _write_mark(path: str, mark: str) -> None:
    admin = git(path, "rev-parse", "--absolute-git-dir").removesuffix("\n")
    try:
        with open(os.path.join(admin, _MARK), "wb") as file:
            file.write(os.fsencode(f"{mark}\n"))
    except OSError as problem:
        raise GitError(f"{admin} cannot be written: {problem.strerror}") from problem


def _check_out(path: str, mark: str, cancel: Cancel | None) -> None:
    words = ("reset", "--hard", "--quiet", "--no-recurse-submodules")
    said = ask(path, *words, timeout=LONG, mark=mark, reads=False, cancel=cancel)
    if said.code:
        raise GitError(f"the files cannot be checked out: {said.complaint}")


@contextlib.contextmanager
def _adding(repo: Repository, cancel: Cancel | None) -> Iterator[None]:
    """Hold the right to add a worktree, with a lock that leaves nothing in the repository."""
    try:
        descriptor = os.open(repo.common, os.O_RDONLY)
    except OSError as problem:
        raise GitError(f"{repo.common} cannot be read: {problem.strerror}") from problem
    deadline = time.monotonic() + LIMIT

    def give_up() -> bool:
        return time.monotonic() >= deadline if cancel is None else cancel.is_set()

    try:
        if not locks.lock_by(descriptor, give_up):
            raise GitError("somebody else is adding a worktree")
        yield
    finally:
        os.close(descriptor)


def _post_checkout(path: str, commit: str, mark: str, cancel: Cancel) -> str:
    """Run the hook that git runs for a new worktree; return what it complained of if it failed."""
    words = ("post-checkout", "--", "0" * len(commit), commit, "1")
    run = ("hook", "run", "--ignore-missing", *words)
    said = ask(path, *run, timeout=LONG, mark=mark, reads=False, cancel=cancel)
    if "is not a git command" in said.err:  # before 2.36
        older = ("-c", f"alias.{_ALIAS}={_HOOK}", _ALIAS, *words[2:])
        said = ask(path, *older, timeout=LONG, mark=mark, reads=False, cancel=cancel)
    if said.code == 0:
        return ""
    return f"a hook of the repository failed after the checkout: {said.complaint}"
