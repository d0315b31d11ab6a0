"""Making sessions in the guest and removing them: what holds before, and what is left to do."""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Collection, Mapping, Sequence

from gascity.core.model import SessionConfig
from gascity.core.observed import CITY_ID, Exited, SessionState
from gascity.errors import GascityError, SessionExists, StartFailed, StopTimedOut
from gascity.session.provider import CityContext
from gascity.session.tmux import naming, panes, screen, shell
from gascity.session.tmux.panes import Pane
from gascity.session.tmux.problems import Lost
from gascity.session.tmux.shell import quote
from gascity.session.tmux.wire import Block, command
from gascity_guest import birth as births
from gascity_guest import family
from gascity_guest.birth import Birth
from gascity_guest.hand import Done, Guest
from gascity_guest.places import Paths
from gascity_guest.settings import Settings
from gascity_guest.view import Look, View

LEFTOVERS = 5.0  # seconds for the killed processes of an ended session to vanish
OVERDUE, SIGNALLED = 124, 128  # exit codes: after a time limit, and what those of signals begin at
KEPT_LINES = 200  # of what a replaced session showed
# What is said where a server, or with the last session its folder, went away meanwhile.
_LEAVING = (
    *("no server running", "error connecting", "lost server", "server exited"),
    *("nonexistent", "No such file"),
)


class Maker:
    """Makes and removes the sessions of one city."""

    def __init__(self, context: CityContext, guest: Guest, view: View, settings: Settings) -> None:
        self.context = context
        self.settings = settings
        self._guest = guest
        self._view = view
        self._mark = naming.city_mark(context.city_id)
        self._lock = threading.Lock()
        self._words: dict[str, str] = {}

    @property
    def paths(self) -> Paths:
        """The city's folder here and in the guest."""
        city = os.path.dirname(os.path.abspath(self.context.state_dir))
        return Paths(city, self.settings.workspace)

    def create(self, name: str, config: SessionConfig, timeout: float) -> None:
        """Create a session in place of one that ended. Raises SessionExists or StartFailed."""
        deadline = time.monotonic() + timeout
        ended = self.clear_the_ground(name, deadline)
        home = self._guest.home(deadline)
        token = os.urandom(8).hex()
        birth = Birth(
            name=name,
            config=config,
            env=self.paths.environment(config.env),
            work_dir=self.paths.inside(config.work_dir),
            city=self.context.city,
            city_mark=self._mark,
            mark=home.mark(name, token),
            token=token,
            script=self._script(config.command, deadline),
        )
        failed = self._make(birth, ended, deadline)
        if failed is not None:
            raise self._refusal(birth, failed, deadline)

    def clear_the_ground(self, name: str, deadline: float) -> Pane | None:
        """End what is left of an earlier incarnation; return its pane, if there is one.

        Raises SessionExists when it lives.
        """
        look = self._view.look(deadline, name)
        found = panes.by_name(look.panes).get(name)
        if found is not None and found.alive:
            raise SessionExists(f"session {name} exists already")
        if name in look.traces or found is not None:
            if found is not None:
                self._keep_words(found, deadline)
            until = min(deadline, time.monotonic() + LEFTOVERS)
            home = self._guest.home(deadline)
            left = family.end(self._guest, home, {name: None}, kill_at=0.0, deadline=until)
            if left:
                raise StartFailed(survived(name, left[name]))
        return found

    def stop(
        self, names: Sequence[str], *, kill_at: float, deadline: float
    ) -> dict[str, GascityError]:
        """End sessions with all their processes, and forget them; return why some could not be."""
        wanted = [name for name in dict.fromkeys(names) if naming.is_name(name)]
        look = self._view.look(deadline, wanted[0] if len(wanted) == 1 else "")
        found = panes.by_name(look.panes)
        there = [name for name in wanted if name in found or name in look.traces]
        if not there:
            return {}
        home = self._guest.home(deadline)
        roots = {name: _root(found.get(name)) for name in there}
        left = family.end(self._guest, home, roots, kill_at=kill_at, deadline=deadline)
        gone = [name for name in there if name not in left]
        self.remove([pane for pane in look.panes if pane.name in gone], gone, deadline)
        return {name: StopTimedOut(survived(name, pids)) for name, pids in left.items()}

    def remove(self, going: Collection[Pane], names: list[str], deadline: float) -> None:
        """Remove sessions that have no process any more, and the server with the last one."""
        if not names:
            return
        deadline = max(deadline, time.monotonic() + 2.0)
        for pane in going:
            session = pane.only(command("kill-session", "-t", pane.session))
            with contextlib.suppress(Lost):  # it is gone with its server
                self._view.do(session, deadline, of=pane)
        self._guest.may_act()
        home = self._guest.home(deadline)
        self._guest.run(births.remove_script(home, names), deadline=deadline)

    def tidy(self) -> None:
        """Remove the city's folder from the guest where it has no session."""
        deadline = time.monotonic() + 2.0
        with contextlib.suppress(GascityError):  # the next stop does it
            home = self._guest.home(deadline)
            self._guest.run(births.remove_script(home, []), deadline=deadline)

    def survivors(self, look: Look, deadline: float) -> dict[str, SessionState]:
        """Return what lives of sessions that tmux no longer has, as sessions that ended.

        The next start clears them away, or a stop.
        """
        there = {pane.name for pane in look.panes}
        missing = sorted(name for name in look.traces - there if naming.is_name(name))
        if not missing:
            return {}
        home = self._guest.home(deadline)
        table = family.look(self._guest, home, deadline)
        left = {name: table.members(home.mark(name), None) for name in missing}
        if not any(left.values()):
            self._forget([name for name in missing if not left[name]], deadline)
            return {}
        again = {pane.name for pane in self._view.look(deadline).panes}
        known = {CITY_ID: self.context.city_id}
        return {
            name: SessionState(name, Exited(), meta={**known, **table.told(processes)})
            for name, processes in left.items()
            if processes and name not in again
        }

    def take_words(self, name: str) -> str:
        """Return what was kept of the session that was replaced last, and forget it."""
        with self._lock:
            return self._words.pop(name, "")

    # --- how

    def _make(self, birth: Birth, ended: Pane | None, deadline: float) -> Block | None:
        """Have it made; return what tmux said when it could not be."""
        while True:
            home = self._guest.home(deadline)
            token = os.urandom(8).hex()
            text = births.line(birth, self.settings, replaced=ended)
            asked = shell.questions([text], token)
            path = self._guest.give(os.fsencode(asked), deadline=deadline)
            self._guest.may_act()
            script = births.make_script(birth, home, self.settings, path)
            try:
                done = _unbroken(self._guest.run(script, deadline=deadline))
            except Lost:
                found = self._view.find(birth.name, deadline)  # it may have been done before
                if found is None:
                    continue
                return (
                    None if found.token == birth.token else Block(ok=False, lines=(b"duplicate",))
                )
            answered = shell.blocks(done.output + os.fsencode(done.complaint), token, 1)
            failed = next((block for block in answered if not block.ok), None)
            if failed is not None and time.monotonic() < deadline and _is_leaving(failed):
                self._guest.run(births.prepare_script(home), deadline=deadline)
                ended = None  # the server ended between being looked at and being told
                continue
            return failed

    def _refusal(self, birth: Birth, failed: Block, deadline: float) -> GascityError:
        """Return why a session could not be made; none is left then."""
        name = birth.name
        found = self._view.find(name, deadline)
        if found is not None and found.alive and found.token != birth.token:
            return SessionExists(f"session {name} exists already")
        home = self._guest.home(deadline)
        roots = {name: _root(found)}
        family.end(self._guest, home, roots, kill_at=0.0, deadline=deadline)
        self.remove([found] if found is not None else [], [name], deadline)
        return StartFailed(f"session {name} could not be started: {failed.text.strip()}")

    def _script(self, text: str, deadline: float) -> str:
        """Return a file that holds a command too long for an argument; it removes itself."""
        if not births.is_long(text):
            return ""
        # The shell has the file open by then.
        whole = b'/bin/rm -f -- "$0"\n' + os.fsencode(text)
        return self._guest.give(whole, deadline=deadline)

    def _keep_words(self, pane: Pane, deadline: float) -> None:
        with contextlib.suppress(GascityError):  # they are gone with their server
            answered = self._view.ask(screen.last(pane.id, KEPT_LINES), deadline=deadline, of=pane)
            shown = [line for block in answered if block.ok for line in block.lines]
            with self._lock:
                self._words[pane.name] = "\n".join(screen.trimmed(shown)[-KEPT_LINES:])

    def _forget(self, names: list[str], deadline: float) -> None:
        """Forget that sessions may be there, unless one is being made at this moment."""
        home = self._guest.home(deadline)
        paths = " ".join(quote(f"{home.sessions}/{name}") for name in names)
        script = f"find {paths} -mmin +1 -exec rm -f {{}} \\; 2>/dev/null\n"
        self._guest.run(script + births.remove_script(home, []), deadline=deadline)


def survived(name: str, pids: Sequence[int]) -> str:
    """Say what is left of a session."""
    numbers = ", ".join(str(pid) for pid in sorted(pids))
    return f"session {name} could not be stopped: process {numbers} of the guest still there"


def states(look: Look, stored: Mapping[str, Mapping[str, str]]) -> dict[str, SessionState]:
    """Return the sessions of one look; those removed since are left out."""
    there = panes.by_name(pane for pane in look.panes if pane.session in stored)
    return {
        name: SessionState(
            name=name,
            life=pane.life,
            created=on_our_clock(pane.created, look),
            last_activity=on_our_clock(pane.activity, look),
            attached=pane.attached,
            meta=stored[pane.session],
            title=pane.title,
        )
        for name, pane in there.items()
    }


def on_our_clock(told: float, look: Look) -> float:
    """Return a time that the guest told by the clock of this machine."""
    return told + look.late if abs(look.late) > 2.0 else told  # they count whole seconds


def _root(pane: Pane | None) -> int | None:
    return pane.pid if pane is not None and pane.alive else None


def _unbroken(done: Done) -> Done:
    """Return what ended of itself; raises Lost for what was ended, by a stopping daemon perhaps."""
    if done.status == OVERDUE or done.status > SIGNALLED:
        why = done.complaint.strip() or f"exit code {done.status}"
        raise Lost(f"the guest did not end it: {why}")
    return done


def _is_leaving(failed: Block) -> bool:
    return any(word in failed.text for word in _LEAVING)
