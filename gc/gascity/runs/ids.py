"""Run ids: `YYYYMMDD-HHMMSSffff-<pid>-<seq>`, in UTC, unique on one machine.

Two runs of one process differ in `seq`, two processes in `pid`; a recycled pid differs in time.
An older form, `YYYYMMDD-HHMMSSmmm-<pid>`, is understood where runs are read, and never made.
"""

from __future__ import annotations

import itertools
import os
import re
import threading
from datetime import UTC, datetime

_numbers = itertools.count(1)
_lock = threading.Lock()
_ID = re.compile(
    r"(?P<day>[0-9]{8})-(?:(?P<time>[0-9]{10})-(?P<pid>[0-9]+)-(?P<seq>[0-9]+)"
    r"|(?P<old>[0-9]{9})-(?P<old_pid>[0-9]+))"
)


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
    """Return a key by which runs sort from the oldest to the newest. Raises ValueError."""
    found = _ID.fullmatch(run)
    if found is None:
        raise ValueError(f"{run!r} is no run id")
    if found["old"]:
        return f"{found['day']}-{found['old']}0", int(found["old_pid"]), 0
    return f"{found['day']}-{found['time']}", int(found["pid"]), int(found["seq"])
