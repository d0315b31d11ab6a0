"""How long a run may take, and how long it may say nothing."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from gascity.awake import BEAT, LATE
from gascity.runs.context import Cancel
from gascity.runs.watchdog import Limits, TimedOut, Watchdog


def test_without_a_limit_nobody_watches() -> None:
    before = threading.active_count()
    with Watchdog(Limits(), (), Cancel()):
        assert threading.active_count() <= before


@pytest.mark.parametrize(
    ("limits", "told"),
    [
        (Limits(wall=0.1), "timed out after 100ms"),
        (Limits(idle=0.1), "timed out: it said nothing for 100ms"),
        (Limits(wall=0.1, idle=60.0), "timed out after 100ms"),
    ],
)
def test_a_limit_that_is_broken_cancels(limits: Limits, told: str, tmp_path: Path) -> None:
    cancel = Cancel()
    began = time.monotonic()
    with Watchdog(limits, (str(tmp_path / "out"),), cancel):
        assert cancel.wait(60.0)

    assert (cancel.reason, type(cancel.reason)) == (told, TimedOut)
    assert time.monotonic() - began >= 0.1


def test_who_says_something_is_not_idle(tmp_path: Path) -> None:
    cancel = Cancel()
    with (tmp_path / "err").open("wb", buffering=0) as said:
        files = (str(tmp_path / "nothing"), str(tmp_path / "err"))
        # Longer than a moment that is too short for a standstill of the machine.
        with Watchdog(Limits(idle=BEAT + LATE + 1.0), files, cancel):
            for _ in range(32):
                said.write(b".")
                assert not cancel.wait(0.1)
            assert cancel.wait(60.0)


STANDS_STILL = """
import sys
from gascity.runs.context import Cancel
from gascity.runs.watchdog import Limits, Watchdog
cancel = Cancel()
with open(sys.argv[1], "wb", buffering=0) as said, Watchdog(Limits(idle=2.0), sys.argv[1:], cancel):
    for _ in range(3):
        said.write(b".")
        cancel.wait(0.4)  # that was seen, and nothing new is said
        print("now", flush=True)
        cancel.wait(0.4)
print(cancel.reason or "nothing")
"""


def test_who_stands_still_with_the_whole_machine_is_not_idle(tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", STANDS_STILL, str(tmp_path / "out")],
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        process.send_signal(signal.SIGSTOP)
        time.sleep(2.5)  # longer than it may be silent
        process.send_signal(signal.SIGCONT)

        assert process.stdout.read() == "now\nnow\nnothing\n"


def test_the_watch_ends_with_the_run() -> None:
    cancel = Cancel()
    began = time.monotonic()
    with Watchdog(Limits(wall=60.0), (), cancel):
        pass

    assert time.monotonic() - began < 60.0
    assert not cancel.is_set()
