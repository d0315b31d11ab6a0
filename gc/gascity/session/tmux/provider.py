"""What providers share whose agents live in a tmux, wherever that runs: in each pod, one for all.

Who only looks at sessions, as `gc status` does, pays for nothing of what talks to them.
"""

from __future__ import annotations

import os
import time
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Generic

from gascity.errors import GascityError, ProviderError, SessionNotFound
from gascity.session.locks import session_lock
from gascity.session.provider import SessionProvider
from gascity.session.receipts import Receipt
from gascity.session.terminal import Terminal
from gascity.session.tmux import meta, panes, screen
from gascity.session.tmux.contract import P, Tmux
from gascity.session.tmux.wire import command

if TYPE_CHECKING:
    from gascity.session.tmux.talk import Talker

FOUND = 5.0  # seconds to find a session's terminal


class InTmux(SessionProvider, Generic[P]):
    """Sessions that are talked to through a tmux."""

    keeps_previous_output = True

    @abstractmethod
    def _tmux(self) -> Tmux[P]:
        """Return what reaches the tmux that a session lives in."""

    @abstractmethod
    def _take_words(self, name: str) -> str:
        """Return what was kept of the session that the last start replaced, and forget it."""

    def _do(self, tmux: Tmux[P], pane: P, line: str, deadline: float) -> None:
        """Have tmux do a line about a pane; nothing happens where it is gone meanwhile."""
        tmux.do(line, deadline, of=pane)

    def interrupt(self, name: str, *, timeout: float) -> None:
        """Press Ctrl-C."""
        self.send_keys(name, ["C-c"], timeout=timeout)

    def nudge(
        self, name: str, text: str, *, timeout: float, wait: bool = False, raw: bool = False
    ) -> Receipt:
        """Paste the text, press Enter, and tell whether the program took it; see `talk`."""
        return self._talker().nudge(name, text, timeout=timeout, wait=wait, raw=raw)

    def terminal(self, name: str) -> Terminal | None:
        """Return the session's terminal."""
        from gascity.session.tmux.terminal import TmuxTerminal  # noqa: PLC0415  who only looks

        tmux = self._tmux()
        pane = tmux.find(name, time.monotonic() + FOUND)
        return None if pane is None else TmuxTerminal(tmux, pane)

    def send_keys(self, name: str, keys: Sequence[str], *, timeout: float) -> None:
        """Press keys."""
        from gascity.session.tmux.keys import keys_line  # noqa: PLC0415  who only looks

        deadline = time.monotonic() + timeout
        tmux = self._tmux()
        pane = tmux.find(name, deadline)
        if pane is None or not pane.alive or not keys:
            return
        line = keys_line(pane.id, list(keys))
        with session_lock(self.context.state_dir, name, deadline - time.monotonic()):
            self._do(tmux, pane, line, deadline)

    def previous_output(self, name: str, lines: int) -> str:
        """Return the last lines of the session that the last start replaced, once."""
        kept = self._take_words(name).splitlines()
        return "\n".join(kept[-lines:] if lines > 0 else kept)

    def clear_scrollback(self, name: str, *, timeout: float) -> None:
        """Forget what scrolled away."""
        deadline = time.monotonic() + timeout
        tmux = self._tmux()
        pane = tmux.find(name, deadline)
        if pane is not None:
            self._do(tmux, pane, command("clear-history", "-t", pane.id), deadline)

    def _talker(self) -> Talker[P]:
        """Return what talks by the rules of today: the city may have been read again."""
        from gascity.session.tmux.talk import Talker  # noqa: PLC0415  who only looks

        return Talker(self.context, self._tmux())


class InOneTmux(InTmux[P]):
    """Sessions of one tmux server, which keeps their metadata in their environment."""

    _told = ""
    """A command that tells who listens of changed metadata, where the server does not."""

    @abstractmethod
    def stop_all(
        self, names: Sequence[str], *, grace: float, timeout: float
    ) -> Mapping[str, GascityError]:
        """Stop several; return why some of them could not be."""

    def stop(self, name: str, *, grace: float, timeout: float) -> None:
        """End the session with all its processes; see the contract."""
        for problem in self.stop_all([name], grace=grace, timeout=timeout).values():
            raise problem

    @abstractmethod
    def _place(self, work: str, src: str, rel_dst: str, deadline: float) -> None:
        """Copy a file or folder into a work folder, over what is there. Raises OSError."""

    def is_running(self, name: str, *, timeout: float) -> bool:
        """Tell whether the session exists and its program lives."""
        found = self._tmux().find(name, time.monotonic() + timeout)
        return found is not None and found.alive

    def peek(self, name: str, lines: int, *, timeout: float, colours: bool = False) -> str:
        """Return the last lines the session showed, also after it ended."""
        return screen.peek(self._tmux(), name, lines, time.monotonic() + timeout, colours=colours)

    def set_meta(self, name: str, key: str, value: str, *, timeout: float) -> None:
        """Store a value in the session's environment."""
        if not self._change(name, lambda session: meta.set_command(session, key, value), timeout):
            raise SessionNotFound(f"there is no session {name}")

    def get_meta(self, name: str, key: str, *, timeout: float) -> str | None:
        """Return a stored value."""
        deadline = time.monotonic() + timeout
        tmux = self._tmux()
        found = tmux.find(name, deadline)
        return None if found is None else tmux.stored(found, deadline).get(key)

    def remove_meta(self, name: str, key: str, *, timeout: float) -> None:
        """Forget a key."""
        self._change(name, lambda session: meta.unset_command(session, key), timeout)

    def copy_to(self, name: str, src: str, rel_dst: str, *, timeout: float) -> None:
        """Copy a file or folder into the session's work folder, over what is there."""
        deadline = time.monotonic() + timeout
        tmux = self._tmux()
        found = tmux.find(name, deadline)
        if found is None or not os.path.exists(src):
            return
        asked = command("display-message", "-p", "-t", found.id, "#{pane_start_path}")
        answered = tmux.ask(asked, deadline=deadline, of=found)
        if not answered or not answered[0].ok:
            return
        try:
            self._place(answered[0].text.rstrip("\n"), src, rel_dst, deadline)
        except OSError as problem:
            raise ProviderError(f"{src} was not copied to session {name}: {problem}") from problem

    def _change(self, name: str, change: Callable[[str], str], timeout: float) -> bool:
        """Change metadata; False when there is no session."""
        deadline = time.monotonic() + timeout
        tmux = self._tmux()
        found = tmux.find(name, deadline)
        if found is None:
            return False
        renewed = meta.set_command(found.session, panes.VERSION, os.urandom(8).hex())
        line = " ; ".join(filter(None, [change(found.session), renewed, self._told]))
        return tmux.do(line, deadline, of=found)
