"""Agents and people who do what nobody expects: no work is lost, and what is told is true."""

from __future__ import annotations

import os
import shutil
import signal
from pathlib import Path

import pytest
from tests.cli.solve.workshop import READY, Workshop
from tests.living import lives

from gascity.testing.eventually import eventually

LIMIT = 60.0
WORK = f'echo "$0" >work.txt; git add .; git commit -qm work; {READY}'
MARKER = "cocode ready for check"


# --- names that meet


def test_an_agent_may_be_called_merge(shop: Workshop) -> None:
    agent = shop.agent("merge", f"{WORK}; echo precious >loose.txt")
    shop.solve(agent, shop.agent("b", WORK))
    shop.git("branch", "release")
    picked = shop.gc("solve", "pick", "bug", "b", "--into", "release")
    done = shop.gc("solve", "clean", "bug")

    assert picked.returncode == 0, picked.stderr.decode()
    assert done.returncode == 1
    assert (shop.trees_of()["merge"] / "loose.txt").exists()
    assert shop.git("show", "gc/bug/merge-1:work.txt") == agent


def test_names_of_issues_and_agents_do_not_meet(shop: Workshop) -> None:
    shop.issue("fix", "One")
    shop.issue("fix-login", "Another")
    shop.solve(f"login-bot={shop.agent('a', WORK)}", issue="fix")
    _, other = shop.solve(f"bot={shop.agent('b', 'true')}", issue="fix-login")

    assert other["agents"][0]["state"] == "failed"
    assert shop.trees_of("fix")["login-bot"] != shop.trees_of("fix-login")["bot"]


def test_a_folder_in_the_way_is_never_worked_in(shop: Workshop) -> None:
    _, first = shop.solve(shop.agent("a", "true"))
    tree = Path(first["agents"][0]["worktree"])
    shop.gc("solve", "clean", "bug")
    tree.mkdir(parents=True)
    (tree / "mine.txt").write_text("mine")
    code, second = shop.solve(shop.agent("a", f"rm -rf ./*; {READY}"))

    assert (code, second["attempt"]) == (0, 2)
    assert (tree / "mine.txt").exists()


def test_the_number_of_a_branch_that_was_pushed_is_not_used_again(shop: Workshop) -> None:
    shop.solve(shop.agent("a", WORK))
    shop.gc("solve", "pick", "bug", "a", "--push")
    shop.gc("solve", "clean", "bug", "--force")
    _, second = shop.solve(shop.agent("a", WORK))

    assert second["attempt"] == 2


# --- what a clean must not take along


def test_a_branch_that_a_person_has_checked_out_stays(shop: Workshop) -> None:
    shop.solve(shop.agent("a", WORK))
    shop.git("worktree", "remove", "--force", str(shop.trees_of()["a"]))
    shop.git("checkout", "-q", "gc/bug/a-1")
    kept = shop.gc("solve", "clean", "bug")
    forced = shop.gc("solve", "clean", "bug", "--force")

    assert kept.returncode == 1
    assert b"gc/bug/a-1 is checked out in " in kept.stderr
    assert b"gc/bug/a-1 stays: it is checked out in " in forced.stderr
    assert shop.git("status", "--porcelain") == ""
    assert shop.git("log", "-1", "--format=%s") == "resolve it"


def test_a_worktree_that_a_person_moved_stays(shop: Workshop) -> None:
    shop.solve(shop.agent("a", "true"))
    mine = shop.folder / "mine"
    shop.git("worktree", "move", str(shop.trees_of()["a"]), str(mine))
    (mine / "work.txt").write_text("work")
    done = shop.gc("solve", "clean", "bug")

    assert done.returncode == 1
    assert shop.git("status", "--porcelain", cwd=mine) == "?? work.txt"


NESTED = "git init -q x; cd x; git commit -q --allow-empty -m inner; cd .."


@pytest.mark.parametrize(
    "script",
    [
        f"echo vendor >.gitignore; git add .; git commit -qm i; mkdir vendor; cd vendor; {NESTED}",
        f"{NESTED}; git add x; git commit -qm link",
        "rm .git; git init -q; git add .; git commit -qm elsewhere",
        "echo x >precious.txt; rm .git",
        'rm -rf "$(git rev-parse --git-dir)"; echo x >precious.txt',
    ],
)
def test_what_git_cannot_tell_of_stays(shop: Workshop, script: str) -> None:
    """A repository above ignores everything: what is asked there says that all is well."""
    shop.git("init", "-q", cwd=shop.folder)
    (shop.folder / ".gitignore").write_text("*\n")
    shop.solve(shop.agent("a", f"{script} 2>/dev/null"))
    tree = shop.trees_of()["a"]
    done = shop.gc("solve", "clean", "bug")

    assert done.returncode == 1, done.stdout
    assert b"kept: " in done.stderr
    assert tree.is_dir()
    assert shop.gc("solve", "clean", "bug", "--force").returncode == 0
    assert shop.litter() == []


def test_a_commit_in_a_submodule_stays(shop: Workshop) -> None:
    library = shop.folder / "library"
    library.mkdir()
    shop.git("init", "-q", cwd=library)
    shop.commit("library", cwd=library)
    shop.set("protocol.file.allow", "always")
    shop.git("submodule", "--quiet", "add", str(library), "lib")
    shop.commit("with a submodule")
    shop.git("push", "-q", "origin", "main")
    script = "git submodule --quiet update --init; cd lib; git commit -q --allow-empty -m inner"
    shop.solve(shop.agent("a", f"{script}; cd ..; git commit -qam pointer; {READY}"))
    assert shop.gc("solve", "pick", "bug", "a").returncode == 0
    done = shop.gc("solve", "clean", "bug")

    assert done.returncode == 1
    assert b"submodule" in done.stderr


@pytest.mark.parametrize("reason", ["initializing", "keep, I look at it"])
def test_a_worktree_that_a_person_locked_stays(shop: Workshop, reason: str) -> None:
    shop.solve(shop.agent("a", "true"))
    tree = shop.trees_of()["a"]
    (tree / "work.txt").write_text("work")
    shop.git("worktree", "lock", "--reason", reason, str(tree))
    done = shop.gc("solve", "clean", "bug")

    assert done.returncode == 1
    assert (tree / "work.txt").exists()


def test_what_is_lost_is_named_also_where_files_cannot_be_looked_at(shop: Workshop) -> None:
    shop.solve(shop.agent("a", f'{WORK}; rm -rf "$(git rev-parse --git-dir)"'))
    done = shop.gc("solve", "clean", "bug", "--force")

    assert done.returncode == 0
    assert b" resolve it\n" in done.stderr
    assert b"nobody can tell what is in " in done.stderr


def test_a_worktree_that_was_not_filled_holds_nothing(shop: Workshop) -> None:
    """The solver and its git are killed while files are checked out."""
    (shop.work / ".gitattributes").write_text("main.py filter=slow\n")
    shop.commit("a filter")
    shop.git("push", "-q", "origin", "main")
    shop.set("filter.slow.smudge", f"touch {shop.folder}/slow; sleep 1000")
    with shop.popen(*shop.words(shop.agent("a", READY))) as process:
        eventually((shop.folder / "slow").exists, within=LIMIT)
        process.kill()
        process.communicate()
    done = shop.gc("solve", "clean", "bug")

    assert done.returncode == 0, done.stderr.decode()
    assert shop.litter() == []
    assert shop.living() == []


# --- what is ready, and what is not


def test_the_commit_of_another_branch_makes_nobody_ready(shop: Workshop) -> None:
    shop.git("checkout", "-q", "-b", "old-feature")
    shop.commit(f"old work\n\n{MARKER}")
    shop.git("checkout", "-q", "main")
    looks = shop.agent("looks", "git checkout -q --detach old-feature")
    merges = shop.agent("merges", "git merge -q --no-edit old-feature")
    code, document = shop.solve(looks, merges)

    assert (code, [one["state"] for one in document["agents"]]) == (1, ["failed", "failed"])


def test_work_that_an_agent_pushed_to_the_base_is_its_own(shop: Workshop) -> None:
    code, document = shop.solve(shop.agent("a", f"{WORK}; git push -q origin HEAD:main"))
    (one,) = document["agents"]

    assert (code, one["state"], one["progress"]["commits"]) == (0, "ready", 2)
    assert one["progress"]["files"] == 1


def test_work_that_is_merged_before_the_end_is_ready_all_the_same(shop: Workshop) -> None:
    script = f"{WORK}; while [ ! -e {shop.folder}/go ]; do sleep 0.05; done"
    with shop.popen(*shop.words(shop.agent("a", script))) as process:
        eventually(lambda: shop.states() == {"a": "ready"}, within=LIMIT)
        shop.git("merge", "-q", "gc/bug/a-1")
        assert shop.states() == {"a": "ready"}
        (shop.folder / "go").touch()
        process.communicate(timeout=LIMIT)

    assert process.returncode == 0
    assert shop.states() == {"a": "ready"}


def test_who_last_looked_at_an_older_commit_is_told_by_its_branch(shop: Workshop) -> None:
    code, document = shop.solve(shop.agent("a", f"{WORK}; git checkout -q --detach HEAD~2"))
    (one,) = document["agents"]

    assert (code, one["state"], one["progress"]["commits"]) == (0, "ready", 2)
    assert shop.gc("solve", "pick", "bug", "a").returncode == 0
    assert (shop.work / "work.txt").exists()


# --- picks that go wrong


def test_an_unfinished_merge_of_the_person_is_left_as_it_is(shop: Workshop) -> None:
    shop.git("checkout", "-q", "-b", "other")
    shop.commit("other")
    shop.git("checkout", "-q", "main")
    shop.commit("mine")
    shop.solve(shop.agent("a", WORK))
    shop.git("merge", "-q", "-s", "ours", "--no-commit", "other")
    done = shop.gc("solve", "pick", "bug", "a")

    assert done.returncode == 1
    assert b"an unfinished merge" in done.stderr
    assert (shop.work / ".git" / "MERGE_HEAD").exists()


@pytest.mark.parametrize("options", ["--no-ff --no-commit", "--squash"])
@pytest.mark.parametrize("where", ["checked out", "elsewhere"])
def test_a_merge_is_a_merge_whatever_is_configured(
    shop: Workshop, options: str, where: str
) -> None:
    shop.set("branch.main.mergeOptions", options)
    shop.solve(shop.agent("a", WORK))
    if where == "elsewhere":
        shop.git("checkout", "-q", "--detach")
    done = shop.gc("solve", "pick", "bug", "a")

    assert done.returncode == 0, done.stderr.decode()
    assert shop.git("merge-base", "--is-ancestor", "gc/bug/a-1", "main") == ""
    assert shop.git("status", "--porcelain") == ""


def test_a_tag_of_the_same_name_is_not_what_is_merged(shop: Workshop) -> None:
    shop.git("checkout", "-q", "-b", "evil")
    shop.commit("evil")
    shop.git("checkout", "-q", "main")
    shop.solve(shop.agent("a", WORK))
    shop.git("tag", "gc/bug/a-1", "evil")
    shop.gc("solve", "pick", "bug", "a")

    assert "evil" not in shop.git("log", "--format=%s", "main")
    assert (shop.work / "work.txt").exists()


def test_a_base_that_is_no_branch_is_nothing_to_merge_into(shop: Workshop) -> None:
    shop.commit("second")
    shop.solve(shop.agent("a", WORK), options=("--base", "main~1"))
    done = shop.gc("solve", "pick", "bug", "a")

    assert (done.returncode, done.stderr) == (
        2,
        b"error: main~1 is no branch\nhint: --into BRANCH names one\n",
    )


@pytest.mark.parametrize(
    ("number", "where"),
    [
        (signal.SIGINT, "checked out"),
        (signal.SIGTERM, "checked out"),
        (signal.SIGINT, "elsewhere"),
        (signal.SIGTERM, "elsewhere"),
        (signal.SIGKILL, "elsewhere"),
    ],
)
def test_a_pick_that_is_ended_changes_nothing_and_can_be_done_again(
    shop: Workshop, number: signal.Signals, where: str
) -> None:
    shop.solve(shop.agent("a", WORK))
    shop.commit("meanwhile")
    if where == "elsewhere":
        shop.git("checkout", "-q", "-b", "side")
    before = shop.git("rev-parse", "main")
    merging = shop.folder / "merging"
    shop.hook("pre-merge-commit", f"echo $$ >{merging}; exec sleep 1000")
    with shop.popen("solve", "pick", "bug", "a") as process:
        eventually(lambda: merging.exists() and merging.read_text(), within=LIMIT)
        process.send_signal(number)
        process.communicate(timeout=LIMIT)
    hook = int(merging.read_text())
    shop.hook("pre-merge-commit", "true")
    assert shop.git("rev-parse", "main") == before
    assert shop.git("status", "--porcelain") == ""
    assert lives(hook) == (number == signal.SIGKILL)
    again = shop.gc("solve", "pick", "bug", "a")

    assert again.returncode == 0, again.stderr.decode()
    assert shop.git("show", "main:work.txt").endswith("/a")
    assert not list(shop.trees.rglob(".merge-*"))
    assert not lives(hook)


# --- things that take for ever


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_end_is_heard_while_a_worktree_is_made(shop: Workshop, number: int) -> None:
    shop.hook("post-checkout", f"touch {shop.folder}/hooked; sleep 1000")
    with shop.popen(*shop.words(shop.agent("a", READY))) as process:
        eventually((shop.folder / "hooked").exists, within=LIMIT)
        process.send_signal(number)
        process.communicate(timeout=LIMIT)

    assert process.returncode == (130 if number == signal.SIGINT else 143)
    assert shop.living() == []


def test_what_a_hook_leaves_running_is_not_waited_for(shop: Workshop) -> None:
    shop.hook("post-checkout", f"sleep 1000 & echo $! >{shop.folder}/pid")
    code, _ = shop.solve(shop.agent("a", READY))
    pid = int((shop.folder / "pid").read_text())
    os.kill(pid, signal.SIGKILL)

    assert code == 0


# --- odd places


def test_a_repository_whose_git_folder_is_elsewhere(shop: Workshop) -> None:
    apart = shop.folder / "apart"
    shop.git(
        "clone", "-q", "--separate-git-dir", str(shop.folder / "g"), str(shop.origin), str(apart)
    )
    code, document = shop.solve(shop.agent("a", WORK), options=("--repo", str(apart)))
    done = shop.gc("solve", "pick", "bug", "a")

    assert (code, document["repo"]) == (0, str(apart))
    assert done.returncode == 0, done.stderr.decode()
    assert (apart / "work.txt").exists()


def test_a_line_end_in_a_path_leads_nobody_astray(shop: Workshop) -> None:
    odd = shop.folder / "work\nx"
    shop.git("clone", "-q", str(shop.origin), str(odd))
    done = shop.gc(*shop.words(shop.agent("a", READY), options=("--repo", str(odd))))

    assert done.returncode == 2
    assert b"has a line end in it" in done.stderr
    assert shop.git("branch", "--list", "gc/*") == ""


def test_runs_that_an_agent_begins_are_in_the_same_history(shop: Workshop) -> None:
    shop.city('[workspace]\nname = "town"\n')
    shop.commit("a city")
    code, document = shop.solve(
        shop.agent("a", f"gc run -- echo inner; {READY}"), options=("--base", "main")
    )

    assert code == 0
    assert not (Path(document["agents"][0]["worktree"]) / ".gc").exists()
    assert len(shop.folders()) == 2


def test_a_title_of_any_bytes_is_no_trouble(shop: Workshop) -> None:
    (shop.folder / "bug.md").write_bytes("Ünder the ☃\nx".encode("utf-16"))
    code, document = shop.solve(shop.agent("a", READY))

    assert code == 0
    assert document["title"].isprintable()


def test_a_secret_that_is_withheld_is_not_written_down_either(shop: Workshop) -> None:
    env = {"ANTHROPIC_API_KEY": "sk-ant-hunter2-hunter2"}
    shop.solve(f"a={shop.agent('a', READY)} --key sk-ant-hunter2-hunter2", env=env)

    for path in shop.home.rglob("*"):
        assert not path.is_file() or b"hunter2-hunter2" not in path.read_bytes(), path


def test_a_record_that_cannot_be_written_ends_nobody(shop: Workshop) -> None:
    """The folder of the attempt goes while two agents work."""
    wait = f"while [ ! -e {shop.folder}/go ]; do sleep 0.05; done"
    agents = [shop.agent("a", f"{wait}; {READY}"), shop.agent("b", f"{wait}; sleep 0.5; {READY}")]
    with shop.popen(*shop.words(*agents)) as process:
        eventually(lambda: shop.states() == {"a": "running", "b": "running"}, within=LIMIT)
        shutil.move(shop.home / "solves", shop.folder / "away")
        (shop.folder / "go").touch()
        process.communicate(timeout=LIMIT)
    shutil.move(shop.folder / "away", shop.home / "solves")

    assert process.returncode == 0
    assert shop.states() == {"a": "ready", "b": "ready"}
