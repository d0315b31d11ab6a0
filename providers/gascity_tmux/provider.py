"""The session provider `tmux`: one session per agent, on a tmux server of the city's own."""

from __future__ import annotations

import contextlib
import os
import secrets
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from gascity.core.model import SessionConfig
from gascity.core.observed import Alive, ProcessId, SessionState
from gascity.errors import (
    GascityError,
    ProviderError,
    SessionExists,
    SessionNotFound,
    StartFailed,
    StopTimedOut,
)
from gascity.session import kin, overlay, pids, processes
from gascity.session.deaths import Deaths
from gascity.session.kin import Kin
from gascity.session.locks import SessionBusy, session_lock
from gascity.session.provider import CityContext, Delivery, SeenCallback, SessionProvider, Watch
from gascity.session.startup import bring_up
from gascity.session.text import message
from gascity_tmux import attach, create, keys, layout, meta, panes, screen
from gascity_tmux.connection import Connection, Lost
from gascity_tmux.panes import Pane
from gascity_tmux.server import OLDEST, Server, tell_hub, version
from gascity_tmux.settings import Settings
from gascity_tmux.target import TmuxTarget
from gascity_tmux.watching import TmuxWatch
from gascity_tmux.wire import Block, command

SETTLE = 0.15  # seconds between a text and its Enter: a quick one is taken for part of the paste
UNSETTLED = 1.0  # seconds for tmux to hear how a program ended


class Provider(SessionProvider):
    """Sessions in tmux."""

    name = "tmux"

    def __init__(self, context: CityContext) -> None:
        super().__init__(context)
        self._home = layout.home(context.state_dir)
        self._city = layout.city_mark(context.city_id)
        self._settings = Settings.read(context.settings)
        self._listeners: set[Callable[[str], None]] = set()
        self._server = Server(context.city, self._home, self._settings, self._heard)
        self._lock = threading.Lock()
        self._meta: dict[str, tuple[str, Mapping[str, str]]] = {}
        self._processes: dict[panes.Key, ProcessId] = {}
        self._unknown: set[panes.Key] = set()  # ended, and tmux will never say how
        self._deaths: Deaths | None = None

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

    def close(self) -> None:
        """Hang up on the server. Sessions are not touched."""
        self._server.close()
        if self._deaths is not None:
            self._deaths.close()

    # --- life

    def start(self, name: str, config: SessionConfig, *, timeout: float) -> None:
        """Bring a session up; see the contract."""
        if not layout.is_name(name):
            raise StartFailed(f"{name!r} cannot be the name of a session")
        deadline = time.monotonic() + timeout
        target = TmuxTarget(self, name, config, create=self._create, screen=self._screen)
        try:
            with session_lock(self.context.state_dir, name, 0.0, purpose="start"):
                found = self._find(name, deadline)
                if found is not None and found.alive:
                    raise SessionExists(f"session {name} exists already")
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
        found = {pane.name: pane for pane in self._list(deadline) if pane.name in wanted}
        there = [name for name in wanted if name in found or self._may_be_left(name)]
        relatives = {name: self._kin(name, found.get(name)) for name in there}
        survivors = kin.end(relatives, kill_at=kill_at, deadline=deadline)
        self._forget([name for name in there if name not in survivors], found, now + timeout)
        return {name: StopTimedOut(_survived(name, left)) for name, left in survivors.items()}

    def interrupt(self, name: str, *, timeout: float) -> None:
        """Press Ctrl-C."""
        self.send_keys(name, ["C-c"], timeout=timeout)

    # --- questions

    def observe(self, *, timeout: float) -> Mapping[str, SessionState]:
        """Return every session in one round trip, and a second one for metadata that changed."""
        deadline = time.monotonic() + timeout
        self._server.tell_of_loss()
        found = self._list(deadline)
        stored = self._metadata(found, deadline)
        states = {pane.name: self._state(pane, stored.get(pane.session)) for pane in found}
        with self._lock:
            current = {pane.key for pane in found}
            self._unknown &= current
            self._processes = {key: one for key, one in self._processes.items() if key in current}
            self._meta = {
                pane.session: self._meta[pane.session]
                for pane in found
                if pane.session in self._meta
            }
        if self._deaths is not None:
            living = [state.process for state in states.values() if isinstance(state.life, Alive)]
            self._deaths.expect(process for process in living if process is not None)
        return states

    def watch(
        self,
        wake: Callable[[], None],
        *,
        seen: SeenCallback | None = None,
        interval: float = 1.0,
    ) -> Watch:
        """Call `wake` within milliseconds of a change, and when the server goes or comes."""
        del seen  # what tmux says is too little to spare a look
        with self._lock:
            self._deaths = self._deaths or Deaths(self._someone_died)
        return TmuxWatch(self._server, self._listeners, wake, interval)

    def is_running(self, name: str, *, timeout: float) -> bool:
        """Tell whether the session exists and its program lives."""
        found = self._find(name, time.monotonic() + timeout)
        return found is not None and found.alive

    def process_alive(self, name: str, names: Sequence[str], *, timeout: float) -> bool:
        """Tell whether one of `names` lives in the session's process tree."""
        found = self._find(name, time.monotonic() + timeout)
        if found is None or not found.alive:
            return False
        return not names or processes.matches(names, processes.names_in_tree(found.pid))

    def list_running(self, prefix: str, *, timeout: float) -> list[str]:
        """Return the sorted names of the sessions that run."""
        found = self._list(time.monotonic() + timeout)
        return sorted(pane.name for pane in found if pane.alive and pane.name.startswith(prefix))

    def last_activity(self, name: str, *, timeout: float) -> float | None:
        """Return when the session last showed something."""
        found = self._find(name, time.monotonic() + timeout)
        return None if found is None else found.activity

    # --- talk

    def attach(self, name: str, *, read_only: bool = False) -> int:
        """Give the caller's terminal to the session until it detaches."""
        found = self._find(name, time.monotonic() + 5.0)
        if found is None:
            raise SessionNotFound(f"there is no session {name}")
        return attach.attach(self._server, found, read_only=read_only)

    def nudge(self, name: str, text: str, *, timeout: float) -> Delivery:
        """Paste the text and press Enter. Whether the program took it is not known yet."""
        deadline = time.monotonic() + timeout
        found = self._find(name, deadline)
        if found is None or not found.alive:
            return Delivery.ABSENT
        plain = message(text)
        try:
            with session_lock(self.context.state_dir, name, deadline - time.monotonic()):
                if plain:
                    buffer = f"gc-{secrets.token_hex(8)}"
                    if not self._do(keys.paste_line(found.id, plain, buffer), deadline):
                        return Delivery.ABSENT
                    time.sleep(SETTLE)
                pressed = self._do(keys.keys_line(found.id, ["Enter"]), deadline)
                return Delivery.UNVERIFIED if pressed else Delivery.ABSENT
        except SessionBusy:
            return Delivery.REFUSED

    def send_keys(self, name: str, keys_: Sequence[str], *, timeout: float) -> None:
        """Press keys."""
        deadline = time.monotonic() + timeout
        found = self._find(name, deadline)
        if found is None or not found.alive or not keys_:
            return
        line = keys.keys_line(found.id, list(keys_))
        with session_lock(self.context.state_dir, name, deadline - time.monotonic()):
            self._do(line, deadline)

    def peek(self, name: str, lines: int, *, timeout: float, colours: bool = False) -> str:
        """Return the last lines the session showed, also after it ended."""
        deadline = time.monotonic() + timeout
        found = self._find(name, deadline)
        if found is not None:
            ask = self._connected(deadline).ask
            shown = screen.last_lines(
                lambda line: ask(line, deadline=deadline), found.id, lines, colours=colours
            )
            if shown is not None:
                return shown
        raise SessionNotFound(f"there is no session {name}")

    def clear_scrollback(self, name: str, *, timeout: float) -> None:
        """Forget what scrolled away."""
        deadline = time.monotonic() + timeout
        found = self._find(name, deadline)
        if found is not None:
            self._do(command("clear-history", "-t", found.id), deadline)

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
        found = self._find(name, deadline)
        if found is None:
            return None
        return self._metadata([found], deadline).get(found.session, {}).get(key)

    def remove_meta(self, name: str, key: str, *, timeout: float) -> None:
        """Forget a key."""
        self._change_meta(name, lambda session: meta.unset_command(session, key), timeout)

    def copy_to(self, name: str, src: str, rel_dst: str, *, timeout: float) -> None:
        """Copy a file or folder into the session's work folder, over what is there."""
        deadline = time.monotonic() + timeout
        found = self._find(name, deadline)
        if found is None or not os.path.exists(src):
            return
        asked = command("display-message", "-p", "-t", found.id, "#{pane_start_path}")
        answered = self._connected(deadline).ask(asked, deadline=deadline)
        if not answered or not answered[0].ok:
            return
        try:
            overlay.place(answered[0].text, src, rel_dst, overwrite=True)
        except OSError as problem:
            raise ProviderError(f"{src} was not copied to session {name}: {problem}") from problem

    # --- asking tmux

    def _list(self, deadline: float, name: str = "") -> list[Pane]:
        """Return the panes of this city.

        tmux learns that a terminal was closed before it learns how its program ended, and may never
        learn that by itself, so those in between are asked for again. One that closed its terminal
        and lives on is alive.
        """
        until = min(time.monotonic() + UNSETTLED, deadline)
        while True:
            found = self._ask_for_panes(name, deadline)
            unsettled = [
                pane for pane in found if pane.is_unsettled and pane.key not in self._unknown
            ]
            if not unsettled:
                return found
            alive = [pane.key for pane in unsettled if pids.table.started(pane.pid) is not None]
            if len(alive) == len(unsettled) or time.monotonic() >= until:
                self._unknown.update(pane.key for pane in unsettled if pane.key not in alive)
                return [replace(p, life=Alive()) if p.key in alive else p for p in found]
            self._server.make_it_reap()
            time.sleep(0.002)  # nothing tells when tmux has heard of it

    def _ask_for_panes(self, name: str, deadline: float) -> list[Pane]:
        """Return what tmux says; asks again when the server hangs up meanwhile."""
        asked = panes.list_command(self._city, name)
        while True:
            connection = self._server.connect(deadline=deadline)
            if connection is None:
                return []
            try:
                return panes.read(connection.ask(asked, deadline=deadline))
            except Lost:
                self._server.tell_of_loss()
                if time.monotonic() >= deadline:
                    raise

    def _find(self, name: str, deadline: float) -> Pane | None:
        if not layout.is_name(name):
            return None
        return next(iter(self._list(deadline, name)), None)

    def _connected(self, deadline: float) -> Connection:
        connection = self._server.connect(deadline=deadline)
        if connection is None:
            raise Lost("the tmux server has ended")
        return connection

    def _do(self, line: str, deadline: float) -> bool:
        """Have tmux do a line; False when what it is about is no longer there."""
        return all(block.ok for block in self._connected(deadline).ask(line, deadline=deadline))

    def _screen(self, name: str, deadline: float) -> str:
        """Return what the session shows at this moment, without what scrolled away."""
        found = self._find(name, deadline)
        if found is None:
            raise SessionNotFound(f"there is no session {name}")
        answered = self._connected(deadline).ask(screen.now(found.id), deadline=deadline)
        return screen.read(answered)

    def _someone_died(self) -> None:
        self._server.make_it_reap()
        self._heard("death")

    def _heard(self, word: str) -> None:
        for listener in tuple(self._listeners):
            listener(word)

    # --- states

    def _state(self, pane: Pane, stored: Mapping[str, str] | None) -> SessionState:
        return SessionState(
            name=pane.name,
            life=pane.life,
            process=self._process(pane),
            created=pane.created,
            last_activity=pane.activity,
            attached=pane.attached,
            meta=stored or {},
            title=pane.title,
        )

    def _process(self, pane: Pane) -> ProcessId | None:
        """Return which process it is, read while it lives: later its number may be another's."""
        known = self._processes.get(pane.key)
        if known is None and pane.alive:
            started = pids.table.started(pane.pid)
            if started is not None:
                known = self._processes[pane.key] = ProcessId(pane.pid, started)
        return known

    def _metadata(self, found: Iterable[Pane], deadline: float) -> dict[str, Mapping[str, str]]:
        """Return the metadata of sessions by tmux's number; asks only for what changed."""
        known = {pane.session: self._meta.get(pane.session) for pane in found}
        changed = [
            pane for pane in found if (had := known[pane.session]) is None or had[0] != pane.version
        ]
        if changed:
            asked = [command("show-environment", "-t", pane.session) for pane in changed]
            answered = self._connected(deadline).ask(*asked, deadline=deadline)
            for pane, block in zip(changed, answered, strict=True):
                if block.ok:
                    known[pane.session] = self._meta[pane.session] = (
                        pane.version,
                        meta.read(block),
                    )
        return {session: had[1] for session, had in known.items() if had is not None}

    def _change_meta(self, name: str, change: Callable[[str], str], timeout: float) -> bool:
        deadline = time.monotonic() + timeout
        found = self._find(name, deadline)
        if found is None:
            return False
        renewed = meta.set_command(found.session, panes.VERSION, secrets.token_hex(8))
        return self._do(" ; ".join([change(found.session), renewed, tell_hub()]), deadline)

    # --- creating

    def _create(self, name: str, config: SessionConfig, timeout: float) -> None:
        deadline = time.monotonic() + timeout
        create.check(name, config)
        ended = self._clear_the_ground(name, deadline)
        birth = create.Birth(
            name=name,
            config=config,
            city=self.context.city,
            city_mark=self._city,
            token=(token := secrets.token_hex(8)),
            mark=layout.mark(self._home, name, token),
            script=self._script(name, config.command),
        )
        self._note(name)
        clients = self._clients_of(ended, deadline)
        replaced = ended.session if ended is not None else ""
        line = create.line(birth, self._settings, replaced=replaced, clients=clients)
        while True:
            try:
                connection = self._server.connect(deadline=deadline, start=True)
                assert connection is not None  # noqa: S101  it was to be started
                failed = next(
                    (b for b in connection.ask(line, deadline=deadline) if not b.ok), None
                )
            except Lost:
                # Whoever hung up may have done it before.
                found = self._find(name, deadline)
                if found is None:
                    continue
                failed = None if found.token == token else Block(ok=False, lines=(b"duplicate",))
            break
        if failed is not None:
            raise self._refusal(name, failed, deadline)

    def _clear_the_ground(self, name: str, deadline: float) -> Pane | None:
        """End what an earlier incarnation left; return its pane, if tmux still has it."""
        found = self._find(name, deadline)
        if found is not None and found.alive:
            raise SessionExists(f"session {name} exists already")
        if found is not None or self._may_be_left(name):
            relatives = {name: self._kin(name, found)}
            survivors = kin.end(
                relatives, kill_at=0.0, deadline=min(deadline, time.monotonic() + 5)
            )
            for left in survivors.values():
                raise StartFailed(f"processes of the last session {name} do not end: {left}")
        return found

    def _clients_of(self, ended: Pane | None, deadline: float) -> list[str]:
        if ended is None or not ended.attached:
            return []
        asked = command("list-clients", "-t", ended.session, "-F", "#{client_name}")
        answered = self._connected(deadline).ask(asked, deadline=deadline)
        return answered[0].text.split("\n") if answered and answered[0].ok else []

    def _refusal(self, name: str, failed: Block, deadline: float) -> GascityError:
        """Return why a session could not be made, told from what tmux said."""
        self._unnote(name)
        if "duplicate" in failed.text or "can't find session" in failed.text:
            found = self._find(name, deadline)
            if found is not None:
                return SessionExists(f"session {name} exists already")
            return StartFailed(
                f"tmux has a session {layout.session_name(name)} that is not of this city;"
                " it is left alone",
                hint=f"tmux -S {self._server.socket} kill-session -t ={layout.session_name(name)}",
            )
        return StartFailed(f"session {name} could not be started: {failed.text}")

    def _script(self, name: str, text: str) -> str:
        """Return a file that holds a command too long for an argument; it removes itself."""
        if not create.is_long(text):
            return ""
        path = f"{layout.record(self._home, name)}.{secrets.token_hex(4)}.sh"
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        with open(path, "wb", opener=_private) as file:
            # The shell has the file open by then.
            file.write(b'/bin/rm -f -- "$0"\n' + os.fsencode(text))
        return path

    # --- ending

    def _kin(self, name: str, pane: Pane | None) -> Kin:
        root = self._process(pane) if pane is not None else None
        return Kin(layout.mark(self._home, name), root)

    def _forget(self, names: Sequence[str], found: Mapping[str, Pane], deadline: float) -> None:
        """Remove sessions that have no process any more, and the server with the last one."""
        sessions = [found[name].session for name in names if name in found]
        if sessions:
            self._server.end(sessions, deadline=deadline)
        for name in names:
            self._unnote(name)

    def _may_be_left(self, name: str) -> bool:
        return os.path.exists(layout.record(self._home, name))

    def _note(self, name: str) -> None:
        path = layout.record(self._home, name)
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        os.close(os.open(path, os.O_CREAT | os.O_WRONLY, 0o600))

    def _unnote(self, name: str) -> None:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(layout.record(self._home, name))


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def _survived(name: str, left: Sequence[int]) -> str:
    numbers = ", ".join(str(pid) for pid in sorted(left))
    return f"session {name} could not be stopped: process {numbers} still there"
