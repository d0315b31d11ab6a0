"""The session provider `guest`: agents inside whatever answers the guest protocol on a socket.

Sessions live in a tmux inside, reached by `exec`. Nothing of ours has to be there but the daemon:
sh, tmux and the common small tools do the rest.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from gascity.core.model import SessionConfig
from gascity.core.observed import BACKEND, SessionState
from gascity.errors import (
    GascityError,
    NotSupported,
    ProviderError,
    SessionExists,
    SessionNotFound,
    StartFailed,
)
from gascity.screens.screen import Screen
from gascity.session import processes
from gascity.session.locks import AT_ONCE, SessionBusy, session_lock
from gascity.session.provider import CityContext, SessionProvider
from gascity.session.receipts import Receipt
from gascity.session.terminal import Terminal
from gascity.session.tmux import meta, naming, panes, screen
from gascity.session.tmux.panes import VERSION, Pane
from gascity.session.tmux.problems import Lost
from gascity.session.tmux.wire import command
from gascity.session.watch import SeenCallback, Watch
from gascity_guest import making
from gascity_guest.hand import Guest
from gascity_guest.making import Maker
from gascity_guest.settings import Settings
from gascity_guest.view import View, patient
from gascity_guest.watching import GuestWatch

if TYPE_CHECKING:
    from gascity.session.tmux.talk import Talker


class Provider(SessionProvider):
    """Sessions in a guest."""

    name = "guest"
    is_local = False
    lasting = frozenset({"socket", "connect", "token_file"})
    parallel = 8
    keeps_previous_output = True

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

    def stop(self, name: str, *, grace: float, timeout: float) -> None:
        """End the session with all its processes; see the contract."""
        for problem in self.stop_all([name], grace=grace, timeout=timeout).values():
            raise problem

    def stop_all(
        self, names: Sequence[str], *, grace: float, timeout: float
    ) -> Mapping[str, GascityError]:
        """Stop several: the guest's processes are looked at for all of them at once."""
        now = time.monotonic()
        deadline = now + timeout - min(0.5, timeout * 0.1)
        kill_at = now + min(grace, timeout * 0.7)
        return self._maker.stop(names, kill_at=kill_at, deadline=deadline)

    def interrupt(self, name: str, *, timeout: float) -> None:
        """Press Ctrl-C."""
        self.send_keys(name, ["C-c"], timeout=timeout)

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

    def is_running(self, name: str, *, timeout: float) -> bool:
        """Tell whether the session exists and its program lives."""
        found = self._view.find(name, time.monotonic() + timeout)
        return found is not None and found.alive

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

    def nudge(
        self, name: str, text: str, *, timeout: float, wait: bool = False, raw: bool = False
    ) -> Receipt:
        """Paste the text, press Enter, and tell whether the program took it."""
        return self._talker().nudge(name, text, timeout=timeout, wait=wait, raw=raw)

    def terminal(self, name: str) -> Terminal | None:
        """Return the session's terminal."""
        from gascity.session.tmux.terminal import TmuxTerminal  # noqa: PLC0415  who looks only

        found = self._view.find(name, time.monotonic() + 5.0)
        return None if found is None else TmuxTerminal(self._view, found)

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

    def send_keys(self, name: str, keys_: Sequence[str], *, timeout: float) -> None:
        """Press keys."""
        deadline = time.monotonic() + timeout
        found = self._view.find(name, deadline)
        if found is None or not found.alive or not keys_:
            return
        from gascity.session.tmux.keys import keys_line  # noqa: PLC0415  as above

        line = keys_line(found.id, list(keys_))
        with session_lock(self.context.state_dir, name, deadline - time.monotonic()):
            self._view.do(line, deadline, of=found)

    def peek(self, name: str, lines: int, *, timeout: float, colours: bool = False) -> str:
        """Return the last lines the session showed, also after it ended."""
        return screen.peek(self._view, name, lines, time.monotonic() + timeout, colours=colours)

    def previous_output(self, name: str, lines: int) -> str:
        """Return the last lines of the session that the last start replaced, once."""
        kept = self._maker.take_words(name).splitlines()
        return "\n".join(kept[-lines:] if lines > 0 else kept)

    def clear_scrollback(self, name: str, *, timeout: float) -> None:
        """Forget what scrolled away."""
        deadline = time.monotonic() + timeout
        found = self._view.find(name, deadline)
        if found is not None:
            self._view.do(command("clear-history", "-t", found.id), deadline, of=found)

    # --- metadata

    def set_meta(self, name: str, key: str, value: str, *, timeout: float) -> None:
        """Store a value with the session, in the guest's tmux."""
        if not self._change(name, lambda session: meta.set_command(session, key, value), timeout):
            raise SessionNotFound(f"there is no session {name}")

    def get_meta(self, name: str, key: str, *, timeout: float) -> str | None:
        """Return a stored value."""
        deadline = time.monotonic() + timeout

        def read() -> str | None:
            found = self._view.find(name, deadline)
            return None if found is None else self._view.stored(found, deadline).get(key)

        return patient(read, deadline)

    def remove_meta(self, name: str, key: str, *, timeout: float) -> None:
        """Forget a key."""
        self._change(name, lambda session: meta.unset_command(session, key), timeout)

    def copy_to(self, name: str, src: str, rel_dst: str, *, timeout: float) -> None:
        """Copy a file or folder into the session's work folder, over what is there."""
        deadline = time.monotonic() + timeout
        found = self._view.find(name, deadline)
        if found is None or not os.path.exists(src):
            return
        asked = command("display-message", "-p", "-t", found.id, "#{pane_start_path}")
        answered = self._view.ask(asked, deadline=deadline, of=found)
        if not answered or not answered[0].ok:
            return
        from gascity_guest.target import place  # noqa: PLC0415  as above

        work = answered[0].text.rstrip("\n")
        try:
            place(self._guest, work, src, rel_dst, overwrite=True, deadline=deadline)
        except OSError as problem:
            raise ProviderError(f"{src} was not copied to session {name}: {problem}") from problem

    # --- how

    def _check_lead(self) -> None:
        """Raise when another controller leads; the city may have been read again."""
        self.context.fence()

    def _talker(self) -> Talker[Pane]:
        """Return what talks by the rules of today: the city may have been read again."""
        from gascity.session.tmux.talk import Talker  # noqa: PLC0415  as above

        return Talker(self.context, self._view)

    def _change(self, name: str, change: Callable[[str], str], timeout: float) -> bool:
        deadline = time.monotonic() + timeout
        found = self._view.find(name, deadline)
        if found is None:
            return False
        renewed = meta.set_command(found.session, VERSION, os.urandom(8).hex())
        try:
            return self._view.do(f"{change(found.session)} ; {renewed}", deadline, of=found)
        except Lost:
            if self._view.find(name, deadline) is None:
                return False
            raise


def _settings(context: CityContext) -> Settings:
    folder = os.path.dirname(os.path.abspath(context.state_dir))
    return Settings.read(context.settings, folder)
