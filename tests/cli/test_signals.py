"""What serves until a signal hears that signal, also when it is not the main thread that gets it.

The kernel may give a signal to any thread, and Python calls handlers in the main one alone, which
may be waiting for something that never comes. Here the main thread takes no SIGTERM at all.
"""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tests.cli.conftest import HEAD
from tests.cli.place import LIMIT, Place

from gascity.testing.eventually import eventually

DEAF = """\
import signal, sys, threading
threading.Thread(target=threading.Event().wait, daemon=True).start()
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
from gascity.cli.app import main
sys.exit(main())
"""
SUSPENDED = '[[agents]]\nname = "a"\nstart_command = "sleep 1000"\nsuspended = true\n'
RARELY = HEAD.replace('patrol_interval = "1s"', 'patrol_interval = "1h"')


@pytest.mark.parametrize(
    ("words", "there"),
    [
        (("guest", "serve", "--socket", "up"), "up"),
        (("runs", "serve"), ".gc/serve.json"),
        (("start",), ".gc/controller.sock"),
    ],
)
def test_a_signal_that_another_thread_gets_is_heard(
    words: tuple[str, ...], there: str, tmp_path: Path
) -> None:
    place = Place(tmp_path)
    place.city(RARELY + SUSPENDED)
    with subprocess.Popen(
        [sys.executable, "-c", DEAF, *words],
        cwd=place.work,
        env=place.env(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    ) as process:
        try:
            eventually((place.work / there).exists)
            eventually(lambda: _waits(process.pid))
            process.send_signal(signal.SIGTERM)
            _, complaints = process.communicate(timeout=LIMIT)
        finally:
            process.kill()

    assert (process.returncode, complaints) == (0, b"")


def _waits(pid: int) -> bool:
    """Tell whether its main thread waits for something, as it does for most of the time."""
    return Path(f"/proc/{pid}/task/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "S"
