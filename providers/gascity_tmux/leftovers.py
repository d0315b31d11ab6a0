"""What lives on of sessions that tmux no longer has.

A server that is killed, or a person who closes a pane, takes only those programs along that end
with their terminal. What survives is reported as a session that ended, which is what it is to
whoever decides: the next start clears it away, or a stop, where none is wanted any more.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Collection, Mapping, Sequence

from gascity.core.observed import AGENT, CITY_ID, RUN, Exited, ProcessId, SessionState
from gascity.session import kin, pids
from gascity.session.kin import Kin
from gascity.session.processes import is_alive
from gascity_tmux import layout


def survivors(home: str, present: Collection[str]) -> dict[str, list[ProcessId]]:
    """Return what lives of sessions that are not `present`, or were made since that was known."""
    missing = [name for name in _traces(home) if name not in present]
    if not missing:
        return {}
    found = kin.members({name: Kin(layout.mark(home, name)) for name in missing})
    return {name: left for name, left in found.items() if left}


def states(
    found: Mapping[str, Sequence[ProcessId]], city_id: str, present: Collection[str]
) -> dict[str, SessionState]:
    """Return the sessions that survivors are left of.

    `present` has to be known after they were found: what lives on without a session then, and
    lived before, is left over.
    """
    missing = {name: left for name, left in found.items() if name not in present}
    living = {name: [one for one in left if is_alive(one)] for name, left in missing.items()}
    return {name: _state(name, city_id, left) for name, left in living.items() if left}


def _traces(home: str) -> list[str]:
    with contextlib.suppress(FileNotFoundError):
        return os.listdir(os.path.join(home, layout.SESSIONS))
    return []


def _state(name: str, city_id: str, left: Sequence[ProcessId]) -> SessionState:
    known = {key: pids.table.variable(left[0].pid, key) for key in (AGENT, RUN)}
    meta = {key: value for key, value in known.items() if value is not None}
    return SessionState(name, Exited(), meta={CITY_ID: city_id, **meta})
