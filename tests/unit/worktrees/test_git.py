"""Calls of git that take their time."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from gascity.worktrees.git import GitError, ask

pytestmark = pytest.mark.git
# git stops who waits for it: neither of them can do anything for longer than it may take.
STANDS_STILL = """
import sys
from gascity.worktrees.git import ask
word = (
    "alias.slow=!asker=$(cut -d' ' -f4 /proc/$PPID/stat);"
    " sleep 0.2; kill -STOP $asker; sleep 6; kill -CONT $asker; sleep 0.3; echo done"
)
print(ask(sys.argv[1], "-c", word, "slow", timeout=4.0).out)
"""


def test_one_that_stood_still_with_the_machine_may_still_end(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", STANDS_STILL, str(tmp_path)],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )

    assert (done.stdout, done.stderr) == ("done\n\n", "")


def test_one_that_takes_too_long_is_ended(tmp_path: Path) -> None:
    with pytest.raises(GitError, match=r"git took longer than 0.2 s"):
        ask(str(tmp_path), "-c", "alias.slow=!exec sleep 1000", "slow", timeout=0.2)
