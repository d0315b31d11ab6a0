"""A machine that stood still, for tests that cannot wait for one."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator

import pytest

from gascity import awake


@contextlib.contextmanager
def stood_still(seconds: float) -> Iterator[None]:
    """Have everybody on the machine stand still: all that is left of that is what clocks show."""
    awake.seconds()
    monotonic, clock, wall = time.monotonic, time.clock_gettime, time.time
    try:
        with pytest.MonkeyPatch.context() as system:
            system.setattr(time, "clock_gettime", lambda which: clock(which) + seconds)
            system.setattr(time, "monotonic", lambda: monotonic() + seconds)
            system.setattr(time, "time", lambda: wall() + seconds)
            yield
    finally:
        awake.begin_anew()
