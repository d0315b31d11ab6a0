"""Run ids: `YYYYMMDD-HHMMSSffff-<pid>-<seq>`, in UTC, unique on one machine.

Two runs of one process differ in `seq`, two processes in `pid`; a recycled pid differs in time.
"""

from __future__ import annotations

import itertools
import os
import re
import threading
from datetime import UTC, datetime

_numbers = itertools.count(1)
_lock = threading.Lock()
_ID = re.compile(r"[0-9]{8}-[0-9]{10}-[0-9]+-[0-9]+")


def new_run_id(when: datetime | None = None) -> str:
    """Return an id no other run has."""
    moment = (when or datetime.now(UTC)).astimezone(UTC)
    with _lock:
        number = next(_numbers)
    fraction = moment.microsecond // 100
    return f"{moment:%Y%m%d-%H%M%S}{fraction:04d}-{os.getpid()}-{number}"


def is_run_id(text: str) -> bool:
    """Tell whether a text is the id of a run: such a name leads to no other folder."""
    return _ID.fullmatch(text) is not None


def age_of(run: str) -> tuple[str, int, int]:
    """Return a key by which runs sort from the oldest to the newest."""
    moment, _, rest = run.rpartition("-")[0].rpartition("-")
    return moment, int(rest), int(run.rpartition("-")[2])
