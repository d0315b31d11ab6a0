"""Starting a controller in the background and waiting until it holds the city."""

from __future__ import annotations

import os
import subprocess
import sys

from gascity.config.find import find_city
from gascity.errors import Exit
from gascity.session.marks import MARK


def _errors() -> int:
    """Return where the child may complain: our standard error, if there is one."""
    return 2 if sys.__stderr__ is not None else subprocess.DEVNULL


def start_detached(folder: str) -> int:
    """Start the controller of the folder's city; return once it answers, or its exit code.

    It does not end with the session it may be started from: it leaves that one's mark behind. Until
    it is ready it speaks on this terminal, so that its errors are seen here.
    """
    city_file = find_city(folder)
    reading, writing = os.pipe()
    with os.fdopen(reading, "rb") as answer:
        child = subprocess.Popen(
            [sys.executable, "-m", "gascity.controller", city_file, str(writing)],
            stdin=subprocess.DEVNULL,
            stdout=_errors(),
            stderr=_errors(),
            env={key: value for key, value in os.environ.items() if key != MARK},
            start_new_session=True,
            pass_fds=[writing],
        )
        os.close(writing)
        pid, _, place = answer.readline().decode().strip().partition(" ")
    if not pid:
        return child.wait()
    child.returncode = 0  # it lives on without us; there is nothing to reap
    sys.stdout.write(f"sessions live in {place}\n")
    sys.stdout.write(f"controller {pid} runs; `gc status` shows the agents, `gc stop` ends them\n")
    return Exit.OK
