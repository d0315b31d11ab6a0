"""Taking up the sessions of a keeper that is no more.

A session is taken up when its process has the pid *and* the start that were written down. One that
was spawned but not written down yet was never promised to anyone: its processes are found by their
mark and killed, and whoever asked for it will ask again.
"""

from __future__ import annotations

import signal
import time

from gascity.session import pids
from gascity_subprocess.methods import Methods
from gascity_subprocess.records import Record, remove_folder

PATIENCE = 1.0  # seconds for the killed processes of a start that was cut off to vanish


def adopt(methods: Methods, cut_off: list[str]) -> list[Record]:
    """Settle every session that was found on disk; return those that live.

    `cut_off` holds the folders without a record.
    """
    for folder in cut_off:
        _clear(methods, folder)
    for record in methods.records:
        if record.alive and not methods.family.root_lives(record):
            methods.end(record, None, None)
    return [record for record in methods.records if record.alive]


def _clear(methods: Methods, folder: str) -> None:
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        methods.family.refresh()
        left = methods.family.of_folder(folder)
        if not left:
            break
        for top in left:
            for pid, started in [*pids.below(top), (top, pids.table.started(top) or "")]:
                pids.send(pid, started, signal.SIGKILL)
    remove_folder(folder)
