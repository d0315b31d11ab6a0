"""Taking the branch of one agent: merged, pushed, or made a pull request; or refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.cli.solve.workshop import READY, Workshop

FIX = f'echo fixed >main.py; git commit -qam "fix it"; {READY}'
GH = """\
printf '%s\\0' "$PWD" "$@" >>"$GH_ASKED"
case "$1" in
  issue) cat "$GH_ISSUE" ;;
  pr) git ls-remote --heads origin >"$GH_ASKED.heads"; echo Creating
      echo https://github.com/o/r/pull/7 ;;
esac"""


def test_a_pick_merges_where_the_branch_is_checked_out(shop: Workshop) -> None:
    shop.solve(shop.agent("a", FIX), shop.agent("b", "true"))
    done = shop.gc("solve", "pick", "bug", "a")

    assert (done.returncode, done.stdout) == (0, b"a: merged into main\n")
    assert (shop.work / "main.py").read_text() == "fixed\n"
    assert shop.git("status", "--porcelain") == ""
    (one, _) = shop.status()["agents"]
    assert (one["state"], one["progress"]["commits"]) == ("ready", 2)
    assert b"picked: merged into main" in shop.gc("solve", "status").stdout


def test_a_pick_merges_into_a_branch_that_nobody_has_checked_out(shop: Workshop) -> None:
    shop.solve(shop.agent("a", FIX))
    shop.git("checkout", "-q", "-b", "elsewhere")
    shop.commit("something else")
    before = shop.seen()[0], shop.git("rev-parse", "HEAD")
    done = shop.gc("solve", "pick", "bug", "a", "--json")

    assert done.returncode == 0, done.stderr.decode()
    assert json.loads(done.stdout)["commit"] == shop.git("rev-parse", "main")
    assert shop.git("show", "main:main.py") == "fixed"
    assert (shop.seen()[0], shop.git("rev-parse", "HEAD")) == before
    assert len(shop.git("worktree", "list").splitlines()) == 2


@pytest.mark.parametrize("where", ["checked out", "elsewhere"])
def test_a_conflict_changes_nothing(shop: Workshop, where: str) -> None:
    shop.solve(shop.agent("a", FIX))
    (shop.work / "main.py").write_text("fixed otherwise\n")
    shop.commit("meanwhile")
    if where == "elsewhere":
        shop.git("checkout", "-q", "--detach")
    before = shop.seen(), shop.git("rev-parse", "main")
    done = shop.gc("solve", "pick", "bug", "a")

    assert done.returncode == 1
    said = done.stderr.decode().splitlines()
    assert said[0] == "error: a cannot be merged: conflicts in main.py; nothing was changed"
    assert (shop.seen()[0], shop.git("rev-parse", "main")) == (before[0][0], before[1])
    assert not (shop.work / ".git" / "MERGE_HEAD").exists()
    assert len(shop.git("worktree", "list").splitlines()) == 2


def test_uncommitted_changes_of_the_person_are_not_merged_into(shop: Workshop) -> None:
    shop.solve(shop.agent("a", FIX))
    (shop.work / "part-1" / "file-1.txt").write_text("mine\n")
    done = shop.gc("solve", "pick", "bug", "a")

    assert done.returncode == 1
    assert b"changes that are not committed" in done.stderr
    assert (shop.work / "main.py").read_text() == 'print("hello")\n'


def test_who_is_not_ready_is_refused_unless_that_is_wanted(shop: Workshop) -> None:
    shop.solve(shop.agent("a", "echo half >main.py; git commit -qam half; exit 1"))
    refused = shop.gc("solve", "pick", "bug", "a")
    taken = shop.gc("solve", "pick", "bug", "a", "--force")

    assert refused.returncode == 1
    assert refused.stderr.decode() == (
        "error: a is not ready: agent exited with code 1: exit status 1\n"
        "hint: --force takes it all the same\n"
    )
    assert taken.returncode == 0
    assert (shop.work / "main.py").read_text() == "half\n"


def test_nothing_can_be_taken_of_who_did_nothing(shop: Workshop) -> None:
    shop.solve(shop.agent("a", "true"))
    done = shop.gc("solve", "pick", "bug", "a", "--force")

    assert (done.returncode, done.stderr) == (1, b"error: a has committed nothing\n")


def test_what_is_not_committed_is_told_and_kept(shop: Workshop) -> None:
    _, document = shop.solve(shop.agent("a", f"{FIX}; echo loose >loose.txt"))
    done = shop.gc("solve", "pick", "bug", "a")

    assert done.returncode == 0
    assert b"warning: a has not committed 1 file: not taken, and kept in " in done.stderr
    assert (Path(document["agents"][0]["worktree"]) / "loose.txt").exists()


def test_a_branch_is_pushed_by_its_name_or_another(shop: Workshop) -> None:
    shop.solve(shop.agent("a", FIX))
    done = [shop.gc("solve", "pick", "bug", "a", "--push", *more) for more in ((), ("--as", "fix"))]

    assert [one.stdout.decode() for one in done] == [
        "a: pushed to origin as gc/bug/a-1\n",
        "a: pushed to origin as fix\n",
    ]
    for name in ("gc/bug/a-1", "fix"):
        assert shop.git("show", f"{name}:main.py", cwd=shop.origin) == "fixed"
    assert shop.git("show", "main:main.py") != "fixed"


def test_a_pull_request_is_opened_after_the_push(shop: Workshop) -> None:
    path, env = _gh(shop)
    done = shop.gc("solve", "12", "--agent", shop.agent("a", FIX), env=env)
    assert done.returncode == 0, done.stderr.decode()
    opened = shop.gc("solve", "pick", "12", "a", "--pr", env=env)
    calls = [line for line in path.read_text().split(f"{shop.work}\0") if line]
    words = calls[-1].rstrip("\0").split("\0")

    assert opened.returncode == 0, opened.stderr.decode()
    assert opened.stdout.decode() == (
        "a: pushed to origin as gc/12/a-1; https://github.com/o/r/pull/7\n"
    )
    assert words[:6] == ["pr", "create", "--head", "gc/12/a-1", "--base", "main"]
    assert words[6:8] == ["--title", "It crashes"]
    assert words[9].startswith("Closes #12.")
    assert "refs/heads/gc/12/a-1" in Path(f"{path}.heads").read_text()


def test_no_pull_request_is_opened_for_who_is_not_ready(shop: Workshop) -> None:
    path, env = _gh(shop)
    shop.gc("solve", "12", "--agent", shop.agent("a", "git commit -q --allow-empty -m x"), env=env)
    asked = path.read_bytes()
    done = shop.gc("solve", "pick", "12", "a", "--pr", env=env)

    assert done.returncode == 1
    assert b"error: a is not ready" in done.stderr
    assert path.read_bytes() == asked
    assert shop.git("branch", "--list", "gc/*", cwd=shop.origin) == ""


def test_without_gh_nothing_is_pushed_for_a_pull_request(shop: Workshop) -> None:
    shop.solve(shop.agent("a", FIX))
    done = shop.gc("solve", "pick", "bug", "a", "--pr", env=shop.without_gh())

    assert done.returncode == 3
    assert done.stderr == b"error: gh is not installed\nhint: --push pushes the branch\n"
    assert shop.git("branch", "--list", "gc/*", cwd=shop.origin) == ""


def test_an_issue_comes_from_github_by_number_or_address(shop: Workshop) -> None:
    path, env = _gh(shop)
    told = f'"{shop.folder}/told"'
    dump = f'echo "$COCODE_ISSUE_NUMBER $COCODE_ISSUE_URL" >>{told}\n'
    dump += f'cat "$COCODE_ISSUE_BODY_FILE" >>{told}; {READY}'
    for word in ("12", "#12", "https://github.com/o/r/issues/12"):
        done = shop.gc("solve", word, "--agent", shop.agent("a", dump), env=env)
        assert done.returncode == 0, done.stderr.decode()

    assert (shop.folder / "told").read_text() == "12 https://github.com/o/r/issues/12\nWhen ☃\n" * 3
    asked = path.read_text().split("\0")
    assert [asked[3], asked[9], asked[15]] == ["12", "12", "https://github.com/o/r/issues/12"]
    assert shop.status("12")["attempt"] == 3


@pytest.mark.parametrize(
    ("script", "told"),
    [
        ("echo 'no such issue' >&2; exit 1", "gh issue view failed: no such issue"),
        ("echo '{}'", "gh did not tell of issue 12 what was asked"),
        ("echo 'not JSON'", "gh did not tell of issue 12 what was asked"),
    ],
)
def test_a_gh_that_fails_is_told_in_a_sentence(shop: Workshop, script: str, told: str) -> None:
    _, env = _gh(shop, script)
    done = shop.gc("solve", "12", "--agent", "true", env=env)

    assert (done.returncode, done.stderr.decode()) == (1, f"error: {told}\n")
    assert shop.litter() == []


def test_without_gh_an_issue_by_number_is_an_error_with_a_way_out(shop: Workshop) -> None:
    done = shop.gc("solve", "12", "--agent", "env", env=shop.without_gh())

    assert done.returncode == 3
    assert done.stderr == b"error: gh is not installed\nhint: give the issue as a file\n"


def _gh(shop: Workshop, script: str = GH) -> tuple[Path, dict[str, str]]:
    """Put a `gh` on the path that writes down what it is asked."""
    bin_ = shop.folder / "bin"
    bin_.mkdir()
    (bin_ / "gh").write_text(f"#!/bin/sh\n{script}\n")
    (bin_ / "gh").chmod(0o755)
    issue = {
        "number": 12,
        "title": "It crashes",
        "body": "When ☃\n",
        "url": "https://github.com/o/r/issues/12",
    }
    (shop.folder / "issue.json").write_text(json.dumps(issue))
    asked = shop.folder / "asked"
    return asked, {
        "PATH": f"{bin_}:{shop.env()['PATH']}",
        "GH_ASKED": str(asked),
        "GH_ISSUE": str(shop.folder / "issue.json"),
    }
