"""What is removed and what is not: work that is nowhere else goes only when that is wanted."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from tests.cli.solve.workshop import READY, Workshop

from gascity.testing.eventually import eventually

LIMIT = 60.0


def test_what_holds_no_work_goes_with_all_that_belongs_to_it(shop: Workshop) -> None:
    before = shop.seen()
    shop.solve(shop.agent("a", "true"), shop.agent("b", "exit 1"))
    done = shop.gc("solve", "clean", "bug")

    assert (done.returncode, done.stdout) == (0, b"removed 2 worktrees\n")
    assert shop.litter() == []
    assert not shop.trees.exists()
    assert shop.seen() == before
    assert len(shop.folders()) == 2, "the records of runs stay"


@pytest.mark.parametrize(
    ("script", "kept", "lost"),
    [
        ("echo x >new.txt", "1 uncommitted file", "file new.txt"),
        ("echo x >main.py", "1 uncommitted file", "file main.py"),
        ("echo x >main.py; git add .", "1 uncommitted file", "file main.py"),
        ("git commit -q --allow-empty -m good", "1 commit that nothing else has", " good"),
        ("git commit -q --allow-empty -m good; git checkout -q --detach", "1 commit", " good"),
        (
            "git checkout -q --detach; git commit -q --allow-empty -m lonely",
            "1 commit",
            " lonely",
        ),
        (
            "git commit -q --allow-empty -m good; echo x >new.txt",
            "1 commit that nothing else has and 1 uncommitted file",
            "file new.txt",
        ),
    ],
)
def test_work_that_is_nowhere_else_needs_force(
    shop: Workshop, script: str, kept: str, lost: str
) -> None:
    _, document = shop.solve(shop.agent("a", script))
    tree = Path(document["agents"][0]["worktree"])
    refused = shop.gc("solve", "clean", "bug")
    told = refused.stderr.decode()

    assert refused.returncode == 1
    assert f"issue bug, attempt 1, a: kept: {kept}" in told
    assert any(line.endswith(lost) for line in told.splitlines())
    assert "--force" in told
    assert tree.is_dir()

    forced = shop.gc("solve", "clean", "bug", "--force")
    assert forced.returncode == 0
    assert f"removed, and lost: {kept}" in forced.stderr.decode()
    assert shop.litter() == []


@pytest.mark.parametrize(
    "safe",
    [
        "git branch -q elsewhere",
        "git tag kept",
        "git push -q origin HEAD:refs/heads/pushed; git fetch -q origin",
    ],
)
def test_commits_that_something_else_has_are_not_lost(shop: Workshop, safe: str) -> None:
    shop.solve(shop.agent("a", f"git commit -q --allow-empty -m good; {safe}"))
    done = shop.gc("solve", "clean", "bug")

    assert done.returncode == 0, done.stderr.decode()
    assert shop.litter() == []


def test_a_branch_that_goes_too_keeps_nothing_safe(shop: Workshop) -> None:
    """Two branches of one attempt have the same commit, and both are to go."""
    shop.solve(shop.agent("one", "true"), shop.agent("other", "true"))
    commit = shop.commit("shared")
    for name in ("one", "other"):
        shop.git("reset", "-q", "--hard", commit, cwd=shop.trees_of()[name])
    shop.git("reset", "-q", "--hard", "HEAD~1")
    done = shop.gc("solve", "clean", "bug")

    assert done.returncode == 1
    assert shop.git("branch", "--contains", commit).split() == [
        "+", "gc/bug/one-1", "+", "gc/bug/other-1",
    ]  # fmt: skip


def test_a_merged_branch_goes_and_the_others_stay(shop: Workshop) -> None:
    work = 'echo "$0" >main.py; git commit -qam work'
    shop.solve(shop.agent("a", f"{work}; {READY}"), shop.agent("b", f"{work}; {READY}"))
    shop.gc("solve", "pick", "bug", "a")
    done = shop.gc("solve", "clean", "bug", "--json")
    cleaned = {one["agent"]: one for one in json.loads(done.stdout)["cleaned"]}

    assert done.returncode == 1
    assert (cleaned["a"]["removed"], cleaned["b"]["removed"]) == (True, False)
    assert len(cleaned["b"]["would_lose"]) == 2
    assert shop.git("branch", "--list", "gc/*").split() == ["+", "gc/bug/b-1"]
    assert {one["agent"]: one["gone"] for one in shop.status()["agents"]} == {"a": True, "b": False}


def test_only_the_agent_that_is_named_goes(shop: Workshop) -> None:
    shop.solve(shop.agent("a", "true"), shop.agent("b", "true"))
    shop.gc("solve", "clean", "bug", "--agent", "a")
    nobody = shop.gc("solve", "clean", "bug", "--agent", "nobody")

    assert [one["worktree_exists"] for one in shop.status()["agents"]] == [False, True]
    assert nobody.returncode == 4
    assert b'no agent "nobody" worked on issue bug' in nobody.stderr


def test_what_is_worked_on_is_left_alone(shop: Workshop) -> None:
    with shop.popen(*shop.words(shop.agent("a", "exec sleep 1000"))) as process:
        eventually(lambda: shop.states() == {"a": "running"}, within=LIMIT)
        done = shop.gc("solve", "clean", "bug", "--force")
        assert done.returncode == 7
        assert b"error: attempt 1 at " in done.stderr
        assert shop.states() == {"a": "running"}
        process.terminate()
        process.communicate(timeout=LIMIT)


def test_force_needs_to_know_of_which_issue(shop: Workshop) -> None:
    done = shop.gc("solve", "clean", "--force")

    assert (done.returncode, done.stderr) == (2, b"error: --force needs an issue, or --all\n")


def test_other_worktrees_of_the_person_are_never_touched(shop: Workshop) -> None:
    """One is on a disk that is not there at the moment."""
    away = shop.folder / "away"
    shop.git("worktree", "add", "-q", "-b", "away", str(away))
    os.rename(away, shop.folder / "unplugged")
    shop.solve(shop.agent("a", "true"))
    shop.gc("solve", "clean", "--all", "--force")
    os.rename(shop.folder / "unplugged", away)

    assert shop.git("status", "--porcelain", cwd=away) == ""
    assert shop.litter() == [str(shop.work / ".git" / "worktrees" / "away")]


def test_a_tree_that_an_agent_closed_goes_all_the_same(shop: Workshop) -> None:
    closed = (
        "mkdir -p cache/x; echo x >cache/x/y; echo cache >.git/../.gitignore; chmod 500 cache/x"
    )
    shop.solve(shop.agent("a", closed))
    done = shop.gc("solve", "clean", "bug", "--force")

    assert done.returncode == 0, done.stderr.decode()
    assert shop.litter() == []


def test_a_worktree_that_somebody_removed_by_hand_is_no_trouble(shop: Workshop) -> None:
    _, document = shop.solve(shop.agent("a", "true"), shop.agent("b", "true"))
    first, second = (one["worktree"] for one in document["agents"])
    os.rename(first, shop.folder / "moved")
    shop.git("worktree", "remove", "--force", second)
    done = shop.gc("solve", "clean", "bug")

    assert done.returncode == 0, done.stderr.decode()
    assert shop.litter() == []


def test_a_repository_that_is_gone_is_told(shop: Workshop) -> None:
    shop.solve(shop.agent("a", "true"))
    os.rename(shop.work, shop.folder / "moved")
    shop.work.mkdir()
    shown = shop.gc("solve", "status")
    kept = shop.gc("solve", "clean", "bug")
    forced = shop.gc("solve", "clean", "bug", "--force")

    assert shown.returncode == 0
    assert b"failed" in shown.stdout
    assert kept.returncode == 1
    assert f"a: kept: its repository {shop.work} is gone, and nobody".encode() in kept.stderr
    assert forced.returncode == 0
    assert not shop.trees.exists()
    assert b"there is no attempt at an issue" in shop.gc("solve", "status").stdout


def test_runs_of_a_worktree_that_is_there_are_not_pruned(shop: Workshop) -> None:
    shop.solve(shop.agent("a", "true"))
    kept = shop.gc("runs", "prune", "--keep", "0")
    shop.gc("solve", "clean", "bug")
    gone = shop.gc("runs", "prune", "--keep", "0")

    assert (kept.stdout, gone.stdout) == (b"let 0 runs go\n", b"let 1 run go\n")


def test_one_attempt_is_left_alone_while_it_is_worked_on_and_the_others_go(shop: Workshop) -> None:
    shop.solve(shop.agent("quick", "true"))
    with shop.popen(*shop.words(shop.agent("a", "exec sleep 1000"))) as process:
        eventually(lambda: shop.states() == {"a": "running"}, within=LIMIT)
        done = shop.gc("solve", "clean", "bug")
        every = shop.gc("solve", "clean")
        assert shop.states() == {"a": "running"}
        process.terminate()
        process.communicate(timeout=LIMIT)

    assert (done.returncode, done.stdout) == (7, b"removed 1 worktree\n")
    assert (every.returncode, every.stdout) == (0, b"removed 0 worktrees\n")


def test_what_an_agent_left_in_some_of_the_attempts_goes(shop: Workshop) -> None:
    shop.solve(shop.agent("a", "true"), shop.agent("b", "true"))
    shop.solve(shop.agent("b", "true"))
    done = shop.gc("solve", "clean", "bug", "--agent", "a")

    assert (done.returncode, done.stdout, done.stderr) == (0, b"removed 1 worktree\n", b"")


def test_what_cannot_be_written_down_is_removed_all_the_same(shop: Workshop) -> None:
    """A disk may be full, which is why somebody cleans."""
    _, document = shop.solve(shop.agent("a", "true"))
    (lock,) = shop.home.glob("solves/*/bug/1/.solve.lock")
    lock.unlink()
    lock.mkdir()
    done = shop.gc("solve", "clean", "bug")
    lock.rmdir()

    assert done.returncode == 1
    assert b"nothing can be written in " in done.stderr
    assert not Path(document["agents"][0]["worktree"]).exists()
    assert shop.gc("solve", "clean", "bug").returncode == 0
    assert shop.litter() == []


@pytest.mark.parametrize("branch", ["there", "never made"])
def test_a_lock_that_a_killed_git_left_on_a_branch_of_ours_goes_too(
    shop: Workshop, branch: str
) -> None:
    _, document = shop.solve(shop.agent("a", READY))
    name = document["agents"][0]["branch"]
    if branch == "never made":
        shop.git("-C", document["agents"][0]["worktree"], "checkout", "-q", "--detach")
        shop.git("branch", "-D", name)
    lock = shop.work / ".git" / "refs" / "heads" / f"{name}.lock"
    lock.parent.mkdir(parents=True, exist_ok=True)
    lock.touch()
    done = shop.gc("solve", "clean", "bug", "--force")

    assert done.returncode == 0, done.stderr.decode()
    assert shop.litter() == []
