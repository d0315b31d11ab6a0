"""The part that runs commands, asked without a daemon around it."""

from __future__ import annotations

from pathlib import Path

from gascity.guest.execution import Executor


def test_nothing_is_begun_after_the_stop(tmp_path: Path) -> None:
    executor = Executor(str(tmp_path / "missing"), timeout=60, most=1000)
    assert executor.shell("true").exit_code == -1

    executor.stop(timeout=60)

    outcome = executor.shell("true")  # what was tried would fail as before
    assert (outcome.exit_code, outcome.stderr) == (143, "not begun because the daemon stops\n")
