"""Time in which a process could do something."""

from __future__ import annotations

import signal
import subprocess
import sys
import time

from gascity.awake import BEAT, LATE, Pulse


class Hand:
    """A clock that a test moves."""

    now = 1000.0

    def __call__(self) -> float:
        return self.now


def test_a_look_that_comes_much_too_late_was_a_standstill() -> None:
    clock = Hand()
    pulse = Pulse(clock)
    began = pulse.beat()
    clock.now += 60.0

    assert pulse.beat() - began == BEAT
    assert pulse.standstills() == ((1000.0 + BEAT, 1060.0),)


def test_a_look_that_comes_a_little_late_was_none() -> None:
    clock = Hand()
    pulse = Pulse(clock)
    began = pulse.beat()
    clock.now += BEAT + LATE

    assert pulse.beat() - began == BEAT + LATE
    assert pulse.standstills() == ()


FORKS = """
import os, threading
from gascity import awake
awake.seconds()
if os.fork() == 0:
    awake.seconds()
    print([thread.name for thread in threading.enumerate()], flush=True)
    os._exit(0)
os.wait()
"""


def test_who_is_forked_has_a_pulse_of_its_own() -> None:
    done = subprocess.run(
        [sys.executable, "-c", FORKS], capture_output=True, text=True, check=True, timeout=60
    )

    assert done.stdout == "['MainThread', 'pulse']\n"


STANDS_STILL = """
import sys, time
from gascity import awake
began, passed = time.monotonic(), awake.seconds()
print("now", flush=True)
sys.stdin.readline()
gone = time.monotonic() - began
passed = awake.seconds() - passed
spans = awake.standstills()
print(gone >= 5, passed <= gone - 3, sum(ended - began for began, ended in spans) >= 3)
"""


def test_a_process_that_was_stopped_knows_so() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", STANDS_STILL],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        process.send_signal(signal.SIGSTOP)
        time.sleep(5)  # it stands still for as long
        process.send_signal(signal.SIGCONT)

        assert process.communicate("\n")[0] == "True True True\n"
