"""Signals that are heard at once, whatever the main thread waits for."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from functools import partial

from gascity import signals
from gascity.testing.eventually import eventually

USED = (signal.SIGUSR1, signal.SIGUSR2)
FOR_EVER = """\
import signal, threading
from gascity import signals
threading.Thread(target=threading.Event().wait, daemon=True).start()
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
over = threading.Event()
with signals.heard({signal.SIGTERM: over.set}):
    print("ready", flush=True)
    over.wait()
"""


def noting(heard: list[int]) -> dict[int, Callable[[], None]]:
    return {number: partial(heard.append, number) for number in USED}


def has(heard: list[int], count: int) -> bool:
    return len(heard) == count


def tell(number: int) -> None:
    os.kill(os.getpid(), number)


def test_each_signal_calls_its_own() -> None:
    heard: list[int] = []
    with signals.heard(noting(heard)):
        for count, number in enumerate((*USED, *USED), 1):
            tell(number)
            eventually(partial(has, heard, count))

    assert heard == [*USED, *USED]


def test_one_that_comes_in_the_last_moment_is_heard_before_it_is_over() -> None:
    heard: list[int] = []
    with signals.heard(noting(heard)):
        tell(signal.SIGUSR1)

    assert heard == [signal.SIGUSR1]


def test_it_is_called_in_a_thread_of_its_own() -> None:
    callers: list[threading.Thread] = []
    with signals.heard({signal.SIGUSR1: lambda: callers.append(threading.current_thread())}):
        tell(signal.SIGUSR1)

    assert [one.name for one in callers] == ["signals"]


def test_everything_is_as_before_when_it_is_over() -> None:
    handlers = [signal.getsignal(number) for number in USED]
    threads, files = set(threading.enumerate()), len(os.listdir("/proc/self/fd"))
    with signals.heard(noting([])):
        pass

    assert [signal.getsignal(number) for number in USED] == handlers
    assert set(threading.enumerate()) <= threads  # one of an earlier test may have ended
    assert len(os.listdir("/proc/self/fd")) <= files
    assert signal.set_wakeup_fd(-1) == -1


def test_within_another_one_the_inner_hears_and_then_the_outer_again() -> None:
    outer: list[int] = []
    inner: list[int] = []
    with signals.heard(noting(outer)):
        with signals.heard(noting(inner)):
            tell(signal.SIGUSR1)
        tell(signal.SIGUSR2)

    assert (inner, outer) == ([signal.SIGUSR1], [signal.SIGUSR2])


def test_one_that_another_thread_gets_ends_a_wait_of_the_main_one() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", FOR_EVER], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        process.send_signal(signal.SIGTERM)

        assert process.wait(60) == 0
