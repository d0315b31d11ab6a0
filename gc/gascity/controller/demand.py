"""How many members a pool wants: its check command, with a time limit that is kept.

The command gets a process group of its own, and a child it leaves behind holding its output can
neither delay the answer nor outlive the limit.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import tempfile

from gascity.core.model import PoolSpec

TIMEOUT = 30.0


def ask(pool: PoolSpec, env: dict[str, str], *, timeout: float = TIMEOUT) -> int | None:
    """Return the whole number that the check prints; None when it gives none."""
    with tempfile.TemporaryFile() as answer:
        try:
            check = subprocess.Popen(
                ["/bin/sh", "-c", pool.check],
                stdin=subprocess.DEVNULL,
                stdout=answer,
                stderr=subprocess.DEVNULL,
                cwd=pool.work_dir,
                env=env,
                start_new_session=True,
            )
        except OSError:
            return None
        try:
            code = check.wait(timeout)
        except subprocess.TimeoutExpired:
            code = -1
        finally:
            _end_group(check)
        answer.seek(0)
        text = answer.read(64).strip()
    return int(text) if code == 0 and text.isdigit() else None


def _end_group(check: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(check.pid, signal.SIGKILL)
    check.wait()
