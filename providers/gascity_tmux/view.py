"""What tmux shows of a city: its sessions, how they are, and their metadata.

Nothing is kept but what cannot have changed: which process a pane was started with, and the
metadata that belongs to a version of it.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace

from gascity.core.observed import Alive, ProcessId, SessionState
from gascity.errors import SessionNotFound
from gascity.session import pids
from gascity.session.tmux import meta, panes
from gascity.session.tmux.panes import Pane
from gascity.session.tmux.problems import Gone, Lost, Unheard
from gascity.session.tmux.wire import Block, command
from gascity_tmux import layout
from gascity_tmux.server import Server

_LEAVING = "no current target"  # what tmux says when even our own session is gone
UNSETTLED = 1.0  # seconds for tmux to hear how a program ended ...
LATE = 0.05  # ... of which a look counts so many: tmux stands still with who is stopped for longer


class View:
    """One city as its tmux server tells of it; thread-safe."""

    def __init__(self, server: Server, city_mark: str) -> None:
        self._server = server
        self._city = city_mark
        self._lock = threading.Lock()
        self._meta: dict[str, tuple[str, Mapping[str, str]]] = {}
        self._processes: dict[panes.Key, ProcessId] = {}
        self._unknown: set[panes.Key] = set()  # ended, and tmux will never say how
        self._states: Mapping[str, SessionState] = {}

    def states(self, deadline: float) -> dict[str, SessionState]:
        """Return all sessions: one round trip, and a second one for metadata that changed."""
        self._server.tell_of_loss()
        found = self.list(deadline)
        self._server.tell_of_loss()  # it may have gone while it was asked
        stored = self.metadata(found, deadline)
        self._forget_all_but(found)
        known = self._states
        there = panes.by_name(pane for pane in found if pane.session in stored)
        states = {name: self._state(pane, stored[pane.session]) for name, pane in there.items()}
        # What is as it was is the same object: who compares is done sooner.
        self._states = {n: known[n] if known.get(n) == s else s for n, s in states.items()}
        return dict(self._states)

    def settled(self, name: str, process: ProcessId, deadline: float) -> SessionState | None:
        """Return how a session with this process ended, if tmux is done with that at this moment.

        Raises SessionNotFound when there is no such session, or it has another process by now.
        """
        pane = panes.by_name(self._ask_for_panes(name, deadline)).get(name)
        if pane is None or self.process(pane) != process:
            raise SessionNotFound(f"there is no session {name} of process {process.pid}")
        if pane.alive or pane.is_unsettled:
            return None
        stored = self.metadata([pane], deadline).get(pane.session)
        if stored is None:
            raise SessionNotFound(f"session {name} of process {process.pid} was removed")
        return self._state(pane, stored)

    def list(self, deadline: float, name: str = "") -> Sequence[Pane]:
        """Return the agents' panes, or that of one session.

        tmux learns that a terminal was closed before it learns how its program ended, and may never
        learn that by itself; or it knows how, and has not read all that was written. Those in
        between are asked for again. One that closed its terminal and lives on is alive.
        """
        found: dict[str, Pane] = {}
        for pane in self._ask_for_panes(name, deadline):
            # A window that is shown in several sessions is listed once for each; one is ours.
            if pane.version or pane.id not in found:
                found[pane.id] = pane
        left = UNSETTLED
        while unsettled := [
            p for p in found.values() if p.is_unsettled and p.key not in self._unknown
        ]:
            alive = [pane for pane in unsettled if self._server.is_parent_of(pane.pid)]
            before = time.monotonic()
            if len(alive) == len(unsettled) or left <= 0 or before >= deadline:
                with self._lock:
                    self._unknown |= {pane.key for pane in unsettled if pane not in alive}
                found |= {pane.id: replace(pane, life=Alive()) for pane in alive}
                break
            self._server.make_it_reap()
            time.sleep(0.001)  # nothing tells when tmux has heard of it
            for pane in unsettled:
                again = self._ask_for_panes(pane.name, deadline)
                found |= {one.id: one for one in again if one.id == pane.id}
            left -= min(time.monotonic() - before, LATE)
        return list(found.values())

    def find(self, name: str, deadline: float) -> Pane | None:
        """Return the pane of a session, if there is one."""
        if not layout.is_name(name):
            return None
        return panes.by_name(self.list(deadline, name)).get(name)

    def shown_since(
        self, names: Collection[str], since: float | None, deadline: float
    ) -> Sequence[Pane]:
        """Return the panes of these sessions that showed something since that time."""
        wanted = set(names)
        return [
            pane
            for pane in panes.by_name(self.list(deadline)).values()
            # tmux counts whole seconds.
            if pane.name in wanted and (since is None or pane.activity >= since - 1)
        ]

    def has_seen(self, name: str) -> bool:
        """Tell whether there was such a session when all were looked at last."""
        return name in self._states

    def names(self, deadline: float) -> set[str]:
        """Return the sessions that tmux has at this moment, whatever became of them."""
        return {pane.name for pane in self._ask_for_panes("", deadline)}

    def process(self, pane: Pane) -> ProcessId | None:
        """Return which process it is, read while it lives: later its number may be another's."""
        known = self._processes.get(pane.key)
        if known is None and pane.alive:
            started = pids.table.started(pane.pid)
            if started is not None:
                known = ProcessId(pane.pid, started)
                with self._lock:
                    self._processes[pane.key] = known
        return known

    def metadata(self, found: Collection[Pane], deadline: float) -> Mapping[str, Mapping[str, str]]:
        """Return the metadata of sessions by tmux's number; asks only for what changed.

        A session that was removed since it was found is left out.
        """
        known = {pane.session: self._meta.get(pane.session, ("", {})) for pane in found}
        changed = [pane for pane in found if known[pane.session][0] != pane.version]
        if changed:
            asked = [command("show-environment", "-t", pane.session) for pane in changed]
            answered = self.ask(*asked, deadline=deadline, of=changed[0])
            for pane, block in zip(changed, answered, strict=True):
                if block.ok:
                    known[pane.session] = (pane.version, meta.read(block))
                else:  # what is known may be of one that had its number on an earlier server
                    known.pop(pane.session, None)
            with self._lock:
                self._meta |= {p.session: known[p.session] for p in changed if p.session in known}
        return {session: stored for session, (_, stored) in known.items()}

    def stored(self, pane: Pane, deadline: float) -> Mapping[str, str]:
        """Return the metadata of one session; none when it was removed since it was found."""
        return self.metadata([pane], deadline).get(pane.session, {})

    def input_of(self, tty: str, deadline: float) -> tuple[bool, bool | None]:
        """Look at a terminal, which takes no time; see the contract."""
        from gascity_tmux import device  # noqa: PLC0415  who asks for states needs none of it

        del deadline
        return device.input_of(tty)

    def wink(self, tty: str, deadline: float) -> None:
        """Make a terminal a row smaller for a moment; see the contract."""
        from gascity_tmux import device  # noqa: PLC0415  as above

        del deadline
        device.wink(tty)

    def ask(self, *lines: str, deadline: float, of: Pane | None) -> Sequence[Block]:
        """Have tmux answer lines about a pane that was there a moment ago, or about no number.

        Raises Gone when its server is gone: on the next one its numbers are somebody else's.
        """
        while True:
            connection = self._server.connect(deadline=deadline)
            if connection is None or (of is not None and connection.server != of.server):
                raise Gone("the tmux server has ended")
            try:
                return connection.ask(*lines, deadline=deadline)
            except Unheard:  # nothing was done: it can be asked again
                if time.monotonic() >= deadline:
                    raise

    def do(self, line: str, deadline: float, *, of: Pane | None) -> bool:
        """Have tmux do a line about a pane; False when what it is about is no longer there."""
        return all(block.ok for block in self.ask(line, deadline=deadline, of=of))

    def _ask_for_panes(self, name: str, deadline: float) -> Sequence[Pane]:
        """Return what tmux says; asks again when the server hangs up meanwhile."""
        everywhere = panes.list_command(self._city, name)
        while True:
            connection = self._server.connect(deadline=deadline)
            if connection is None:
                return []
            try:
                if name:  # usually it is where it was made
                    there = panes.list_command(self._city, name, layout.session_name(name))
                    answered = connection.ask(there, deadline=deadline)
                    if answered and answered[0].ok and answered[0].lines:
                        return panes.read(answered, connection.server)
                answered = connection.ask(everywhere, deadline=deadline)
                if not _is_leaving(answered) or time.monotonic() >= deadline:
                    return panes.read(answered, connection.server)
            except Lost:
                if time.monotonic() >= deadline:
                    raise

    def _state(self, pane: Pane, stored: Mapping[str, str]) -> SessionState:
        return SessionState(
            name=pane.name,
            life=pane.life,
            process=self.process(pane),
            created=pane.created,
            last_activity=pane.activity,
            attached=pane.attached,
            meta=stored,
            title=pane.title,
        )

    def _forget_all_but(self, found: Iterable[Pane]) -> None:
        keys = {pane.key for pane in found}
        sessions = {session for session, _ in keys}
        with self._lock:
            self._unknown &= keys
            self._processes = {key: one for key, one in self._processes.items() if key in keys}
            self._meta = {one: had for one, had in self._meta.items() if one in sessions}


def _is_leaving(answered: Sequence[Block]) -> bool:
    return bool(answered) and not answered[0].ok and answered[0].text == _LEAVING
