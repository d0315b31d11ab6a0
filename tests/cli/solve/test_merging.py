"""A pick, and the person's own checkout: it sees one step forward, or nothing at all."""

from __future__ import annotations

import signal
import subprocess
from pathlib import Path

import pytest
from tests.cli.solve.workshop import READY, Workshop

from gascity.testing.eventually import eventually

LIMIT = 60.0
FIX = f'echo fixed >main.py; git commit -qam "fix it"; {READY}'
MINE = "an hour of work\n"


class Gate:
    """A script that tells when it is reached, and goes on when it may; for hooks and filters."""

    def __init__(self, folder: Path) -> None:
        self.reached, self._open = folder / "reached", folder / "open"
        self.script = f'touch "{self.reached}"; while [ ! -e "{self._open}" ]; do sleep 0.01; done'

    def wait(self) -> None:
        eventually(self.reached.exists, within=LIMIT)

    def open(self) -> None:
        self._open.touch()


@pytest.fixture
def gate(shop: Workshop) -> Gate:
    return Gate(shop.folder)


def diverge(shop: Workshop) -> None:
    """Have the person go on while the agents work: a merge has to be made."""
    (shop.work / "part-1" / "file-1.txt").write_text("mine\n")
    shop.commit("mine")


@pytest.mark.parametrize("how", ["committed", "staged"])
@pytest.mark.parametrize("end", [0, 1])
def test_what_the_person_does_meanwhile_is_kept(
    shop: Workshop, gate: Gate, how: str, end: int
) -> None:
    shop.solve(shop.agent("a", FIX))
    diverge(shop)
    shop.hook("pre-merge-commit", f"{gate.script}; exit {end}")
    with shop.popen("solve", "pick", "bug", "a") as process:
        gate.wait()
        (shop.work / "notes.txt").write_text(MINE)
        shop.git("add", "notes.txt")
        if how == "committed":
            shop.git("commit", "-q", "-m", "my notes")
        mine = shop.git("rev-parse", "HEAD")
        gate.open()
        _, err = process.communicate(timeout=LIMIT)

    assert (shop.work / "notes.txt").read_text() == MINE
    assert shop.git("merge-base", "HEAD", mine) == mine
    if end == 1 or how == "committed":
        assert process.returncode == 1
        assert b"nothing was changed" in err
        assert shop.git("rev-parse", "HEAD") == mine
    else:
        assert shop.git("show", "HEAD:main.py") == "fixed"
        assert shop.git("diff", "--cached", "--name-only") == "notes.txt"


@pytest.mark.parametrize("conflict", [True, False])
def test_a_file_of_the_person_that_git_ignores_is_never_replaced(
    shop: Workshop, conflict: bool
) -> None:
    (shop.work / ".gitignore").write_text(".env\n")
    shop.commit("ignore it")
    shop.git("push", "-q", "origin", "main")
    shop.solve(shop.agent("a", f"echo theirs >.env; git add -f .env; {FIX}"))
    (shop.work / ".env").write_text(MINE)
    if conflict:
        (shop.work / "main.py").write_text("otherwise\n")
        shop.commit("mine")
    done = shop.gc("solve", "pick", "bug", "a")

    assert done.returncode == 1
    assert b"nothing was changed" in done.stderr
    assert (shop.work / ".env").read_text() == MINE
    assert shop.git("status", "--porcelain") == ""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_who_is_interrupted_leaves_no_half_of_a_merge(
    shop: Workshop, gate: Gate, number: signal.Signals
) -> None:
    """It comes while git writes the files of the person's checkout, which a filter makes slow."""
    (shop.work / ".gitattributes").write_text("*.slow filter=slow\n")
    shop.commit("filtered")
    shop.git("push", "-q", "origin", "main")
    shop.solve(shop.agent("a", f"echo 1 >1.slow; echo 2 >2.slow; git add .; {FIX}"))
    shop.git(
        "config", "filter.slow.smudge", f'[ "$PWD" != "{shop.work}" ] || {{ {gate.script}; }}; cat'
    )
    with shop.popen("solve", "pick", "bug", "a") as process:
        gate.wait()
        process.send_signal(number)
        gate.open()
        out, _ = process.communicate(timeout=LIMIT)
    shop.git("config", "--unset", "filter.slow.smudge")

    assert (process.returncode, out) == (128 + number, b"a: merged into main\n")
    assert shop.status()["picked"] == "a"
    assert shop.git("status", "--porcelain") == ""
    assert (shop.work / "main.py").read_text() == "fixed\n"
    assert b"is in main already" in shop.gc("solve", "pick", "bug", "a").stdout


@pytest.mark.parametrize("then", ["clean", "pick"])
def test_who_is_killed_in_a_merge_leaves_the_checkout_as_it_was(
    shop: Workshop, gate: Gate, then: str
) -> None:
    shop.solve(shop.agent("a", FIX))
    diverge(shop)
    before = shop.seen(), shop.git("rev-parse", "main")
    shop.hook("pre-merge-commit", gate.script)
    with shop.popen("solve", "pick", "bug", "a") as process:
        gate.wait()
        process.kill()
        process.communicate()
    after = shop.seen(), shop.git("rev-parse", "main")
    (shop.work / ".git" / "hooks" / "pre-merge-commit").unlink()
    words = ("clean", "bug", "--force") if then == "clean" else ("pick", "bug", "a")
    done = shop.gc("solve", *words)

    assert after == before
    assert not (shop.work / ".git" / "MERGE_HEAD").exists()
    assert done.returncode == 0, done.stderr.decode()
    assert shop.living() == []
    if then == "pick":
        assert (shop.work / "main.py").read_text() == "fixed\n"
        shop.gc("solve", "clean", "bug")
    assert shop.litter() == []


def test_a_branch_that_is_being_rebased_is_left_alone(shop: Workshop) -> None:
    shop.solve(shop.agent("a", FIX))
    shop.git("checkout", "-q", "-b", "other")
    diverge(shop)
    shop.git("checkout", "-q", "main")
    (shop.work / "part-1" / "file-1.txt").write_text("otherwise\n")
    shop.commit("in the way")
    rebase = ["git", "rebase", "-q", "other"]
    subprocess.run(rebase, cwd=shop.work, env=shop.env(), capture_output=True, check=False)
    before = shop.git("rev-parse", "main")
    done = shop.gc("solve", "pick", "bug", "a")

    assert done.returncode == 1
    assert b"error: main is being rebased or bisected in " in done.stderr
    assert shop.git("rev-parse", "main") == before


def test_a_branch_that_is_checked_out_where_nobody_can_look_is_left_alone(shop: Workshop) -> None:
    shop.solve(shop.agent("a", FIX))
    stick = shop.folder / "stick"
    shop.git("worktree", "add", "-q", "-b", "release", str(stick))
    stick.rename(shop.folder / "away")
    before = shop.git("rev-parse", "release")
    done = shop.gc("solve", "pick", "bug", "a", "--into", "release")

    assert done.returncode == 1
    assert f"error: release is checked out in {stick}, which is not there\n".encode() in done.stderr
    assert shop.git("rev-parse", "release") == before


def test_how_a_person_merges_into_a_branch_is_how_it_is_done(shop: Workshop) -> None:
    shop.solve(shop.agent("a", FIX))
    shop.git("config", "branch.main.mergeOptions", "--no-ff")
    done = shop.gc("solve", "pick", "bug", "a")

    assert done.returncode == 0, done.stderr.decode()
    assert len(shop.git("log", "-1", "--format=%P", "main").split()) == 2


def test_what_was_taken_is_told_also_where_that_cannot_be_written_down(shop: Workshop) -> None:
    shop.solve(shop.agent("a", FIX))
    (lock,) = shop.home.glob("solves/*/bug/1/.solve.lock")
    lock.unlink()
    lock.mkdir()
    done = shop.gc("solve", "pick", "bug", "a")

    assert (done.returncode, done.stdout) == (0, b"a: merged into main\n")
    assert b"warning: that cannot be written down: " in done.stderr


@pytest.mark.parametrize("name", ["a b", "-x", "a..b", "a\x1b"])
def test_what_is_no_name_for_a_branch_is_told(shop: Workshop, name: str) -> None:
    shop.solve(shop.agent("a", FIX))
    done = shop.gc("solve", "pick", "bug", "a", "--push", f"--as={name}")

    assert done.returncode == 2
    assert b"is no name for a branch" in done.stderr


def test_a_branch_that_is_checked_out_meanwhile_is_not_moved_below_it(
    shop: Workshop, gate: Gate
) -> None:
    shop.solve(shop.agent("a", FIX))
    shop.git("branch", "release")
    shop.hook("pre-merge-commit", gate.script)
    shop.git("config", "branch.release.mergeOptions", "--no-ff")
    with shop.popen("solve", "pick", "bug", "a", "--into", "release") as process:
        gate.wait()
        shop.git("checkout", "-q", "release")
        gate.open()
        _, err = process.communicate(timeout=LIMIT)

    assert process.returncode == 1
    assert b"release was checked out or left meanwhile; nothing was changed" in err
    assert shop.git("status", "--porcelain") == ""


def test_a_branch_that_is_checked_out_twice_is_left_alone(shop: Workshop) -> None:
    shop.solve(shop.agent("a", FIX))
    shop.git("worktree", "add", "-q", "--force", str(shop.folder / "twin"), "main")
    before = shop.git("rev-parse", "main")
    done = shop.gc("solve", "pick", "bug", "a")

    assert done.returncode == 1
    assert b"error: main is checked out in " in done.stderr
    assert shop.git("rev-parse", "main") == before


def test_a_branch_with_two_names_is_known_where_it_is_checked_out(shop: Workshop) -> None:
    shop.solve(shop.agent("a", FIX))
    shop.git("branch", "-m", "main", "master")
    shop.git("symbolic-ref", "refs/heads/main", "refs/heads/master")
    shop.git("symbolic-ref", "HEAD", "refs/heads/main")
    done = shop.gc("solve", "pick", "bug", "a")

    assert done.returncode == 0, done.stderr.decode()
    assert (shop.work / "main.py").read_text() == "fixed\n"
    assert shop.git("status", "--porcelain") == ""


def test_a_step_that_git_breaks_off_is_not_told_as_nothing(shop: Workshop) -> None:
    shop.solve(shop.agent("a", FIX))
    (shop.work / ".git" / "refs" / "heads" / "main.lock").touch()
    done = shop.gc("solve", "pick", "bug", "a")

    assert done.returncode == 1
    assert b"nothing was changed" not in done.stderr
    assert f"hint: `git -C {shop.work} status` shows which\n".encode() in done.stderr


@pytest.mark.parametrize("options", ["'half a quote", "--no-such-option"])
def test_options_of_a_branch_that_make_no_sense_are_told(shop: Workshop, options: str) -> None:
    shop.solve(shop.agent("a", FIX))
    shop.git("config", "branch.main.mergeOptions", options)
    done = shop.gc("solve", "pick", "bug", "a")

    assert done.returncode == 1
    assert done.stderr.startswith(b"error: ")
    assert shop.git("status", "--porcelain") == ""


def test_a_result_is_not_asked_for_a_signature_that_no_merge_has(shop: Workshop) -> None:
    shop.solve(shop.agent("a", FIX))
    diverge(shop)
    shop.git("config", "branch.main.mergeOptions", "--no-verify-signatures")
    shop.git("config", "merge.verifySignatures", "true")
    done = shop.gc("solve", "pick", "bug", "a")

    assert done.returncode == 0, done.stderr.decode()
