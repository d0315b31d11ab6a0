"""Git works for an agent as it does for the person whose agent it is."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from tests.cli.solve.workshop import READY, Workshop

WORK = f'echo fixed >main.py; git commit -qam "fix it"; {READY}'


def test_an_agent_commits_with_the_identity_of_the_person(shop: Workshop) -> None:
    _, document = shop.solve(shop.agent("a", WORK))
    (one,) = document["agents"]

    assert shop.git("log", "-1", "--format=%an <%ae> %cn", one["branch"]) == (
        "Ada Person <ada@example.com> Ada Person"
    )


def test_the_identity_may_stand_in_the_repository_or_in_variables(shop: Workshop) -> None:
    shop.git("config", "user.name", "Of This Repository")
    env = {"GIT_AUTHOR_NAME": "Of The Shell"}
    _, document = shop.solve(shop.agent("a", WORK), env=env)

    branch = document["agents"][0]["branch"]
    assert shop.git("log", "-1", "--format=%an, %cn", branch) == "Of The Shell, Of This Repository"


def test_the_hooks_of_the_repository_run(shop: Workshop) -> None:
    hooks = shop.folder / "hooks"
    hooks.mkdir()
    for name in ("pre-commit", "commit-msg"):
        path = hooks / name
        path.write_text(f'#!/bin/sh\necho "{name}" >>"{shop.folder}/hooked"\n')
        path.chmod(0o755)
    shop.set("core.hooksPath", str(hooks))
    code, _ = shop.solve(shop.agent("a", WORK))

    assert code == 0
    assert (shop.folder / "hooked").read_text().split() == ["pre-commit", "commit-msg"] * 2


def test_a_hook_that_refuses_is_heeded(shop: Workshop) -> None:
    shop.hook("pre-commit", "echo not so fast >&2; exit 1")
    code, document = shop.solve(shop.agent("a", WORK))

    assert (code, document["agents"][0]["progress"]["commits"]) == (1, 0)
    assert document["agents"][0]["why"] == "agent exited with code 1: not so fast"


def test_a_hook_that_fails_after_the_checkout_is_told_and_no_failure(shop: Workshop) -> None:
    shop.hook("post-checkout", "echo what a mess >&2; exit 7")
    done = shop.gc(*shop.words(shop.agent("a", WORK)))

    assert done.returncode == 0
    assert b"warning: a: a hook of the repository failed after the checkout" in done.stderr


@pytest.mark.skipif(shutil.which("ssh-keygen") is None, reason="there is no ssh-keygen here")
def test_commits_are_signed_as_the_person_signs(shop: Workshop) -> None:
    key = shop.folder / "key"
    subprocess.run(
        ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "ada@example.com", "-f", str(key)],
        check=True,
    )
    (shop.folder / "signers").write_text(f"ada@example.com {key.with_suffix('.pub').read_text()}")
    for name, value in {
        "gpg.format": "ssh",
        "user.signingKey": str(key),
        "commit.gpgSign": "true",
        "gpg.ssh.allowedSignersFile": str(shop.folder / "signers"),
        "log.showSignature": "true",  # what it prints is no message
    }.items():
        shop.set(name, value)
    code, document = shop.solve(shop.agent("a", WORK))
    branch = document["agents"][0]["branch"]

    assert code == 0
    assert shop.git("log", "-1", "--format=%G?", branch).splitlines()[-1] == "G"


def test_variables_that_lead_elsewhere_lead_nobody_there(shop: Workshop) -> None:
    """As in a hook, where git says which repository and index it is at work on."""
    other = shop.folder / "other"
    other.mkdir()
    shop.git("init", "-q", cwd=other)
    shop.commit("elsewhere", cwd=other)
    before, elsewhere = shop.seen(), shop.git("rev-parse", "HEAD", cwd=other)
    env = {
        "GIT_DIR": str(other / ".git"),
        "GIT_WORK_TREE": str(other),
        "GIT_INDEX_FILE": str(other / ".git" / "index"),
        "GIT_PREFIX": "x/",
    }
    code, document = shop.solve(shop.agent("a", WORK), env=env)

    assert (code, document["repo"]) == (0, str(shop.work))
    assert shop.git("rev-parse", "HEAD", cwd=other) == elsewhere
    assert shop.seen() == before


def test_settings_of_the_person_do_not_change_what_is_understood(shop: Workshop) -> None:
    settings = {
        "color.ui": "always",
        "core.quotePath": "true",
        "diff.external": "false",
        "diff.noprefix": "true",
        "diff.renames": "copies",
        "format.pretty": "oneline",
        "i18n.logOutputEncoding": "ISO-8859-1",
        "log.decorate": "full",
        "merge.log": "true",
        "status.showUntrackedFiles": "no",
        "status.short": "true",
    }
    for name, value in settings.items():
        shop.set(name, value)
    script = 'mkdir "a b"; echo x >"a b/ünïcode.txt"; git add .; git mv main.py renamed.py'
    code, document = shop.solve(shop.agent("a", f"{script}; git commit -qm ☃; {READY}"))
    (one,) = document["agents"]
    compared = shop.gc("solve", "compare", "bug").stdout.decode()

    assert code == 0
    assert (one["progress"]["commits"], one["progress"]["files"]) == (2, 3)
    assert "a b/ünïcode.txt" in compared
    assert "☃" in compared


def test_the_person_may_be_in_a_subfolder_or_in_another_worktree(
    shop: Workshop, tmp_path: Path
) -> None:
    linked = tmp_path / "linked"
    shop.git("worktree", "add", "-q", "-b", "side", str(linked))
    for number, folder in enumerate((shop.work / "part-1", linked)):
        agent = shop.agent(f"a{number}", READY)
        code, document = shop.solve(agent, options=("--repo", str(folder)))
        assert (code, document["repo"]) == (0, str(shop.work))
    assert shop.git("status", "--porcelain", cwd=linked) == ""


def test_a_bare_repository_will_do(shop: Workshop) -> None:
    code, document = shop.solve(shop.agent("a", READY), options=("--repo", str(shop.origin)))

    assert (code, document["base"]["name"]) == (0, "main")
    assert shop.git("branch", "--list", "gc/*", cwd=shop.origin)


def test_a_repository_without_a_remote_has_a_default_branch(shop: Workshop) -> None:
    shop.git("remote", "remove", "origin")
    shop.git("checkout", "-q", "-b", "feature")
    shop.commit("on a branch")
    _, usual = shop.solve(shop.agent("a", READY))
    _, named = shop.solve(shop.agent("a", READY), options=("--base", "feature"))

    assert (usual["base"]["name"], named["base"]["name"]) == ("main", "feature")


@pytest.mark.parametrize("age", ["new", "old"])
def test_the_hook_for_a_new_worktree_runs_with_any_git(shop: Workshop, age: str) -> None:
    """An older git has no `git hook`."""
    shop.hook("post-checkout", f'echo "$PWD" "$@" >>"{shop.folder}/hooked"')
    older = shop.folder / "older"
    older.mkdir()
    reject = 'for word; do [ "$word" != hook ] || { echo "git: \'hook\' is not a git command" >&2'
    (older / "git").write_text(
        f'#!/bin/sh\n{reject}; exit 1; }}; done; exec {shutil.which("git")} "$@"\n'
    )
    (older / "git").chmod(0o755)
    env = {"PATH": f"{older}:{shop.env()['PATH']}"} if age == "old" else {}
    code, document = shop.solve(shop.agent("a", WORK), env=env)
    base = document["base"]["commit"]

    assert code == 0
    assert (shop.folder / "hooked").read_text().split() == [
        document["agents"][0]["worktree"],
        "0" * 40,
        base,
        "1",
    ]
