"""The tmux server of a city: found, started when there is need, and never mistaken for another.

As long as the process that held the sessions lives, a socket that is missing or leads to another
server is an outage, not an empty city: agents may be running where nobody can see them. A server
that lost its socket makes it again when asked to (SIGUSR1).
"""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import threading
import time
from collections.abc import Callable, Sequence

from gascity.core.observed import ProcessId
from gascity.errors import ProviderUnavailable
from gascity.session import pids, processes
from gascity.session.tmux.problems import Lost, Silent
from gascity.session.tmux.wire import Block, command
from gascity_tmux import layout, program
from gascity_tmux.connection import Connection
from gascity_tmux.finding import HUB, Finder
from gascity_tmux.introduction import Introduction
from gascity_tmux.record import ServerRecord
from gascity_tmux.settings import Settings
from gascity_tmux.wire import Notice

CONNECT = 10.0  # seconds at most, whatever the caller allows
GOING = 1.0  # seconds for a server without sessions to be gone
DYING = 0.05  # seconds between hanging up and being gone
# Said before the server is ended, so that every connection knows that nothing was lost.
_GOING = f"{layout.HUB}-going"
_FAREWELL = " ; ".join(
    [
        command("rename-session", "-t", f"={layout.HUB}", _GOING),
        command("kill-session", "-t", f"={_GOING}"),
    ]
)
_SESSIONS = "#{S:x}"  # one letter per session
_LEFT = "gc-left"

Listener = Callable[[str], None]


class Server:
    """One city's tmux server; thread-safe. `heard` is called with what its connection says.

    The word is the kind of a notice, `hub` for what was told to the hub, `up` and `down` for the
    connection itself.
    """

    def __init__(self, city: str, home: str, settings: Settings, heard: Listener) -> None:
        self.home = home
        self.settings = settings
        # A city that was renamed, or whose file cannot be read, has its sessions where they were.
        self.socket = ServerRecord(home).socket() or layout.socket_path(city, home, settings.socket)
        self._finder = Finder(home, self.socket, settings.config)
        self._heard = heard
        self._lock = threading.Lock()
        self._connection: Connection | None = None
        self._process: ProcessId | None = None
        self._suspect: ProcessId | None = None

    @property
    def is_connected(self) -> bool:
        """Whether there is a connection at this moment."""
        connection = self._connection
        return connection is not None and not connection.ended.is_set()

    def connect(self, *, deadline: float, start: bool = False) -> Connection | None:
        """Return a connection; None when there is no server, and so no session.

        With `start` there is always one in the end. Raises ProviderUnavailable when a server may
        be there and does not answer.
        """
        connection = self._connection
        if connection is not None and not connection.ended.is_set():
            return connection
        deadline = min(deadline, time.monotonic() + CONNECT)
        if not self._lock.acquire(timeout=max(deadline - time.monotonic(), 0.001)):
            raise Silent("the tmux server did not answer in time")
        try:
            if not self.is_connected:
                self._connection = self._connect(deadline, start=start)
                if self._connection is not None:
                    self._heard("up")
            return self._connection
        finally:
            self._lock.release()

    def tell_of_loss(self) -> None:
        """Raise Lost, once, when the server went away without anyone having ended it.

        One that only hung up is suspected until there is a connection to it again.
        """
        suspect = self._suspect
        if suspect is None:
            return
        until = time.monotonic() + DYING
        while processes.is_alive(suspect):
            if time.monotonic() >= until:
                return
            time.sleep(0.001)  # a process that is being killed hangs up first
        self._suspect = None
        raise Lost("the tmux server of this city went away, and its sessions with it")

    def end(self, kills: Sequence[str], *, deadline: float) -> None:
        """Do commands that remove sessions, and end the server if they were the last ones on it.

        Returns when the server is gone then: who asks next must not meet it on its way out.
        """
        count = command("display-message", "-p", f"{_LEFT} {_SESSIONS}")
        leave = command("if-shell", "-F", f"#{{==:{_SESSIONS},x}}", _FAREWELL)
        connection = self.connect(deadline=deadline)
        while connection is not None:
            try:
                answered = connection.ask(*kills, count, leave, deadline=deadline)
                if f"{_LEFT} x" not in [block.text for block in answered]:
                    return  # there are others
            except Lost:
                pass  # it may have hung up before or after
            connection.ended.wait(max(deadline - time.monotonic(), 0.0))
            if self._is_gone_by(min(deadline, time.monotonic() + GOING)):
                self._remove_socket()
                return
            connection = self.connect(deadline=deadline)

    def is_parent_of(self, pid: int) -> bool:
        """Tell whether this is a living process that the server started."""
        if self._process is None or pids.table.started(pid) is None:
            return False
        return pids.table.parent(pid) == self._process.pid

    def children(self) -> list[int]:
        """Return the processes that the server started itself, each in a pane or behind one."""
        return pids.table.children(self._process.pid) if self._process is not None else []

    def make_it_reap(self) -> None:
        """Have tmux look for programs that ended.

        While it notes a terminal in the list of logins, which it does when one opens or closes, it
        is deaf for the ends of children; a child that ends then stays a zombie until another does.
        """
        if self._process is not None:
            processes.signal(self._process, signal.SIGCHLD)

    def client(self, *words: str) -> list[str]:
        """Return the command line of a plain tmux client of this server, which never starts one."""
        return self._finder.client(*words)

    def close(self) -> None:
        """Hang up. The server and its sessions are not touched."""
        if self._connection is not None:
            self._heard = lambda _word: None
            self._connection.close()

    # --- connecting

    def _connect(self, deadline: float, *, start: bool) -> Connection | None:
        if not start and not os.path.exists(self.socket) and self._finder.record.pid() is None:
            return None
        layout.ensure_socket_folder(self.socket)
        said = ""
        while time.monotonic() < deadline:
            pid = self._finder.find(deadline)
            if pid is None and start:
                pid = self._finder.launch(deadline)
            elif pid is None:
                return None
            if pid is not None:
                connection, said = self._attach(pid, deadline)
                if connection is not None:
                    return connection
        what = f"tmux on {self.socket} cannot be connected to"
        raise ProviderUnavailable(f"{what}: {said}" if said else what)

    def _attach(self, pid: int, deadline: float) -> tuple[Connection | None, str]:
        """Return a control connection to that server, or None and what tmux said instead."""
        door = Introduction()
        try:
            words = self._finder.client("-C", "new-session", "-A", *HUB, socket=door.path)
            connection = Connection(words, {}, _Ear(self).hear)
            if not door.pass_on(self.socket, HUB[-1], connection.ended, deadline=deadline):
                connection.close()
                return None, connection.last_words
            answered = connection.ask(*self._setup(), deadline=deadline)
        except Lost:
            return None, connection.last_words
        finally:
            door.close()
        self._process = connection.server = processes.identify(pid)
        if self._suspect == self._process and not connection.ended.is_set():
            self._suspect = None
        self._finder.record.write(pid, self.socket)
        connection.ask(*scrub_lines(answered[-1]), deadline=deadline)
        return connection, ""

    def _setup(self) -> list[str]:
        """Return what has to hold on our server, said again with each connection."""
        return [
            command("set-option", "-s", "exit-unattached", "off"),
            command("set-option", "-g", "update-environment", ""),
            command("set-option", "-g", "default-terminal", program.terminal()),
            command("set-option", "-g", "history-limit", self.settings.history),
            command("set-option", "-gw", "remain-on-exit-format", ""),  # since 3.3
            command("set-option", "-t", f"={layout.HUB}:", "status", "off"),
            command("set-hook", "-g", "pane-died", tell_hub()),
            command("show-environment", "-g"),
        ]

    # --- what its connection says

    def hear(self, word: str) -> None:
        """Pass on what a connection said."""
        self._heard(word)

    def suspect(self) -> None:
        """Note that the server may be gone: a connection ended and nobody said that it would."""
        self._suspect = self._process

    # --- its end

    def _remove_socket(self) -> None:
        """Remove the socket of a server that is gone: tmux leaves it lying."""
        with socket.socket(socket.AF_UNIX) as probe:
            try:
                probe.connect(self.socket)
            except ConnectionRefusedError:
                with contextlib.suppress(OSError):
                    os.unlink(self.socket)
            except OSError:
                return

    def _is_gone_by(self, until: float) -> bool:
        while self._finder.record.pid() is not None:
            if time.monotonic() >= until:
                return False
            time.sleep(0.002)  # it has hung up; nothing tells when it is gone
        return True


class _Ear:
    """Listens to one connection, and knows whether it was told that it will end."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._is_expecting_the_end = False
        self._is_up = False

    def hear(self, notice: Notice | None) -> None:
        """Take a notice; `ended` comes before the connection is known to be over, None after."""
        if notice is None:
            self._server.hear("down")
        elif notice.kind == "ended":
            if self._is_up and not self._is_expecting_the_end:
                self._server.suspect()
        elif notice.kind == "session-renamed" and notice.rest.endswith(_GOING):
            self._is_expecting_the_end = True
        else:
            self._is_up = self._is_up or notice.kind == "session-changed"
            is_hub = notice.kind in ("output", "extended-output")
            self._server.hear("hub" if is_hub else notice.kind)


def scrub_lines(environment: Block) -> list[str]:
    """Return commands that forget what stands in an answer to `show-environment -g`."""
    names = [line.partition(b"=")[0].decode(errors="replace") for line in environment.lines]
    return [command("set-environment", "-gu", "--", name) for name in names if name.strip()]


def tell_hub() -> str:
    """Return the command that every control connection hears of at once."""
    return command("send-keys", "-t", f"={layout.HUB}:", "x", "Enter")
