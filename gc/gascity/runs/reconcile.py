"""The rest of the road for runs whose runner is dead: nothing lives on, and the truth is told.

Every command that runs or shows runs does this first. It costs one look into a folder, which is
empty unless something runs or was killed. Of two who do it at once, one settles a run.
"""

from __future__ import annotations

import contextlib
import time
from dataclasses import replace

from gascity.core.oneshot import format_named
from gascity.errors import GascityError
from gascity.journal.bus import Bus
from gascity.runs import messages
from gascity.runs.folder import RunFolder
from gascity.runs.info import JOB, Broken, RunInfo, Status, utc
from gascity.runs.job import mark_of
from gascity.runs.leavings import complete
from gascity.runs.marked import end_marked
from gascity.runs.places import Home, OpenRun

UNSEEN = "its runner was killed, or could not write down how it ended"


def settle(home: Home) -> list[str]:
    """Settle what nobody runs any more; return the ids of these runs.

    What cannot be written down now stays as it is, for the next time.
    """
    settled = []
    home.sweep()
    for run in home.open_runs():
        with contextlib.suppress(OSError, GascityError), home.taken_over(run) as is_ours:
            if is_ours:
                _settle(home, run)
                settled.append(run.run_id)
    return settled


def _settle(home: Home, run: OpenRun) -> None:
    end_marked(mark_of(home, run.run_id))
    folder = RunFolder(run.folder)
    if not run.folder or not folder.exists():
        return  # it was killed before there was a run
    folder.make()
    found = folder.read_info()
    project, task = folder.belongs_to()  # an agent may have changed what the record says
    begun = RunInfo(folder.run_id, kind=JOB) if isinstance(found, Broken) else found
    info = replace(begun, project_id=project, task_id=task)
    complete(folder, format_named(info.format))
    folder.tidy()
    if not info.is_over:
        info = _ended(info)
        folder.write_info(info)
    with Bus(home.journal) as bus:
        messages.post_end(bus, folder, info, None)


def _ended(info: RunInfo) -> RunInfo:
    now = utc(time.time())
    return replace(
        info,
        status=Status.FAILED,
        start_time=info.start_time or now,
        end_time=now,  # by then it was over; how long it lasted nobody knows
        end=UNSEEN,
        crash=True,
    )
