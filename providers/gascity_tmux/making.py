"""Making sessions and removing them: what has to hold before, and what is left to do after."""

from __future__ import annotations

import contextlib
import itertools
import os
import time
from collections.abc import Collection, Sequence

from gascity.core.model import SessionConfig
from gascity.errors import GascityError, SessionExists, StartFailed
from gascity.session import kin
from gascity.session.kin import Kin
from gascity.session.provider import CityContext
from gascity.session.tmux import screen
from gascity.session.tmux.panes import Pane
from gascity.session.tmux.problems import Gone, Lost
from gascity.session.tmux.wire import Block, command
from gascity_tmux import create, layout
from gascity_tmux.create import Birth
from gascity_tmux.server import Server, scrub_lines
from gascity_tmux.view import View

_MADE = "gc-made"  # what tmux says between making a session and removing the one before
LEFTOVERS = 5.0  # seconds for the killed processes of an ended session to vanish
KEPT_LINES = 200  # of what a replaced session showed


class Maker:
    """Makes and removes the sessions of one city."""

    def __init__(self, context: CityContext, server: Server, view: View) -> None:
        self._context = context
        self._server = server
        self._view = view
        self._home = server.home
        self._words: dict[str, str] = {}

    def create(self, name: str, config: SessionConfig, timeout: float) -> None:
        """Create a session in place of one that ended. Raises SessionExists or StartFailed."""
        deadline = time.monotonic() + timeout
        create.check(name, config)
        ended: Pane | None = None
        if self.may_be_left(name) or self._view.has_seen(name):
            ended = self._clear_the_ground(name, deadline)
        token = os.urandom(8).hex()
        birth = Birth(
            name=name,
            config=config,
            city=self._context.city,
            city_mark=layout.city_mark(self._context.city_id),
            token=token,
            mark=layout.mark(self._home, name, token),
            script=self._script(name, config.command),
        )
        self._leave_trace(name)
        try:
            failed = self._make(birth, ended, deadline)
            if failed is not None and "duplicate" in failed.text and ended is None:
                ended = self._clear_the_ground(name, deadline)  # it may have lost its trace
                if ended is None:
                    self._view.do(create.aside_line(birth), deadline, of=None)
                failed = self._make(birth, ended, deadline)
            if failed is not None:
                raise self._refusal(birth, failed, deadline)
        except GascityError:
            _remove_file(birth.script)
            raise

    def keep_words(self, ended: Pane, deadline: float) -> None:
        """Keep the last lines of a session that is going to be replaced."""
        with contextlib.suppress(GascityError):  # they are gone with their server
            answered = self._view.ask(_last_words(ended), deadline=deadline, of=ended)
            self._words[ended.name] = _said(answered)

    def take_words(self, name: str) -> str:
        """Return what was kept of the session that was replaced last, and forget it."""
        return self._words.pop(name, "")

    def kin(self, name: str, pane: Pane | None) -> Kin:
        """Return how the processes of a session are recognised."""
        root = self._view.process(pane) if pane is not None else None
        return Kin(layout.mark(self._home, name), root)

    def may_be_left(self, name: str) -> bool:
        """Tell whether something of a session may be there that tmux does not know of."""
        return os.path.exists(layout.record(self._home, name))

    def remove(self, names: Collection[str], found: Collection[Pane], deadline: float) -> None:
        """Remove sessions that have no process any more, and the server with the last one.

        `found` holds all panes of the city. A session that came after them keeps its trace.
        """
        going = [pane for pane in found if pane.name in names]
        staying = {pane.session for pane in found if pane.name not in names}
        kills = [
            pane.only(command("kill-session", "-t", pane.session))
            for pane in going
            if pane.session not in staying  # a person may have moved a pane into another session
        ]
        kills += [pane.only(command("kill-pane", "-t", pane.id)) for pane in going]
        if kills:
            self._server.end(kills, deadline=deadline)
        there = self._view.names(deadline)
        for name in names:
            if name not in there:
                self._remove_trace(name)

    # --- how

    def _make(self, birth: Birth, ended: Pane | None, deadline: float) -> Block | None:
        """Have it made in place of one that ended; return what tmux said when it could not be.

        The first line makes it. All lines go at once: whoever sends them may be gone before the
        first is answered. What tmux says to those after it are the last words of the one before.
        """
        lines = [create.line(birth, self._server.settings, replaced=ended)]
        if ended is not None:
            clients = self._clients_of(ended, deadline)
            lines += [_last_words(ended), *create.farewell_lines(birth, ended, clients)]
        made = command("display-message", "-p", _MADE)
        while True:
            connection = self._server.connect(deadline=deadline, start=True)
            assert connection is not None  # noqa: S101  it was to be started
            try:
                shown = connection.ask(command("show-environment", "-g"), deadline=deadline)
                scrub = scrub_lines(shown[0])
                said = (*scrub, lines[0], made, *lines[1:])
                answered = connection.ask(*said, deadline=deadline)[len(scrub) :]
                making = list(itertools.takewhile(lambda block: block.text != _MADE, answered))
                failed = next((block for block in making if not block.ok), None)
                self._words[birth.name] = _said(answered[len(making) + 1 :])
                return failed
            except Lost:
                found = self._view.find(birth.name, deadline)  # it may have been done before
                if found is None:
                    continue
                return (
                    None if found.token == birth.token else Block(ok=False, lines=(b"duplicate",))
                )

    def _clear_the_ground(self, name: str, deadline: float) -> Pane | None:
        """End what an earlier incarnation left; return its pane, if tmux still has it."""
        found = self._view.find(name, deadline)
        if found is not None and found.alive:
            raise SessionExists(f"session {name} exists already")
        until = min(deadline, time.monotonic() + LEFTOVERS)
        relatives = self.kin(name, found)
        if relatives.root is not None and not kin.remain(relatives, self._server.children()):
            return found
        survivors = kin.end({name: relatives}, kill_at=0.0, deadline=until)
        for left in survivors.values():
            raise StartFailed(f"processes of the last session {name} do not end: {left}")
        return found

    def _clients_of(self, ended: Pane, deadline: float) -> list[str]:
        if not ended.attached:
            return []
        asked = command("list-clients", "-t", ended.session, "-F", "#{client_name}")
        try:
            answered = self._view.ask(asked, deadline=deadline, of=ended)
        except Gone:
            return []
        return answered[0].text.split("\n") if answered and answered[0].ok else []

    def _refusal(self, birth: Birth, failed: Block, deadline: float) -> GascityError:
        """Return why a session could not be made, told from what tmux said; none is left then."""
        name = birth.name
        found = self._view.find(name, deadline)
        if found is not None and found.alive and found.token != birth.token:
            return SessionExists(f"session {name} exists already")
        kin.end({name: self.kin(name, found)}, kill_at=0.0, deadline=deadline)
        self.remove([name], self._view.list(deadline), deadline)
        if "duplicate" not in failed.text:
            return StartFailed(f"session {name} could not be started: {failed.text}")
        theirs = layout.session_name(name)
        return StartFailed(
            f"tmux has a session {theirs} that is not of this city; it is left alone",
            hint=f"tmux -S {self._server.socket} kill-session -t ={theirs}",
        )

    def _script(self, name: str, text: str) -> str:
        """Return a file that holds a command too long for an argument; it removes itself."""
        if not create.is_long(text):
            return ""
        path = f"{layout.record(self._home, name)}.{os.urandom(4).hex()}.sh"
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        with open(path, "wb", opener=_private) as file:
            # The shell has the file open by then.
            file.write(b'/bin/rm -f -- "$0"\n' + os.fsencode(text))
        return path

    def _leave_trace(self, name: str) -> None:
        path = layout.record(self._home, name)
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        os.close(os.open(path, os.O_CREAT | os.O_WRONLY, 0o600))

    def _remove_trace(self, name: str) -> None:
        _remove_file(layout.record(self._home, name))


def _remove_file(path: str) -> None:
    with contextlib.suppress(FileNotFoundError):
        os.unlink(path)


def _last_words(pane: Pane) -> str:
    return pane.only(screen.last(pane.id, KEPT_LINES))


def _said(answered: Sequence[Block]) -> str:
    """Return what a screen showed: the lines of all answers that are no refusal."""
    shown = [line for block in answered if block.ok for line in block.lines]
    return "\n".join(screen.trimmed(shown)[-KEPT_LINES:])


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)
