"""The controller's clock, while the machine sleeps."""

from __future__ import annotations

import sys
import time

import pytest

from gascity import awake
from gascity.controller.clock import Clock

HOUR = 3600.0


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere no clock stands while it sleeps")
def test_a_machine_that_sleeps_does_not_make_the_clock_late() -> None:
    clock, read = Clock(), time.clock_gettime
    clock.standstills()
    before = clock.now()

    # All that a sleep leaves behind on Linux: the monotonic clock stood, and this one went on.
    with pytest.MonkeyPatch.context() as system:
        system.setattr(
            time, "clock_gettime", lambda one: read(one) + HOUR * (one == time.CLOCK_BOOTTIME)
        )
        after, spans = clock.now(), clock.standstills().spans
    awake.begin_anew()

    assert after >= before + HOUR
    assert any(ended - began > HOUR - 1 for began, ended in spans)
