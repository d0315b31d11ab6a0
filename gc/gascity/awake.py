"""Time in which this process could do something.

A machine that sleeps, a virtual machine that is paused, a host that stalls: everybody on it stands
still, and the clocks go on. What is patient with somebody's silence counts `seconds`, which leave
such times out; what is told to people goes by the clock, `elapsed`, and is told of the standstills.
A thread looks at the clock all the time: only its lateness tells. It sees nothing of those who
stand still alone.
"""

from __future__ import annotations

import os
import threading
import time
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    import subprocess

T = TypeVar("T")
BEAT = 0.5  # seconds between two looks at the clock
LATE = 1.5  # seconds by which a look is late after a standstill; less is a busy machine
KEPT = 100  # standstills: who was silent for longer than all of them was silent for long
# time.monotonic() stands while a machine sleeps. On macOS this one does not.
_GOES_ON = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


def elapsed() -> float:
    """Return seconds on a clock that nobody sets, and that goes on while the machine sleeps."""
    return time.clock_gettime(_GOES_ON)


class Pulse:
    """Finds out when the process stood still; all that is asked for looks at the clock, too."""

    def __init__(self, clock: Callable[[], float] = elapsed) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._last = clock()
        self._lost = 0.0
        self._found: deque[tuple[float, float]] = deque(maxlen=KEPT)

    def beat(self) -> float:
        """Look at the clock; return the seconds in which the process did not stand still."""
        with self._lock:
            now = self._clock()
            late = now - self._last - BEAT
            if late > LATE:
                self._lost += late
                self._found.append((now - late, now))
            self._last = now
            return now - self._lost

    def standstills(self) -> tuple[tuple[float, float], ...]:
        """Return when the last standstills began and ended, on the clock, the oldest first."""
        self.beat()
        with self._lock:
            return tuple(self._found)


class Patience:
    """A limit for who waits in steps, and looks at the clock after each: it needs no thread.

    Seconds in which the process stood still are not counted, whenever that was after this began.
    """

    def __init__(self, seconds: float, clock: Callable[[], float] = elapsed) -> None:
        self._pulse = Pulse(clock)
        self._until = self._pulse.beat() + seconds

    def left(self) -> float:
        """Return the seconds that are left, which may be none."""
        return self._until - self._pulse.beat()

    def step(self) -> float:
        """Return how long to wait until the clock is looked at again.

        Raises TimeoutError when no time is left.
        """
        left = self.left()
        if left <= 0:
            raise TimeoutError("time is up")
        return min(left, BEAT)


_pulse: Pulse | None = None
_starting = threading.Lock()


def seconds() -> float:
    """Return seconds since whenever, without those in which this process stood still."""
    return _beating().beat()


def standstills() -> tuple[tuple[float, float], ...]:
    """Return when the last standstills began and ended, in terms of `elapsed`; the oldest first."""
    return _beating().standstills()


def status_of(process: subprocess.Popen[bytes], *, timeout: float) -> int | None:
    """Wait for the end of a process; return its status, or None when it takes too long."""
    from subprocess import TimeoutExpired  # noqa: PLC0415  who has a process has loaded it

    until = seconds() + timeout
    while (left := until - seconds()) > 0:
        try:
            return process.wait(min(left, BEAT))
        except TimeoutExpired:
            continue
    return process.poll()


def again(ask: Callable[[], T], problem: type[Exception]) -> T:
    """Return an answer; ask again when there was a problem, and a standstill meanwhile."""
    began = elapsed()
    try:
        return ask()
    except problem:
        if not any(ended > began for _, ended in standstills()):
            raise
        return ask()


def _beating() -> Pulse:
    """Return the pulse of this process, which begins with the first question."""
    global _pulse  # noqa: PLW0603  it is about the process
    with _starting:
        if _pulse is None:
            _pulse = Pulse()
            threading.Thread(target=_beat, args=(_pulse,), name="pulse", daemon=True).start()
        return _pulse


def _beat(pulse: Pulse) -> None:
    while pulse is _pulse:
        pulse.beat()
        time.sleep(BEAT)  # how late this ends is what tells of a standstill


def begin_anew() -> None:
    """Know of no standstill: a child has none of its parent's threads."""
    global _pulse, _starting
    _pulse, _starting = None, threading.Lock()


os.register_at_fork(after_in_child=begin_anew)
