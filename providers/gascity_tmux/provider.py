"""The session provider `tmux`: one session per agent, on a tmux server of the city's own."""

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
    ProviderError,
    SessionExists,
    SessionNotFound,
    StartFailed,
    StopTimedOut,
)
from gascity.screens.screen import Screen
from gascity.session import kin, overlay, processes
from gascity.session.locks import AT_ONCE, SessionBusy, session_lock
from gascity.session.provider import CityContext, SessionProvider
from gascity.session.receipts import Receipt
from gascity.session.terminal import Terminal
from gascity.session.tmux import meta, panes, screen
from gascity.session.tmux.panes import Pane
from gascity.session.tmux.wire import command
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

if TYPE_CHECKING:
    from gascity.session.tmux.talk import Talker


class Provider(SessionProvider):
    """Sessions in tmux."""

    name = "tmux"
    keeps_previous_output = True

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

    def stop(self, name: str, *, grace: float, timeout: float) -> None:
        """End the session with all its processes; see the contract."""
        for problem in self.stop_all([name], grace=grace, timeout=timeout).values():
            raise problem

    def stop_all(
        self, names: Sequence[str], *, grace: float, timeout: float
    ) -> Mapping[str, GascityError]:
        """Stop several: the process table is read for all of them at once."""
        now = time.monotonic()
        deadline = now + timeout - min(0.5, timeout * 0.1)
        kill_at = now + min(grace, timeout * 0.7)
        wanted = [name for name in dict.fromkeys(names) if layout.is_name(name)]
        listed = self._view.list(deadline)
        found = panes.by_name(listed)
        there = [name for name in wanted if name in found or self._maker.may_be_left(name)]
        relatives = {name: self._maker.kin(name, found.get(name)) for name in there}
        survivors = kin.end(relatives, kill_at=kill_at, deadline=deadline)
        self._maker.remove([name for name in there if name not in survivors], listed, now + timeout)
        return {name: StopTimedOut(_survived(name, left)) for name, left in survivors.items()}

    def interrupt(self, name: str, *, timeout: float) -> None:
        """Press Ctrl-C."""
        self.send_keys(name, ["C-c"], timeout=timeout)

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

    def is_running(self, name: str, *, timeout: float) -> bool:
        """Tell whether the session exists and its program lives."""
        found = self._view.find(name, time.monotonic() + timeout)
        return found is not None and found.alive

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

    def nudge(
        self, name: str, text: str, *, timeout: float, wait: bool = False, raw: bool = False
    ) -> Receipt:
        """Paste the text, press Enter, and tell whether the program took it; see `talk`."""
        return self._talker().nudge(name, text, timeout=timeout, wait=wait, raw=raw)

    def terminal(self, name: str) -> Terminal | None:
        """Return the session's terminal."""
        found = self._view.find(name, time.monotonic() + 5.0)
        if found is None:
            return None
        from gascity.session.tmux.terminal import TmuxTerminal  # noqa: PLC0415  as above

        return TmuxTerminal(self._view, found)

    def screens(
        self, names: Sequence[str], *, since: float | None = None, timeout: float
    ) -> Mapping[str, Screen]:
        """Return what several sessions show, in two round trips."""
        from gascity.session.tmux.terminal import look_at  # noqa: PLC0415  as above

        deadline = time.monotonic() + timeout
        return look_at(self._view, self._view.shown_since(names, since, deadline), deadline)

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
        """Store a value in the session's environment."""
        if not self._change_meta(
            name, lambda session: meta.set_command(session, key, value), timeout
        ):
            raise SessionNotFound(f"there is no session {name}")

    def get_meta(self, name: str, key: str, *, timeout: float) -> str | None:
        """Return a stored value."""
        deadline = time.monotonic() + timeout
        found = self._view.find(name, deadline)
        if found is None:
            return None
        return self._view.stored(found, deadline).get(key)

    def remove_meta(self, name: str, key: str, *, timeout: float) -> None:
        """Forget a key."""
        self._change_meta(name, lambda session: meta.unset_command(session, key), timeout)

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
        try:
            overlay.place(answered[0].text, src, rel_dst, overwrite=True)
        except OSError as problem:
            raise ProviderError(f"{src} was not copied to session {name}: {problem}") from problem

    # --- how

    def _talker(self) -> Talker[Pane]:
        """Return what talks by the rules of today: the city may have been read again."""
        from gascity.session.tmux.talk import Talker  # noqa: PLC0415  as above

        return Talker(self.context, self._view)

    def _change_meta(self, name: str, change: Callable[[str], str], timeout: float) -> bool:
        deadline = time.monotonic() + timeout
        found = self._view.find(name, deadline)
        if found is None:
            return False
        renewed = meta.set_command(found.session, panes.VERSION, os.urandom(8).hex())
        line = " ; ".join([change(found.session), renewed, tell_hub()])
        return self._view.do(line, deadline, of=found)


def _survived(name: str, left: Sequence[int]) -> str:
    numbers = ", ".join(str(pid) for pid in sorted(left))
    return f"session {name} could not be stopped: process {numbers} still there"
