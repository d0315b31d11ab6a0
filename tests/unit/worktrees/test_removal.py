"""Removing a branch of ours, whoever held a lock on it."""

from __future__ import annotations

import subprocess
import threading
from pathlib import Path

import pytest

from gascity.worktrees import removal
from gascity.worktrees.git import GitError
from gascity.worktrees.repository import Repository

pytestmark = pytest.mark.git
BRANCH = "gc/bug/a-1"


@pytest.fixture
def repo(tmp_path: Path) -> Repository:
    """Return a repository with a branch of ours."""
    identity = ("-c", "user.name=Ada", "-c", "user.email=ada@example.com")
    for words in (
        ("init", "-q", "-b", "main"),
        (*identity, "commit", "-q", "--allow-empty", "-m", "first"),
        ("branch", BRANCH),
    ):
        subprocess.run(["git", "-C", str(tmp_path), *words], check=True)
    return Repository(str(tmp_path), str(tmp_path / ".git"))


def lock_of(repo: Repository) -> Path:
    return Path(repo.common, "refs", "heads", f"{BRANCH}.lock")


def test_a_lock_that_somebody_holds_is_waited_for(
    repo: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(removal, "STALE", 60.0)
    lock_of(repo).touch()
    holder = threading.Timer(0.2, lock_of(repo).unlink)
    holder.start()
    removal.remove_branch(repo, BRANCH)
    holder.join()

    assert not repo.commit(f"refs/heads/{BRANCH}")


def test_a_lock_that_others_take_again_and_again_is_theirs(
    repo: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is not the one that was seen first, so somebody lives who takes it."""
    monkeypatch.setattr(removal, "STALE", 60.0)
    lock_of(repo).touch()
    is_over = threading.Event()

    def take_it_again() -> None:
        while not is_over.wait(0.1):
            other = lock_of(repo).with_suffix(".new")
            other.touch()
            other.rename(lock_of(repo))

    holder = threading.Thread(target=take_it_again)
    holder.start()
    with pytest.raises(GitError, match="File exists"):
        removal.remove_branch(repo, BRANCH)
    is_over.set()
    holder.join()

    assert lock_of(repo).exists()
    assert repo.commit(f"refs/heads/{BRANCH}")


def test_one_that_nobody_gives_back_goes(repo: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(removal, "STALE", 0.2)
    lock_of(repo).touch()
    removal.remove_branch(repo, BRANCH)

    assert not lock_of(repo).exists()
    assert not repo.commit(f"refs/heads/{BRANCH}")
