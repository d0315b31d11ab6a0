"""How an agent stands, out of its run and its commits: every case of the protocol."""

from __future__ import annotations

import pytest

from gascity.runs.info import RunInfo, Status
from gascity.worktrees.verdict import State, ended, exit_code, living

READY = "0123456789abcdef"


def over(code: int | None, *, asked: bool = False, end: str = "so it ended") -> RunInfo:
    return RunInfo("r", status=Status.FAILED, pid=1, exit_code=code, asked=asked, end=end)


@pytest.mark.parametrize(
    ("started", "commits", "ready", "state"),
    [
        (False, 0, "", State.STARTING),
        (True, 0, "", State.RUNNING),
        (True, 1, "", State.WORKING),
        (True, 2, READY, State.READY),
    ],
)
def test_one_that_runs_is_told_by_its_commits(
    started: bool, commits: int, ready: str, state: State
) -> None:
    assert living(commits, ready, started=started).state is state


@pytest.mark.parametrize(
    ("run", "ready", "state"),
    [
        (over(0), READY, State.READY),
        (over(0), "", State.FAILED),
        (over(1), READY, State.FAILED),
        (over(137), READY, State.FAILED),
        (over(124), READY, State.FAILED),
        (over(124, asked=True, end="timed out after 2s"), READY, State.READY),
        (over(130, asked=True, end="interrupted"), READY, State.READY),
        (over(143, asked=True, end="stopped"), READY, State.READY),
        (over(None), READY, State.READY),
        (over(None), "", State.FAILED),
        (None, READY, State.FAILED),
    ],
)
def test_one_that_is_over_is_ready_or_failed(run: RunInfo | None, ready: str, state: State) -> None:
    assert ended(run, 1, ready).state is state


@pytest.mark.parametrize(
    ("run", "commits", "ready", "why"),
    [
        (over(0), 0, "", "it ended well, and committed nothing"),
        (over(0), 3, "", "it ended well, and none of its commits has the marker"),
        (over(0), 3, READY, "commit 0123456789 says so"),
        (over(1), 3, READY, "so it ended, after commit 0123456789 says so"),
        (
            over(143, asked=True, end="stopped"),
            1,
            READY,
            "commit 0123456789 says so; after that it was stopped",
        ),
    ],
)
def test_it_is_said_why(run: RunInfo, commits: int, ready: str, why: str) -> None:
    assert ended(run, commits, ready).why == why


@pytest.mark.parametrize(
    ("codes", "code"),
    [
        ([(State.READY, 0)], 0),
        ([(State.FAILED, 3), (State.READY, 124)], 0),
        ([(State.FAILED, 0)], 1),
        ([(State.FAILED, 3), (State.FAILED, 3)], 3),
        ([(State.FAILED, 3), (State.FAILED, 2)], 1),
        ([(State.FAILED, 124), (State.FAILED, 124)], 124),
        ([(State.FAILED, None)], 1),
    ],
)
def test_a_command_ends_with_what_they_have_in_common(
    codes: list[tuple[State, int | None]], code: int
) -> None:
    assert exit_code(codes) == code


@pytest.mark.parametrize(
    ("end", "option"),
    [("timed out after 2s", "--timeout"), ("timed out: it said nothing for 2s", "--idle-timeout")],
)
def test_the_limit_that_was_broken_is_the_one_to_be_raised(end: str, option: str) -> None:
    hint = ended(over(124, asked=True, end=end), 0, "").hint

    assert hint == f"it took too long: {option} gives it more; its work is kept"
