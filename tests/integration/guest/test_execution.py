"""The part that runs commands, asked without a daemon around it."""

from __future__ import annotations

from pathlib import Path

import pytest

from gascity.guest.execution import Executor


def test_nothing_is_begun_after_the_stop(tmp_path: Path) -> None:
    executor = Executor(str(tmp_path / "missing"), timeout=60, most=1000)
    assert executor.shell("true").exit_code == -1

    executor.stop(timeout=60)

    outcome = executor.shell("true")  # what was tried would fail as before
    assert (outcome.exit_code, outcome.stderr) == (143, "not begun because the daemon stops\n")


@pytest.mark.parametrize("timeout", [3_000_000, 1e300, float("inf")])
def test_a_time_limit_may_be_longer_than_the_system_can_wait(
    timeout: float, tmp_path: Path
) -> None:
    executor = Executor(str(tmp_path), timeout=timeout, most=1000)

    assert executor.shell("sleep 0.01; echo hi").stdout == "hi\n"


def test_a_command_that_looks_like_an_option_is_a_command(tmp_path: Path) -> None:
    executor = Executor(str(tmp_path), timeout=60, most=1000)

    for outcome in (
        executor.shell("-o 2>/dev/null; echo hi"),
        executor.shell("+x 2>/dev/null; echo hi"),
        executor.code("sh", "-o 2>/dev/null; echo hi"),
        executor.code("python", "-print('hi') if 0 else print('hi')"),
    ):
        assert (outcome.exit_code, outcome.stdout) == (0, "hi\n")
    assert executor.shell("-no-such-command").exit_code == 127
