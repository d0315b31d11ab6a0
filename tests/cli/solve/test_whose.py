"""Whose a commit, a worktree or a branch is: what is not one's own is left alone."""

from __future__ import annotations

import json
import os
import shutil
import signal
from pathlib import Path

import pytest
from tests.cli.solve.workshop import READY, Workshop

from gascity.runs import locks
from gascity.testing.eventually import eventually

LIMIT = 60.0
STEP = 'echo step >>main.py; git commit -qam "a step"'
DONE = f"echo done >>main.py; git add .; {READY}"


def wrapped(shop: Workshop, script: str) -> dict[str, str]:
    """Return an environment in which a script comes before git, which is `$GIT` in it."""
    folder = shop.folder / "wrapped"
    folder.mkdir()
    (folder / "git").write_text(
        f'#!/bin/bash\nGIT={shutil.which("git")}\n{script}\nexec "$GIT" "$@"\n'
    )
    (folder / "git").chmod(0o755)
    return {"PATH": f"{folder}:{shop.env()['PATH']}"}


def elsewhere(shop: Workshop) -> Path:
    """Make a city in a folder of its own, with a place for records of its own."""
    folder = shop.folder / "city"
    folder.mkdir()
    (folder / "city.toml").write_text('[workspace]\nname = "town"\n')
    return folder


def test_an_agent_that_looks_at_an_older_commit_of_its_own_has_its_newest(shop: Workshop) -> None:
    script = f"{STEP}; echo x >>main.py; git add .; {READY}; git checkout -q HEAD~1"
    code, document = shop.solve(shop.agent("a", script))
    (one,) = document["agents"]
    shop.gc("solve", "pick", "bug", "a")

    assert (code, one["state"], one["progress"]["commits"]) == (0, "ready", 2)
    assert shop.git("log", "-1", "--format=%B", "main").startswith("resolve it")


@pytest.mark.parametrize("how", ["--rebase", "--no-rebase"])
def test_what_was_pulled_onto_and_pushed_stays_ones_own(shop: Workshop, how: str) -> None:
    pull = f"git pull -q {how} --no-edit origin main; git push -q origin HEAD:refs/heads/fix"
    meanwhile = (
        f'git clone -q "{shop.origin}" "{shop.folder}/other"; cd "{shop.folder}/other"; '
        "echo new >new.txt; git add .; git commit -qm other; git push -q"
    )
    code, document = shop.solve(shop.agent("a", f"{STEP}; {READY}; ({meanwhile}); {pull}"))
    (one,) = document["agents"]

    assert (code, one["state"]) == (0, "ready")
    assert one["progress"]["commits"] == (2 if how == "--rebase" else 3)


def test_the_head_that_is_meant_is_that_of_the_worktree_one_stands_in(shop: Workshop) -> None:
    shop.git("worktree", "add", "-q", "-b", "feature", str(shop.folder / "feature"))
    (shop.folder / "feature" / "new.py").write_text("new\n")
    feature = shop.commit("a feature", cwd=shop.folder / "feature")
    code, document = shop.solve(
        shop.agent("a", READY), options=("--base", "HEAD", "--repo", str(shop.folder / "feature"))
    )

    assert (code, document["base"]["commit"]) == (0, feature)


def test_two_who_give_the_same_name_at_once_do_not_share_it(shop: Workshop) -> None:
    """Each has its own records, and both have seen that the name is free."""
    both = f'"{shop.folder}"/asked-*'
    env = wrapped(
        shop,
        f"""case "$*" in *for-each-ref*refs/heads/gc/*)
  "$GIT" "$@"; touch "{shop.folder}/asked-$PPID"
  for _ in $(seq 6000); do [ $(ls {both} | wc -l) -ge 2 ] && exit 0; sleep 0.01; done
esac""",
    )
    agent = shop.agent("a", DONE)
    town = elsewhere(shop)
    issue = str(shop.folder / "bug.md")
    here = shop.popen("solve", issue, "--no-fetch", "--agent", agent, env=env)
    there = shop.popen(
        "-C",
        str(town),
        "solve",
        issue,
        "--no-fetch",
        "--agent",
        agent,
        "--repo",
        str(shop.work),
        env=env,
    )
    said = [process.communicate(timeout=LIMIT)[1].decode() for process in (here, there)]
    codes = sorted(process.returncode for process in (here, there))
    parents = shop.git("log", "-1", "--format=%P", "gc/bug/a-1")
    first, second = ("-C", str(town)), ()
    loser, winner = (first, second) if there.returncode else (second, first)
    cleaned = shop.gc(*loser, "solve", "clean", "bug", "--force")
    (kept,) = json.loads(shop.gc(*winner, "solve", "status", "--json").stdout)["solves"]

    assert codes == [0, 1], said
    assert parents == shop.git("rev-parse", "main")
    assert b"removed 0 worktrees" in cleaned.stdout, cleaned.stderr.decode()
    assert (kept["agents"][0]["state"], kept["agents"][0]["worktree_exists"]) == ("ready", True)


def test_a_record_that_names_the_worktree_of_another_attempt_does_not_own_it(
    shop: Workshop,
) -> None:
    town = elsewhere(shop)
    words = ("solve", str(shop.folder / "bug.md"), "--repo", str(shop.work))
    shop.gc("-C", str(town), *words, "--agent", shop.agent("a", DONE))
    shutil.copytree(town / ".gc" / "solves", shop.home / "solves")
    cleaned = shop.gc("solve", "clean", "--all", "--force")
    (theirs,) = json.loads(shop.gc("-C", str(town), "solve", "status", "--json").stdout)["solves"]

    assert (cleaned.returncode, cleaned.stdout) == (0, b"removed 0 worktrees\n")
    assert theirs["agents"][0]["worktree_exists"]
    assert shop.git("branch", "--list", "gc/*", "--format=%(refname:short)") == "gc/bug/a-1"


def test_inside_of_a_worktree_its_own_issue_is_known(shop: Workshop) -> None:
    shop.city('[workspace]\nname = "town"\n')
    _, document = shop.solve(shop.agent("a", f"mkdir deep; {DONE}"))
    inside = document["agents"][0]["worktree"]
    shop.work = Path(inside) / "deep"
    shop.work.mkdir(exist_ok=True)

    assert shop.states() == {"a": "ready"}


def test_other_repositories_are_not_cleaned_from_here(shop: Workshop) -> None:
    shop.solve(shop.agent("a", DONE))
    other = shop.folder / "other"
    shop.git("clone", "-q", str(shop.origin), str(other))
    shop.gc(
        "solve", str(shop.folder / "bug.md"), "--agent", shop.agent("b", DONE), "--repo", str(other)
    )
    done = shop.gc("solve", "clean", "--all", "--force")

    assert done.stdout == b"removed 1 worktree\n"
    assert b"hint: 1 attempt in other repositories: " in done.stderr
    assert (
        shop.git("branch", "--list", "gc/*", "--format=%(refname:short)", cwd=other) == "gc/bug/b-1"
    )


def test_a_worktree_of_a_bare_repository_may_go_before_the_attempt(shop: Workshop) -> None:
    bare, tree = shop.folder / "bare.git", shop.folder / "tree"
    shop.git("clone", "-q", "--bare", str(shop.origin), str(bare))
    shop.git("worktree", "add", "-q", str(tree), "main", cwd=bare)
    shop.gc(
        "solve", str(shop.folder / "bug.md"), "--agent", shop.agent("a", DONE), "--repo", str(tree)
    )
    shop.git("worktree", "remove", str(tree), cwd=bare)
    done = shop.gc("solve", "clean", "bug", "--force")

    assert (done.returncode, done.stdout) == (0, b"removed 1 worktree\n"), done.stderr.decode()
    assert shop.git("worktree", "list", cwd=bare).count("\n") == 0


def test_a_clean_that_was_killed_is_finished_by_the_next(shop: Workshop) -> None:
    _, document = shop.solve(shop.agent("a", "true"))
    tree = document["agents"][0]["worktree"]
    env = wrapped(
        shop, f'case "$*" in *"worktree remove"*) rm -f "{tree}/.git"; kill -9 $PPID; exit 1;; esac'
    )
    killed = shop.gc("solve", "clean", "bug", env=env)
    done = shop.gc("solve", "clean", "bug")

    assert killed.returncode == -signal.SIGKILL
    assert (done.returncode, done.stdout) == (0, b"removed 1 worktree\n"), done.stderr.decode()
    assert shop.litter() == []


def test_what_git_cannot_look_into_is_not_thrown_away(shop: Workshop) -> None:
    shop.solve(shop.agent("a", "true"))
    warning = "warning: could not open directory 'secret/': Permission denied"
    env = wrapped(shop, f'case "$*" in *status*) echo "{warning}" >&2;; esac')
    done = shop.gc("solve", "clean", "bug", env=env)

    assert done.returncode == 1
    assert b"kept: nobody can tell what is in " in done.stderr


def test_an_agent_in_the_middle_of_a_rebase_keeps_its_work(shop: Workshop) -> None:
    script = (
        f"{STEP}; git checkout -q -b side HEAD~1; echo other >main.py; git commit -qam side; "
        "git checkout -q -; git rebase -q side || true"
    )
    shop.solve(shop.agent("a", script))
    done = shop.gc("solve", "clean", "bug")

    assert done.returncode == 1
    assert b"is being rebased or bisected in " in done.stderr


def test_what_git_tells_for_those_who_debug_it_changes_nothing(shop: Workshop) -> None:
    env = {"GIT_TRACE": "1"}
    code, document = shop.solve(shop.agent("a", "true"), env=env)
    cleaned = shop.gc("solve", "clean", "bug", env=env)

    assert (code, document["agents"][0]["why"]) == (1, "it ended well, and committed nothing")
    assert cleaned.returncode == 0, cleaned.stderr.decode()


def test_ctrl_c_is_heard_while_somebody_else_adds_a_worktree(shop: Workshop) -> None:
    descriptor = os.open(shop.work / ".git", os.O_RDONLY)
    try:
        assert locks.lock(descriptor)
        with shop.popen(*shop.words(shop.agent("a", READY))) as process:
            eventually(lambda: shop.states() == {"a": "starting"}, within=LIMIT)
            process.send_signal(signal.SIGINT)
            process.communicate(timeout=LIMIT)
    finally:
        os.close(descriptor)

    assert process.returncode == 130
    assert shop.litter() != []  # its record
    assert shop.gc("solve", "clean", "bug").returncode == 0
    assert shop.litter() == []


@pytest.mark.parametrize("words", [("clean", "bug"), ("pick", "bug", "a")])
def test_nobody_waits_for_one_who_picks(shop: Workshop, words: tuple[str, ...]) -> None:
    shop.solve(shop.agent("a", DONE))
    (record,) = shop.home.glob("solves/*/bug/1/solve.json")
    with locks.locked(str(record.parent / ".choice.lock")):
        done = shop.gc("solve", *words)

    assert done.returncode == 7
    assert b"is being picked from, checked or cleaned" in done.stderr


def test_a_fetch_that_is_given_up_leaves_nobody(shop: Workshop) -> None:
    pid = shop.folder / "pid"
    ssh = shop.agent("ssh", f'echo $$ >"{pid}.new"; mv "{pid}.new" "{pid}"; exec sleep 1000')
    shop.git("remote", "set-url", "origin", "ssh://nowhere.invalid/x")
    with shop.popen(*shop.words(shop.agent("a", READY)), env={"GIT_SSH": ssh}) as process:
        eventually(pid.exists, within=LIMIT)
        process.terminate()
        process.communicate(timeout=LIMIT)

    assert process.returncode == 143
    eventually(lambda: not Path(f"/proc/{pid.read_text().strip()}").exists(), within=LIMIT)


def test_a_worktree_stays_while_it_is_checked(shop: Workshop) -> None:
    shop.solve(shop.agent("a", DONE))
    shop.gc("solve", "pick", "bug", "a")
    begun, go = shop.folder / "begun", shop.folder / "go"
    check = f'touch "{begun}"; while [ ! -e "{go}" ]; do sleep 0.01; done; grep done main.py'
    with shop.popen("solve", "compare", "bug", "--check", check) as process:
        eventually(begun.exists, within=LIMIT)
        cleaned = shop.gc("solve", "clean", "bug")
        go.touch()
        process.communicate(timeout=LIMIT)

    assert cleaned.returncode == 7
    assert b"is being picked from, checked or cleaned" in cleaned.stderr
    assert process.returncode == 0
    assert shop.gc("solve", "clean", "bug").returncode == 0


@pytest.mark.parametrize("words", [("clean", "bug", "--force"), ("clean", "bug")])
def test_what_comes_after_a_clean_that_was_killed_is_looked_at_again(
    shop: Workshop, words: tuple[str, ...]
) -> None:
    _, document = shop.solve(shop.agent("a", "true"), shop.agent("b", "true"))
    trees = [Path(one["worktree"]) for one in document["agents"]]
    env = wrapped(shop, 'case "$*" in *"worktree remove"*) kill -9 $PPID; exit 1;; esac')
    shop.gc("solve", *words, env=env)
    for tree in trees:
        (tree / "notes.txt").write_text("work\n")
    done = shop.gc("solve", "clean", "bug")

    assert done.returncode == 1
    assert done.stderr.count(b"kept: 1 uncommitted file") == 2
    assert all((tree / "notes.txt").exists() for tree in trees)


@pytest.mark.parametrize("link", [True, False])
def test_a_home_that_was_moved_keeps_its_worktrees(shop: Workshop, link: bool) -> None:
    town = elsewhere(shop)
    words = ("solve", str(shop.folder / "bug.md"), "--repo", str(shop.work))
    shop.gc("-C", str(town), *words, "--agent", shop.agent("a", DONE))
    moved = town.rename(shop.folder / "moved")
    if link:
        town.symlink_to(moved)
    (solve,) = json.loads(shop.gc("-C", str(moved), "solve", "status", "--json").stdout)["solves"]
    done = shop.gc("-C", str(moved), "solve", "clean", "bug", "--force")

    assert solve["agents"][0]["state"] == "ready"
    assert solve["agents"][0]["worktree_exists"]
    assert done.stdout == b"removed 1 worktree\n", done.stderr.decode()
    assert shop.git("branch", "--list", "gc/*") == ""


def test_the_folder_for_worktrees_may_be_moved_behind_a_link(shop: Workshop) -> None:
    shop.solve(shop.agent("a", DONE))
    (shop.folder / "state").rename(shop.folder / "disk")
    (shop.folder / "state").symlink_to(shop.folder / "disk")
    done = shop.gc("solve", "clean", "bug")

    assert shop.states() == {"a": "ready"}
    assert done.returncode == 1
    assert b"kept: 1 commit that nothing else has\n" in done.stderr


def test_an_agent_that_makes_a_pipe_of_its_git_file_holds_nobody_up(shop: Workshop) -> None:
    code, document = shop.solve(shop.agent("a", "rm .git; mkfifo .git"))
    done = shop.gc("solve", "clean", "bug", "--force")

    assert (code, document["agents"][0]["state"]) == (1, "failed")
    assert done.returncode == 0, done.stderr.decode()
    assert shop.litter() == []


def test_a_repository_has_one_name_in_all_its_worktrees(shop: Workshop) -> None:
    bare = shop.folder / "project" / ".bare"
    shop.git("clone", "-q", "--bare", str(shop.origin), str(bare), cwd=shop.folder)
    names = set()
    for branch in ("main", "feature"):
        tree = bare.parent / branch
        new = () if branch == "main" else ("-b", branch)
        shop.git("worktree", "add", "-q", *new, str(tree), *(() if new else ("main",)), cwd=bare)
        words = ("solve", str(shop.folder / "bug.md"), "--repo", str(tree), "--json")
        done = shop.gc(*words, "--agent", shop.agent("a", DONE))
        names.add(json.loads(done.stdout.splitlines()[-1])["project"])

    assert len(names) == 1
    assert names.pop().startswith("project-")
