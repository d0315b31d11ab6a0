"""`gc solve` killed with -9 at any instant: the truth is told, nobody lives on, all work stays."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import time
from pathlib import Path

import pytest
from tests.cli.solve.workshop import READY, Workshop

from gascity.testing.eventually import eventually

ROUNDS, KILLS = 10, 5  # fifty in all
LIMIT = 60.0
# Commits and tells of it in a file of its own, outside of everything that gc has.
WORKER = """\
say() { git rev-parse HEAD >>"$LEDGER"; }
for step in 1 2 3; do
  echo "$step" >step.txt; git add .; git commit -qm "step $step"; say; sleep 0.05
done
echo loose >loose.txt
"""


@pytest.mark.parametrize("seed", range(ROUNDS))
def test_a_kill_at_any_instant_loses_nothing_and_leaves_nobody(shop: Workshop, seed: int) -> None:
    chance = random.Random(seed)
    before = shop.seen()
    longest = _time_of_one(shop)
    for number in range(KILLS):
        ledger = shop.folder / f"ledger-{number}"
        agents = _agents(shop, ledger)
        with shop.popen(*shop.words(*agents), out=None, err=None) as process:
            time.sleep(chance.uniform(0.0, longest))  # the instant is what this is about
            process.kill()
        _is_true(shop, ledger)
    shop.gc("solve", "clean")
    kept = _commits(shop)
    assert kept >= {commit for path in shop.folder.glob("ledger-*") for commit in _said(path)}
    forced = shop.gc("solve", "clean", "--all", "--force")

    assert forced.returncode == 0, forced.stderr.decode()
    assert shop.litter() == []
    assert shop.seen() == before
    assert shop.marks() == []


def test_a_clean_after_a_kill_asks_for_no_force_where_nothing_was_done(shop: Workshop) -> None:
    with shop.popen(*shop.words(shop.agent("a", "exec sleep 1000"))) as process:
        eventually(lambda: shop.states() == {"a": "running"}, within=LIMIT)
        process.kill()
        process.communicate()
    (one,) = shop.status()["agents"]
    done = shop.gc("solve", "clean", "bug")

    assert (one["state"], one["over"]) == ("failed", True)
    assert one["why"] == "its runner was killed, or could not write down how it ended"
    assert done.returncode == 0, done.stderr.decode()
    assert shop.litter() == []


def test_a_git_that_outlives_its_solver_is_ended_before_anybody_cleans(shop: Workshop) -> None:
    """It makes the worktree of an agent: its hook takes for ever."""
    shop.hook("post-checkout", f"touch {shop.folder}/hooked; exec sleep 1000")
    with shop.popen(*shop.words(shop.agent("a", READY))) as process:
        eventually((shop.folder / "hooked").exists, within=LIMIT)
        process.kill()
        process.communicate()
    assert shop.living()
    done = shop.gc("solve", "clean", "bug")

    assert done.returncode == 0, done.stderr.decode()
    assert shop.living() == []
    assert shop.litter() == []


def test_who_was_ready_before_the_kill_is_ready_after_it(shop: Workshop) -> None:
    with shop.popen(*shop.words(shop.agent("a", f"{READY}; exec sleep 1000"))) as process:
        eventually(lambda: shop.states() == {"a": "ready"}, within=LIMIT)
        process.kill()
        process.communicate()

    assert shop.states() == {"a": "ready"}
    assert shop.gc("solve", "pick", "bug", "a").returncode == 0


def _time_of_one(shop: Workshop) -> float:
    """Return how long an attempt takes here, which depends on the machine."""
    began = time.monotonic()
    shop.solve(*_agents(shop, shop.folder / "ledger-first"))
    return time.monotonic() - began


def _agents(shop: Workshop, ledger: Path) -> list[str]:
    return [shop.agent(name, f'LEDGER="{ledger}"\n{WORKER}\n{READY}; say') for name in ("a", "b")]


def _is_true(shop: Workshop, ledger: Path) -> None:
    """See that what is told of the last attempt is so, with eyes that do not use gc."""
    done = shop.gc("solve", "status", "--json", "--all")
    assert done.returncode == 0, done.stderr.decode()
    assert shop.living() == []
    if b'"attempt"' not in done.stdout:
        return  # it was killed before anything was written down
    for one in shop.status()["agents"]:
        assert one["over"]
        assert one["state"] in ("ready", "failed")
        there = Path(one["worktree"]).is_dir()
        assert one["worktree_exists"] == there
        ready = there and "cocode ready" in shop.git("log", "--format=%B", one["branch"])
        assert (one["state"] == "ready") == ready, one
    for commit in _said(ledger):
        assert shop.git("branch", "--contains", commit), commit


def _said(ledger: Path) -> set[str]:
    with contextlib.suppress(FileNotFoundError):
        return set(ledger.read_text().split())
    return set()


def _commits(shop: Workshop) -> set[str]:
    """Return the commits of agents that some branch has."""
    return set(shop.git("rev-list", "--branches=gc/*", "--not", "main").split())


def test_two_who_come_after_a_kill_agree(shop: Workshop) -> None:
    with shop.popen(*shop.words(shop.agent("a", "exec sleep 1000"))) as process:
        eventually(lambda: shop.states() == {"a": "running"}, within=LIMIT)
        process.send_signal(signal.SIGKILL)
        process.communicate()
    many = [shop.popen("solve", "status", "bug", "--json") for _ in range(6)]
    said = {one.communicate(timeout=LIMIT)[0] for one in many}

    assert {one.returncode for one in many} == {0}
    assert len({line for text in said for line in text.split(b"\n") if b'"state"' in line}) == 1
    assert os.path.exists(shop.home / "city.db")


def test_nobody_claims_to_know_how_long_a_killed_one_worked(shop: Workshop) -> None:
    with shop.popen(*shop.words(shop.agent("a", "exec sleep 1000"))) as process:
        eventually(lambda: shop.states() == {"a": "running"}, within=LIMIT)
        process.kill()
        process.communicate()
    (one,) = shop.status()["agents"]

    assert (one["over"], one["seconds"]) == (True, None)
