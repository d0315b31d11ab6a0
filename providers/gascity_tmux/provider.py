"""The session provider `tmux`: one session per agent, on a tmux server of the city's own."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial

from gascity import awake
from gascity.core.model import SessionConfig
from gascity.core.observed import BACKEND, SessionState
from gascity.errors import (
    GascityError,
    SessionExists,
    SessionNotFound,
    StartFailed,
    StopTimedOut,
)
from gascity.screens.screen import Screen
from gascity.session import kin, overlay, processes
from gascity.session.locks import AT_ONCE, SessionBusy, session_lock
from gascity.session.provider import CityContext
from gascity.session.tmux import panes, screen
from gascity.session.tmux.panes import Pane
from gascity.session.tmux.provider import InOneTmux
from gascity.session.watch import SeenCallback, Watch
from gascity_tmux import layout, leftovers
from gascity_tmux.ends import Ends
from gascity_tmux.listeners import Listeners
from gascity_tmux.making import Maker
from gascity_tmux.program import OLDEST, version
from gascity_tmux.server import Server, tell_hub
from gascity_tmux.settings import Settings
from gascity_tmux.view import View
from gascity_tmux.watching import TmuxWatch


class Provider(InOneTmux[Pane]):
    """Sessions in tmux."""

    name = "tmux"
    _told = tell_hub()

    def __init__(self, context: CityContext) -> None:
        super().__init__(context)
        self._home = layout.home(context.state_dir)
        settings = Settings.read(context.settings)
        self._listeners = Listeners()
        self._server = Server(context.city, self._home, settings, self._listeners.hear)
        self._view = View(self._server, layout.city_mark(context.city_id))
        self._maker = Maker(context, self._server, self._view)
        self._ends = Ends(self._server, self._view, self._listeners)

    @classmethod
    def unavailable(cls) -> str:
        """Say why tmux cannot be used here."""
        found = version()
        if found is None:
            return "tmux is not installed"
        if found < OLDEST:
            have, need = (".".join(map(str, numbers)) for numbers in (found, OLDEST))
            return f"tmux {have} is too old: {need} or newer is needed"
        return ""

    @classmethod
    def check_settings(cls, settings: Mapping[str, object], folder: str = "") -> None:
        """Refuse a table `[session.tmux]` that makes no sense."""
        del folder
        Settings.read(settings)

    def about(self) -> str:
        """Say which tmux it is, and where its socket is."""
        found = version() or OLDEST
        layout.ensure_socket_folder(self._server.socket)
        return f"tmux {found[0]}.{found[1]}, socket {self._server.socket}"

    def close(self) -> None:
        """Hang up on the server. Sessions are not touched."""
        self._server.close()
        self._ends.close()

    # --- life

    def start(self, name: str, config: SessionConfig, *, timeout: float) -> None:
        """Bring a session up; see the contract."""
        # Who only looks, as `gc status` does, needs none of this.
        from gascity.session.startup import bring_up  # noqa: PLC0415
        from gascity_tmux.target import TmuxTarget  # noqa: PLC0415

        if not layout.is_name(name):
            raise StartFailed(f"{name!r} cannot be the name of a session")
        deadline = time.monotonic() + timeout
        hints = config.hints
        self._maker.take_words(name)  # of an earlier start, that nobody asked for
        target = TmuxTarget(
            self,
            name,
            config,
            create=self._maker.create,
            screen=partial(screen.now, self._view),
            find=self._view.find,
            rules=self.context.screens.of(config.meta.get(BACKEND, ""), hints.ready_prompt_prefix),
            hold=partial(session_lock, self.context.state_dir, name),
            greet=partial(self._talker().nudge, inside=True),
        )
        try:
            with session_lock(self.context.state_dir, name, AT_ONCE, purpose="start"):
                if hints.pre_start or hints.overlay_dir or hints.copy_files:
                    # These touch the work folder, which a living session of that name may own.
                    found = self._view.find(name, deadline)
                    if found is not None and found.alive:
                        raise SessionExists(f"session {name} exists already")
                    if found is not None:
                        self._maker.keep_words(found, deadline)
                bring_up(name, config, target, timeout=deadline - time.monotonic())
        except SessionBusy as problem:
            raise SessionExists(f"session {name} is being started by someone else") from problem

    def stop_all(
        self, names: Sequence[str], *, grace: float, timeout: float
    ) -> Mapping[str, GascityError]:
        """Stop several: the process table is read for all of them at once."""
        begun, now = awake.seconds(), time.monotonic()
        deadline = now + timeout - min(0.5, timeout * 0.1)
        kill_at = now + min(grace, timeout * 0.7)
        wanted = [name for name in dict.fromkeys(names) if layout.is_name(name)]
        listed = self._view.list(deadline)
        found = panes.by_name(listed)
        there = [name for name in wanted if name in found or self._maker.may_be_left(name)]
        relatives = {name: self._maker.kin(name, found.get(name)) for name in there}
        survivors = kin.end(relatives, kill_at=kill_at, deadline=deadline)
        ended = [name for name in there if name not in survivors]
        rest = timeout - (awake.seconds() - begun)  # without what the machine stood still
        self._maker.remove(ended, listed, time.monotonic() + rest)
        return {name: StopTimedOut(_survived(name, left)) for name, left in survivors.items()}

    # --- questions

    def observe(self, *, timeout: float) -> Mapping[str, SessionState]:
        """Return every session in one round trip, and a second one for metadata that changed."""
        deadline = time.monotonic() + timeout
        states = self._view.states(deadline)
        if survivors := leftovers.survivors(self._home, states):
            again = self._view.states(deadline)  # they may be of sessions made in between
            states |= {name: again[name] for name in survivors if name in again}
            states |= leftovers.states(survivors, self.context.city_id, states)
        self._ends.expect(states)
        return states

    def watch(
        self,
        wake: Callable[[], None],
        *,
        seen: SeenCallback | None = None,
        interval: float = 1.0,
    ) -> Watch:
        """Call `wake` within milliseconds of a change, `seen` when it is known to be an end."""
        self._ends.begin()
        return TmuxWatch(self._server, self._listeners, wake, seen, interval)

    def process_alive(self, name: str, names: Sequence[str], *, timeout: float) -> bool:
        """Tell whether one of `names` lives in the session's process tree."""
        found = self._view.find(name, time.monotonic() + timeout)
        if found is None or not found.alive:
            return False
        return not names or processes.matches(names, processes.names_in_tree(found.pid))

    def processes_alive(
        self, wanted: Mapping[str, Sequence[str]], *, timeout: float
    ) -> Mapping[str, bool]:
        """Answer for several sessions from one pass over the process table."""
        found = self._view.list(time.monotonic() + timeout)
        roots = {pane.name: pane.pid for pane in found if pane.alive and pane.name in wanted}
        return processes.alive_in_trees(wanted, roots)

    def list_running(self, prefix: str, *, timeout: float) -> list[str]:
        """Return the sorted names of the sessions that run."""
        found = self._view.list(time.monotonic() + timeout)
        return sorted(pane.name for pane in found if pane.alive and pane.name.startswith(prefix))

    def last_activity(self, name: str, *, timeout: float) -> float | None:
        """Return when the session last showed something."""
        found = self._view.find(name, time.monotonic() + timeout)
        return None if found is None else found.activity

    # --- talk

    def attach(self, name: str, *, read_only: bool = False) -> int:
        """Give the caller's terminal to the session until it detaches."""
        found = self._view.find(name, time.monotonic() + 5.0)
        if found is None:
            raise SessionNotFound(f"there is no session {name}")
        from gascity_tmux.attach import attach  # noqa: PLC0415  rarely needed

        return attach(self._server, found, read_only=read_only)

    def screens(
        self, names: Sequence[str], *, since: float | None = None, timeout: float
    ) -> Mapping[str, Screen]:
        """Return what several sessions show, in two round trips."""
        from gascity.session.tmux.terminal import look_at  # noqa: PLC0415  as above

        deadline = time.monotonic() + timeout
        return look_at(self._view, self._view.shown_since(names, since, deadline), deadline)

    # --- how

    def _tmux(self) -> View:
        return self._view

    def _take_words(self, name: str) -> str:
        return self._maker.take_words(name)

    def _place(self, work: str, src: str, rel_dst: str, deadline: float) -> None:
        del deadline  # what is on this machine needs none
        overlay.place(work, src, rel_dst, overwrite=True)


def _survived(name: str, left: Sequence[int]) -> str:
    numbers = ", ".join(str(pid) for pid in sorted(left))
    return f"session {name} could not be stopped: process {numbers} still there"
