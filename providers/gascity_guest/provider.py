"""The session provider `guest`: agents inside whatever answers the guest protocol on a socket.

Sessions live in a tmux inside, reached by `exec`. Nothing of ours has to be there but the daemon:
sh, tmux and the common small tools do the rest.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial

from gascity.core.model import SessionConfig
from gascity.core.observed import BACKEND, SessionState
from gascity.errors import (
    GascityError,
    NotSupported,
    SessionExists,
    StartFailed,
)
from gascity.screens.screen import Screen
from gascity.session import processes
from gascity.session.locks import AT_ONCE, SessionBusy, session_lock
from gascity.session.provider import CityContext
from gascity.session.tmux import naming, panes
from gascity.session.tmux.panes import Pane
from gascity.session.tmux.problems import Lost
from gascity.session.tmux.provider import InOneTmux
from gascity.session.watch import SeenCallback, Watch
from gascity_guest import making
from gascity_guest.hand import Guest
from gascity_guest.making import Maker
from gascity_guest.settings import Settings
from gascity_guest.view import View, patient
from gascity_guest.watching import GuestWatch


class Provider(InOneTmux[Pane]):
    """Sessions in a guest."""

    name = "guest"
    is_local = False
    lasting = frozenset({"socket", "connect", "token_file"})
    parallel = 8

    def __init__(self, context: CityContext) -> None:
        super().__init__(context)
        settings = _settings(context)
        mark = naming.city_mark(context.city_id)
        self._guest = Guest(settings, mark, self._check_lead)
        self._view = View(self._guest, mark)
        self._maker = Maker(context, self._guest, self._view, settings)

    def use(self, context: CityContext) -> None:
        """Make sessions by other settings from now on."""
        super().use(context)
        self._maker.context = context
        self._maker.settings = _settings(context)

    @classmethod
    def check_settings(cls, settings: Mapping[str, object], folder: str = "") -> None:
        """Refuse a table `[session.guest]` that makes no sense."""
        Settings.read(settings, folder)

    @classmethod
    def shape(cls, settings: Mapping[str, object], folder: str) -> Mapping[str, str]:
        """Return where the city's folder stands: a session that was made elsewhere has drifted."""
        place = Settings.read(settings, folder).workspace
        return {"workspace": place} if place else {}

    @classmethod
    def sources(cls, settings: Mapping[str, object], folder: str) -> tuple[str, ...]:
        """Return the file of the token."""
        path = Settings.read(settings, folder).token_file
        return (path,) if path else ()

    def about(self) -> str:
        """Say which guest it is, and which tmux it has."""
        version = self._guest.version(time.monotonic() + 5.0)
        return f"tmux {version} in the guest at {self._maker.settings.address}"

    def close(self) -> None:
        """Hang up. Sessions are not touched."""
        self._guest.close()

    # --- life

    def start(self, name: str, config: SessionConfig, *, timeout: float) -> None:
        """Bring a session up; see the contract."""
        from gascity.session.startup import bring_up  # noqa: PLC0415  who only looks needs none
        from gascity_guest.target import GuestTarget  # noqa: PLC0415  likewise

        if not naming.is_name(name):
            raise StartFailed(f"{name!r} cannot be the name of a session")
        deadline = time.monotonic() + timeout
        prompt = config.hints.ready_prompt_prefix
        self._maker.take_words(name)  # of an earlier start, that nobody asked for
        target = GuestTarget(
            self,
            name,
            config,
            self._guest,
            self._view,
            self._maker,
            rules=self.context.screens.of(config.meta.get(BACKEND, ""), prompt),
            hold=partial(session_lock, self.context.state_dir, name),
            greet=partial(self._talker().nudge, inside=True),
            deadline=deadline,
        )
        try:
            with session_lock(self.context.state_dir, name, AT_ONCE, purpose="start"):
                found = self._view.find(name, deadline)
                if found is not None and found.alive:  # its work folder is not to be touched
                    raise SessionExists(f"session {name} exists already")
                bring_up(name, config, target, timeout=deadline - time.monotonic())
        except SessionBusy as problem:
            raise SessionExists(f"session {name} is being started by someone else") from problem
        except StartFailed:
            self._maker.tidy()
            raise

    def stop_all(
        self, names: Sequence[str], *, grace: float, timeout: float
    ) -> Mapping[str, GascityError]:
        """Stop several: the guest's processes are looked at for all of them at once."""
        now = time.monotonic()
        deadline = now + timeout - min(0.5, timeout * 0.1)
        kill_at = now + min(grace, timeout * 0.7)
        return self._maker.stop(names, kill_at=kill_at, deadline=deadline)

    # --- questions

    def observe(self, *, timeout: float) -> Mapping[str, SessionState]:
        """Return every session in one round trip, and a second one for metadata that changed."""
        deadline = time.monotonic() + timeout
        return patient(lambda: self._observe(deadline), deadline)

    def _observe(self, deadline: float) -> Mapping[str, SessionState]:
        look = self._view.look(deadline)
        stored = self._view.metadata(look.panes, deadline)
        self._view.forget_all_but(look.panes)
        states = making.states(look, stored)
        return states | self._maker.survivors(look, deadline)

    def watch(
        self,
        wake: Callable[[], None],
        *,
        seen: SeenCallback | None = None,  # noqa: ARG002  nothing is known for certain unasked
        interval: float = 1.0,
    ) -> Watch:
        """Call `wake` when a look at the guest finds a change; see `GuestWatch`."""
        return GuestWatch(self._view, wake, interval)

    def process_alive(self, name: str, names: Sequence[str], *, timeout: float) -> bool:
        """Tell whether one of `names` lives in the session's process tree."""
        return self.processes_alive({name: names}, timeout=timeout)[name]

    def processes_alive(
        self, wanted: Mapping[str, Sequence[str]], *, timeout: float
    ) -> Mapping[str, bool]:
        """Answer for several sessions from one look at the guest's processes."""
        deadline = time.monotonic() + timeout
        only = next(iter(wanted)) if len(wanted) == 1 else ""
        if only and not naming.is_name(only):
            return {only: False}
        found = panes.by_name(self._view.look(deadline, only).panes)
        roots = {name: found[name].pid for name in wanted if name in found and found[name].alive}
        trees: Mapping[str, set[str]] = {}
        if any(wanted[name] for name in roots):
            trees = self._view.programs(roots, deadline)
        return {
            name: name in roots and (not names or processes.matches(names, trees[name]))
            for name, names in wanted.items()
        }

    def list_running(self, prefix: str, *, timeout: float) -> list[str]:
        """Return the sorted names of the sessions that run."""
        found = panes.by_name(self._view.look(time.monotonic() + timeout).panes)
        return sorted(n for n, pane in found.items() if pane.alive and n.startswith(prefix))

    def last_activity(self, name: str, *, timeout: float) -> float | None:
        """Return when the session last showed something."""
        if not naming.is_name(name):
            return None
        look = self._view.look(time.monotonic() + timeout, name)
        found = panes.by_name(look.panes).get(name)
        return None if found is None else making.on_our_clock(found.activity, look)

    # --- talk

    def attach(self, name: str, *, read_only: bool = False) -> int:
        """Refuse: the protocol has no terminal to give."""
        del read_only
        socket = self._guest.home(time.monotonic() + 5.0).socket
        there = f"tmux -S {socket} attach -t ={naming.session_name(name)}"
        hint = f"inside it: {there}; from here: gc peek"
        raise NotSupported("a guest has no terminal to give", hint=hint)

    def screens(
        self, names: Sequence[str], *, since: float | None = None, timeout: float
    ) -> Mapping[str, Screen]:
        """Return what several sessions show; not of those that showed nothing new."""
        from gascity.session.tmux.terminal import look_at  # noqa: PLC0415  as above

        deadline = time.monotonic() + timeout
        look = self._view.look(deadline)
        shown = [
            pane
            for name, pane in panes.by_name(look.panes).items()
            # tmux counts whole seconds.
            if name in names
            and (since is None or making.on_our_clock(pane.activity, look) >= since - 1)
        ]
        return look_at(self._view, shown, deadline)

    # --- how

    def get_meta(self, name: str, key: str, *, timeout: float) -> str | None:
        """Return a stored value, also where the guest's tmux begins anew meanwhile."""
        deadline = time.monotonic() + timeout
        ask = super().get_meta
        return patient(lambda: ask(name, key, timeout=deadline - time.monotonic()), deadline)

    def _tmux(self) -> View:
        return self._view

    def _take_words(self, name: str) -> str:
        return self._maker.take_words(name)

    def _place(self, work: str, src: str, rel_dst: str, deadline: float) -> None:
        from gascity_guest.target import place  # noqa: PLC0415  as above

        place(self._guest, work, src, rel_dst, overwrite=True, deadline=deadline)

    def _change(self, name: str, change: Callable[[str], str], timeout: float) -> bool:
        deadline = time.monotonic() + timeout
        try:
            return super()._change(name, change, timeout)
        except Lost:
            if self._view.find(name, deadline) is None:
                return False
            raise

    def _check_lead(self) -> None:
        """Raise when another controller leads; the city may have been read again."""
        self.context.fence()


def _settings(context: CityContext) -> Settings:
    folder = os.path.dirname(os.path.abspath(context.state_dir))
    return Settings.read(context.settings, folder)
