"""Commands of a start sequence, while the machine stands still."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

# The command stops who waits for it: neither of them can do anything for longer than it may take.
STANDS_STILL = """
import sys
from gascity.session.local import run_shell
command = "sleep 0.2; kill -STOP $PPID; sleep 6; kill -CONT $PPID; sleep 0.3; echo done"
ran = run_shell(command, sys.argv[1], {}, timeout=4.0)
print(ran.status, ran.output)
"""


def test_a_command_that_stood_still_with_the_machine_may_still_end(tmp_path: Path) -> None:
    words = [sys.executable, "-c", STANDS_STILL, str(tmp_path)]

    done = subprocess.run(words, capture_output=True, text=True, check=True)

    assert done.stdout == "0 done\n"
