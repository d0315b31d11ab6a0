"""Run ids: `YYYYMMDD-HHMMSSffff-<pid>-<seq>`, in UTC, unique on one machine.

Two runs of one process differ in `seq`, two processes in `pid`; a recycled pid differs in time.
"""

from __future__ import annotations

import itertools
import os
import threading
from datetime import UTC, datetime

_numbers = itertools.count(1)
_lock = threading.Lock()


def new_run_id(when: datetime | None = None) -> str:
    """Return an id no other run has."""
    moment = (when or datetime.now(UTC)).astimezone(UTC)
    with _lock:
        number = next(_numbers)
    fraction = moment.microsecond // 100
    return f"{moment:%Y%m%d-%H%M%S}{fraction:04d}-{os.getpid()}-{number}"
