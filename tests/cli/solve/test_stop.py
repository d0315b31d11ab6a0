"""`gc solve stop`: one agent at an issue, or all of them, also those who wait for their turn."""

from __future__ import annotations

import os
import signal

import pytest
from tests.cli.solve.workshop import READY, Workshop

from gascity.runs import locks
from gascity.testing.eventually import eventually

LIMIT = 60.0
FOREVER = "exec sleep 1000"


def test_one_agent_is_stopped_by_its_name_and_the_others_go_on(shop: Workshop) -> None:
    agents = [shop.agent(name, FOREVER) for name in ("a", "b")]
    with shop.popen(*shop.words(*agents)) as process:
        eventually(lambda: shop.states() == {"a": "running", "b": "running"}, within=LIMIT)
        one = shop.gc("solve", "stop", "bug", "a")
        between = shop.states()
        rest = shop.gc("solve", "stop", "bug")
        process.communicate(timeout=LIMIT)

    assert (one.returncode, one.stdout) == (0, b"stopped a\n"), one.stderr.decode()
    assert between == {"a": "failed", "b": "running"}
    assert (rest.returncode, rest.stdout) == (0, b"stopped b\n"), rest.stderr.decode()
    assert process.returncode == 143
    assert [each["why"] for each in shop.status()["agents"]] == ["stopped", "stopped"]
    assert shop.living() == []


def test_who_waits_for_its_turn_is_stopped_before_it_begins(shop: Workshop) -> None:
    agents = [shop.agent("a", FOREVER), shop.agent("b", FOREVER)]
    with shop.popen(*shop.words(*agents, options=("--parallel", "1"))) as process:
        eventually(lambda: "running" in shop.states().values(), within=LIMIT)
        (waiting,) = (name for name, state in shop.states().items() if state == "starting")
        done = shop.gc("solve", "stop", "bug", waiting)
        states = shop.states()
        shop.gc("solve", "stop", "bug")
        process.communicate(timeout=LIMIT)

    assert done.stdout == f"stopped {waiting}\n".encode(), done.stderr.decode()
    assert sorted(states.values()) == ["failed", "running"]
    found = {each["agent"]: each for each in shop.status()["agents"]}
    assert found[waiting]["why"] == "stopped before it began"
    assert found[waiting]["run"] == ""


def test_who_is_ready_stays_that_and_what_was_stopped_can_be_cleaned(shop: Workshop) -> None:
    with shop.popen(*shop.words(shop.agent("a", f"{READY}; {FOREVER}"))) as process:
        eventually(lambda: shop.states() == {"a": "ready"}, within=LIMIT)
        stopped = shop.gc("solve", "stop", "bug")
        picked = shop.gc("solve", "pick", "bug", "a")
        cleaned = shop.gc("solve", "clean", "bug")
        process.communicate(timeout=LIMIT)

    assert [one.returncode for one in (stopped, picked, cleaned)] == [0, 0, 0]
    assert process.returncode == 0
    assert shop.litter() == []


def test_a_solver_that_somebody_paused_hears_it(shop: Workshop) -> None:
    with shop.popen(*shop.words(shop.agent("a", FOREVER))) as process:
        eventually(lambda: shop.states() == {"a": "running"}, within=LIMIT)
        process.send_signal(signal.SIGSTOP)
        done = shop.gc("solve", "stop", "bug")
        process.communicate(timeout=LIMIT)

    assert done.returncode == 0, done.stderr.decode()
    assert process.returncode == 143


@pytest.mark.parametrize(("agents", "who"), [((), "nobody works"), (("a",), "a does not work")])
def test_what_is_over_cannot_be_stopped(shop: Workshop, agents: tuple[str, ...], who: str) -> None:
    shop.solve(shop.agent("a", READY))
    done = shop.gc("solve", "stop", "bug", *agents)

    assert done.returncode == 5
    assert done.stderr.decode() == f"error: {who} on issue bug, attempt 1\n"


def test_who_stops_one_that_was_killed_is_told_that_nobody_works(shop: Workshop) -> None:
    with shop.popen(*shop.words(shop.agent("a", FOREVER))) as process:
        eventually(lambda: shop.states() == {"a": "running"}, within=LIMIT)
        process.kill()
        process.communicate()
    done = shop.gc("solve", "stop", "bug")

    assert done.returncode == 5, done.stderr.decode()
    assert shop.living() == []


@pytest.mark.parametrize("words", [("nothing",), ("bug", "nobody"), ("bug", "--attempt", "7")])
def test_what_there_is_not_cannot_be_stopped(shop: Workshop, words: tuple[str, ...]) -> None:
    shop.solve(shop.agent("a", READY))
    done = shop.gc("solve", "stop", *words)

    assert done.returncode == 4
    assert done.stderr.startswith(b"error: ")


def test_who_does_not_read_what_is_printed_keeps_nobody_from_stopping(shop: Workshop) -> None:
    script = f"yes a very long line of words | head -n 100000; {FOREVER}"
    with shop.popen(*shop.words(shop.agent("a", script))) as process:
        eventually(lambda: shop.states() == {"a": "running"}, within=LIMIT)
        done = shop.gc("solve", "stop", "bug")
        left = shop.living()
        process.communicate(timeout=LIMIT)

    assert (done.returncode, done.stdout) == (0, b"stopped a\n"), done.stderr.decode()
    assert left == []


def test_who_waits_for_a_worktree_is_stopped_before_it_begins(shop: Workshop) -> None:
    descriptor = os.open(shop.work / ".git", os.O_RDONLY)
    try:
        assert locks.lock(descriptor)
        with shop.popen(*shop.words(shop.agent("a", READY))) as process:
            eventually(lambda: shop.states() == {"a": "starting"}, within=LIMIT)
            done = shop.gc("solve", "stop", "bug")
            process.communicate(timeout=LIMIT)
    finally:
        os.close(descriptor)

    assert done.returncode == 0, done.stderr.decode()
    assert process.returncode == 143
    assert shop.status()["agents"][0]["why"] == "stopped before it began"
