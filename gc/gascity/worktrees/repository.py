"""The repository that an issue is about: where it is, what its default branch is, what is there.

Nothing here writes to it, but for `fetch`, which brings one branch of a remote up to date where
git keeps what it knows of remotes.
"""

from __future__ import annotations

import hashlib
import os
import re
from dataclasses import dataclass, replace

from gascity.config.problems import quoted
from gascity.core.naming import LONGEST_COMPONENT
from gascity.errors import UsageError
from gascity.runs.context import Cancel
from gascity.runs.folder import open_file
from gascity.worktrees.git import LIMIT, GitError, ask, git

ORIGIN = "origin"
HEADS, REMOTES = "refs/heads/", "refs/remotes/"
_USUAL = ("main", "master", "trunk")
_HERE = ("HEAD", "@")  # what a worktree has checked out, and nothing of a remote
_HOLDERS = ("rebase-merge/head-name", "rebase-apply/head-name", "BISECT_START")
_LONGEST_REF = 4096
_LONGEST_CHAIN = 5  # as many as git follows


@dataclass(frozen=True, slots=True)
class Base:
    """Where work begins. `name` is for people, `ref` is empty for what is no branch.

    `branch` is its name without a remote; `remote` is empty for a branch of this repository.
    """

    name: str
    ref: str
    branch: str
    remote: str
    commit: str


@dataclass(frozen=True, slots=True)
class Checkout:
    """One worktree as git knows it. `branch` is empty when none is checked out there."""

    path: str
    head: str
    branch: str
    locked: str = ""


@dataclass(frozen=True, slots=True)
class Worktree:
    """Where one agent works: a folder, and the branch that is its own."""

    path: str
    branch: str


@dataclass(frozen=True, slots=True)
class Repository:
    """A repository. `path` is its main worktree, or the repository itself where it is bare.

    `common` is the folder that all its worktrees share.
    """

    path: str
    common: str

    @property
    def name(self) -> str:
        """Its name, as a part of a path, and unlike that of any other repository here."""
        parent, last = os.path.split(self.common)
        folder = (os.path.basename(parent) if last.startswith(".") else last).removesuffix(".git")
        digest = hashlib.sha256(os.fsencode(self.common)).hexdigest()[:6]
        return f"{slug(folder, LONGEST_COMPONENT - 24) or 'repository'}-{digest}"

    def commit(self, name: str) -> str:
        """Return the commit of that name; empty when there is none. Raises GitError."""
        return _commit(self.path, name)

    def has(self, ref: str) -> bool:
        """Tell whether there is a ref of exactly that name: `main~1` is none."""
        return ask(self.path, "show-ref", "--verify", "--quiet", ref).code == 0

    def remotes(self) -> list[str]:
        """Return the names of its remotes."""
        return git(self.path, "remote").split()

    def remote(self) -> str:
        """Return the remote that is meant when none is named; empty where nobody can know."""
        names = self.remotes()
        return ORIGIN if ORIGIN in names else names[0] if len(names) == 1 else ""

    def checkouts(self) -> list[Checkout]:
        """Return all worktrees, the main one first. Raises GitError."""
        told = git(self.path, "worktree", "list", "--porcelain").split("\n\n")
        found = [_checkout(part) for part in told if part.strip()]
        if found and found[0].path == self.common:  # its folder is elsewhere, or there is none
            found[0] = replace(found[0], path=self.path)
        return found

    def meant(self, branch: str) -> str:
        """Return the branch that a branch is another name of, or itself."""
        for _ in range(_LONGEST_CHAIN):
            said = ask(self.path, "symbolic-ref", "--quiet", f"{HEADS}{branch}").out.strip()
            if not said.startswith(HEADS):
                break
            branch = said.removeprefix(HEADS)
        return branch

    def held_by(self, branch: str) -> str:
        """Return where a branch is being rebased or bisected; empty for nowhere.

        Git tells of no branch in such a worktree, and will set this one when that is finished.
        """
        beside = os.path.join(self.common, "worktrees")
        linked = sorted(os.listdir(beside)) if os.path.isdir(beside) else []
        for folder in (self.common, *(os.path.join(beside, name) for name in linked)):
            for name in _HOLDERS:
                if _told_in(os.path.join(folder, name)).removeprefix(HEADS) == branch:
                    return folder
        return ""

    def branches(self, below: str) -> list[str]:
        """Return the names of the branches below a prefix, here and at remotes as last fetched."""
        theirs = [f"{REMOTES}{remote}/{below}" for remote in self.remotes()]
        return git(
            self.path, "for-each-ref", "--format=%(refname)", f"{HEADS}{below}", *theirs
        ).split()


def find(folder: str) -> Repository:
    """Return the repository that a folder is in. Raises UsageError, GitError, NotInstalled."""
    if not os.path.isdir(folder):
        raise UsageError(f"there is no folder {quoted(folder)}")
    said = ask(folder, "rev-parse", "--git-common-dir")
    if said.code:
        if "not a git repository" in said.err:
            where = os.path.abspath(folder)
            raise UsageError(f"{where} is in no git repository", hint="--repo DIR names one")
        raise GitError(said.complaint)
    common = os.path.realpath(os.path.join(folder, said.out.removesuffix("\n")))
    if "\n" in common:
        raise UsageError(f"the path {quoted(common)} has a line end in it: git cannot tell of it")
    first = git(folder, "worktree", "list", "--porcelain").split("\n\n")[0]
    path = _checkout(first).path
    if path == common:  # it is bare, or its folder is elsewhere
        own = ask(folder, "rev-parse", "--absolute-git-dir").out.removesuffix("\n")
        top = ask(folder, "rev-parse", "--show-toplevel").out.removesuffix("\n")
        # Of another worktree it is not the folder.
        path = os.path.realpath(top) if top and os.path.realpath(own) == common else common
    return Repository(path if os.path.isdir(path) else common, common)


def base_of(repo: Repository, wanted: str, folder: str = "") -> Base:
    """Return where work is to begin: the branch or commit named, else the default branch.

    `HEAD` and the like are those of the worktree that `folder` is in. Raises UsageError when there
    is no such thing.
    """
    if wanted:
        return _named(repo, wanted, folder or repo.path)
    remote = repo.remote()
    if remote:
        ref = _default_of(repo, remote)
        if ref:
            return _base(repo, ref)
    usual = git_config(repo, "init.defaultBranch")
    here = ask(repo.path, "symbolic-ref", "--quiet", "HEAD").out.strip()
    for ref in (f"{HEADS}{usual}", *(f"{HEADS}{name}" for name in _USUAL), here):
        if ref != HEADS and ref and repo.has(ref):
            return _base(repo, ref)
    hint = "commit something, `git fetch`, or --base BRANCH"
    raise UsageError(f"{repo.path} has no commit to begin with", hint=hint)


def fetch(
    repo: Repository, base: Base, *, timeout: float = LIMIT, cancel: Cancel | None = None
) -> Base:
    """Bring the branch of a remote up to date, and return it as it is now. Raises GitError.

    Nothing else is touched: neither other branches, nor tags, nor what was fetched last.
    """
    if not base.remote:
        return base
    quiet = ("--quiet", "--no-tags", "--no-write-fetch-head", "--recurse-submodules=no")
    words = ("fetch", *quiet, base.remote, f"+{HEADS}{base.branch}:{base.ref}")
    git(repo.path, *words, timeout=timeout, may_ask=True, reads=False, cancel=cancel)
    return _base(repo, base.ref)


def git_config(repo: Repository, key: str) -> str:
    """Return a setting; empty where it is not set."""
    return ask(repo.path, "config", "--get", key).out.strip()


def slug(text: str, longest: int = LONGEST_COMPONENT) -> str:
    """Return a text as one word of letters, digits and single dashes; it may be empty."""
    words = re.sub(r"[^A-Za-z0-9_]+", "-", text).strip("-")
    return words[: max(longest, 0)].strip("-")


def _named(repo: Repository, wanted: str, folder: str) -> Base:
    if wanted in _HERE and (ref := ask(folder, "symbolic-ref", "--quiet", "HEAD").out.strip()):
        return _base(repo, ref)
    if not wanted.startswith("-"):
        remote = "" if wanted in _HERE else repo.remote()
        refs = [f"{HEADS}{wanted}", f"{REMOTES}{wanted}"]
        refs += [f"{REMOTES}{remote}/{wanted}"] if remote else []
        for ref in refs:
            if repo.has(ref):
                return _base(repo, ref)
        if commit := _commit(folder, wanted):
            return Base(wanted, "", "", "", commit)
    raise UsageError(f"there is no branch or commit {quoted(wanted)} in {repo.path}")


def _told_in(path: str) -> str:
    """Return what a small file of git says; empty where there is none."""
    try:
        with open_file(path) as file:
            return os.fsdecode(file.read(_LONGEST_REF)).strip()
    except OSError:
        return ""


def _commit(folder: str, name: str) -> str:
    said = ask(folder, "rev-parse", "--verify", "--quiet", f"{name}^{{commit}}")
    if said.code > 1 or said.failed:  # not knowing is not absence
        raise GitError(said.complaint)
    return said.out.strip() if said.code == 0 else ""


def _base(repo: Repository, ref: str) -> Base:
    commit = repo.commit(ref)
    if ref.startswith(REMOTES):
        name = ref.removeprefix(REMOTES)
        for remote in sorted(repo.remotes(), key=len, reverse=True):
            if name.startswith(f"{remote}/"):
                return Base(name, ref, name.removeprefix(f"{remote}/"), remote, commit)
        return Base(name, ref, name.partition("/")[2], "", commit)
    name = ref.removeprefix(HEADS)
    return Base(name, ref, name, "", commit)


def _default_of(repo: Repository, remote: str) -> str:
    """Return the ref of a remote's default branch, as far as this repository knows it."""
    head = ask(repo.path, "symbolic-ref", "--quiet", f"{REMOTES}{remote}/HEAD").out.strip()
    usual = [f"{REMOTES}{remote}/{name}" for name in _USUAL]
    return next((ref for ref in (head, *usual) if ref and repo.commit(ref)), "")


def _checkout(told: str) -> Checkout:
    facts = {key: value for key, _, value in (line.partition(" ") for line in told.split("\n"))}
    return Checkout(
        os.path.realpath(facts.get("worktree", "")),
        facts.get("HEAD", ""),
        facts.get("branch", "").removeprefix(HEADS),
        facts["locked"] or "locked" if "locked" in facts else "",
    )
