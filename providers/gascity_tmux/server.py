"""The tmux server of a city: found, started when there is need, and never mistaken for another.

`.gc/tmux/server` remembers which process it is. As long as that process lives, a socket that is
missing or leads to another server is an outage, not an empty city: agents may be running where
nobody can see them. A server that lost its socket makes it again when asked to (SIGUSR1).
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import threading
import time
from collections.abc import Callable, Sequence

from gascity.errors import ProviderUnavailable
from gascity.session import pids
from gascity_tmux import layout, program
from gascity_tmux.connection import Connection, Lost, Silent
from gascity_tmux.settings import Settings
from gascity_tmux.wire import Notice, command

CONNECT = 10.0  # seconds at most, whatever the caller allows
GOING = 1.0  # seconds for a server without sessions to be gone
_ABSENT = (
    "no server running",
    "error connecting",
    "no such file",
    "connection refused",
    "lost server",
    "server exited",
)
# Reads what the hub is told, so that the terminal echoes it to every control connection.
_LISTENER = ("/bin/sh", "-c", "exec cat >/dev/null")
# Said before the server is ended, so that every connection knows that nothing was lost.
_GOING = f"{layout.HUB}-going"
_FAREWELL = " ; ".join(
    [
        command("rename-session", "-t", f"={layout.HUB}", _GOING),
        command("kill-session", "-t", f"={_GOING}"),
    ]
)
_SESSIONS = "#{S:x}"  # one letter per session

Listener = Callable[[str], None]


class Server:
    """One city's tmux server; thread-safe. `heard` is called with what its connection says.

    The word is the kind of a notice, `hub` for what was told to the hub, `up` and `down` for the
    connection itself.
    """

    def __init__(self, city: str, home: str, settings: Settings, heard: Listener) -> None:
        self.home = home
        self.settings = settings
        self.socket = layout.socket_path(city, home, settings.socket)
        self._heard = heard
        self._lock = threading.Lock()
        self._connection: Connection | None = None
        self._untold_loss = False
        self.pid = 0

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
        """Raise Lost, once, when the server went away without anyone having ended it."""
        if self._untold_loss:
            self._untold_loss = False
            raise Lost("the tmux server of this city went away, and its sessions with it")

    def end(self, sessions: Sequence[str], *, deadline: float) -> None:
        """Remove sessions by tmux's number, and the server if they were the last ones on it.

        Returns when the server is gone then: who asks next must not meet it on its way out.
        """
        kills = [command("kill-session", "-t", session) for session in sessions]
        count = command("display-message", "-p", _SESSIONS)
        leave = command("if-shell", "-F", f"#{{==:{_SESSIONS},x}}", _FAREWELL)
        connection = self.connect(deadline=deadline)
        while connection is not None:
            try:
                answered = connection.ask(*kills, count, leave, deadline=deadline)
                if answered[len(kills)].text != "x":
                    return  # there are others
            except Lost:
                pass  # it may have hung up before or after
            connection.ended.wait(max(deadline - time.monotonic(), 0.0))
            if self._is_gone_by(min(deadline, time.monotonic() + GOING)):
                self._remove_socket()
                return
            connection = self.connect(deadline=deadline)

    def make_it_reap(self) -> None:
        """Have tmux look for programs that ended.

        While it notes a terminal in the list of logins, which it does when one opens or closes, it
        is deaf for the ends of children; a child that ends then stays a zombie until another does.
        """
        if self.pid and self.is_connected:
            with contextlib.suppress(OSError):
                os.kill(self.pid, signal.SIGCHLD)

    def close(self) -> None:
        """Hang up. The server and its sessions are not touched."""
        if self._connection is not None:
            self._heard = lambda _word: None
            self._connection.close()

    def attach_command(self) -> list[str]:
        """Return the beginning of a command line that speaks to this server from a terminal."""
        return [program.path(), "-u", "-S", self.socket]

    # --- connecting

    def _connect(self, deadline: float, *, start: bool) -> Connection | None:
        found = self._reach(deadline, start=False)
        if found is not None:
            return found
        remembered = self._remembered()
        if remembered is not None:
            found = self._call_back(remembered, deadline)
        while start and found is None:
            found = self._reach(deadline, start=True)  # fails when another one ends this moment
            if time.monotonic() >= deadline:
                raise ProviderUnavailable(f"no tmux server could be started on {self.socket}")
        return found

    def _reach(self, deadline: float, *, start: bool) -> Connection | None:
        """Return a connection to whoever answers on the socket; None when nobody does."""
        if not start and not os.path.exists(self.socket):
            return None
        layout.ensure_socket_folder(self.socket)
        connection = Connection(self._client(start=start), {}, _Ear(self).hear)
        try:
            answered = connection.ask(*self._setup(), deadline=deadline)
        except Lost as problem:
            said = connection.last_words
            if any(word in said.lower() for word in _ABSENT) or not said:
                return None
            raise ProviderUnavailable(f"tmux on {self.socket}: {said}") from problem
        except Silent as problem:
            raise ProviderUnavailable(
                f"the tmux server on {self.socket} does not answer",
                hint="`ps -o stat= -p PID` shows T when it is stopped; `kill -CONT PID` wakes it",
            ) from problem
        self.pid = pid = int(answered[-1].text)
        remembered = self._remembered()
        if remembered not in (None, pid):
            connection.close()
            raise ProviderUnavailable(
                f"{self.socket} leads to tmux server {pid}, but the city's sessions are on"
                f" {remembered}, which still runs",
                hint=f"end the one that is not wanted, or `kill -USR1 {remembered}` to give it the"
                " socket back",
            )
        if remembered is None:
            self._remember(pid)
        return connection

    def _call_back(self, pid: int, deadline: float) -> Connection | None:
        """Have a server that lost its socket make it again."""
        os.kill(pid, signal.SIGUSR1)
        while time.monotonic() < deadline:
            if os.path.exists(self.socket):
                found = self._reach(deadline, start=False)
                if found is not None:
                    return found
            if self._remembered() is None:
                return None  # it ended meanwhile, and with it all its sessions
            time.sleep(0.01)  # nothing tells when it has made the socket
        raise ProviderUnavailable(
            f"tmux server {pid} of this city runs, but its socket {self.socket} is gone",
            hint=f"`kill -USR1 {pid}` makes it again, unless the server is stopped",
        )

    def _client(self, *, start: bool) -> list[str]:
        config = os.path.expanduser(self.settings.config) or os.devnull
        never = [] if start else ["-N"]
        session = [
            "new-session",
            "-A",
            "-E",
            "-s",
            layout.HUB,
            "-n",
            "control",
            "-x",
            "80",
            "-y",
            "5",
        ]
        return [
            program.path(),
            "-u",
            *never,
            "-f",
            config,
            "-S",
            self.socket,
            "-C",
            *session,
            *_LISTENER,
        ]

    def _setup(self) -> list[str]:
        """Return what has to hold on our server, said again with each connection."""
        hub = f"={layout.HUB}:"
        return [
            command("set-option", "-s", "exit-unattached", "off"),
            command("set-option", "-g", "update-environment", ""),
            command("set-environment", "-gu", "PWD"),
            command("set-option", "-g", "default-terminal", program.terminal()),
            command("set-option", "-g", "history-limit", self.settings.history),
            command("set-option", "-gw", "remain-on-exit-format", ""),  # since 3.3
            command("set-option", "-t", hub, "status", "off"),
            command("set-hook", "-g", "pane-died", tell_hub()),
            command("display-message", "-p", "#{pid}"),
        ]

    def hear(self, word: str, *, is_loss: bool = False) -> None:
        """Pass on what a connection said."""
        self._untold_loss = self._untold_loss or is_loss
        self._heard(word)

    # --- which process it is

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
        while self._remembered() is not None:
            if time.monotonic() >= until:
                return False
            time.sleep(0.002)  # it has hung up; nothing tells when it is gone
        return True

    def _remembered(self) -> int | None:
        """Return the pid of the server the sessions were last on, if it still runs."""
        try:
            with open(os.path.join(self.home, layout.SERVER), encoding="utf-8") as file:
                known = json.load(file)
            pid, started = int(known["pid"]), str(known["started"])
        except (OSError, ValueError, KeyError, TypeError):
            return None
        return pid if pids.table.started(pid) == started else None

    def _remember(self, pid: int) -> None:
        path = os.path.join(self.home, layout.SERVER)
        os.makedirs(os.path.join(self.home, layout.SESSIONS), mode=0o700, exist_ok=True)
        body = json.dumps({"pid": pid, "started": pids.table.started(pid), "socket": self.socket})
        fresh = f"{path}.{os.getpid()}.{threading.get_ident()}"
        with contextlib.suppress(OSError):  # a full disk costs this safeguard, not the city
            with open(fresh, "w", encoding="utf-8") as file:
                file.write(body)
            os.replace(fresh, path)


class _Ear:
    """Listens to one connection, and knows whether it was told that it will end."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._is_expecting_the_end = False
        self._is_up = False

    def hear(self, notice: Notice | None) -> None:
        """Take a notice, or None for the end of the connection."""
        if notice is None:
            is_loss = self._is_up and not self._is_expecting_the_end
            self._server.hear("down", is_loss=is_loss)
        elif notice.kind == "session-renamed" and notice.rest.endswith(_GOING):
            self._is_expecting_the_end = True
        else:
            self._is_up = self._is_up or notice.kind == "session-changed"
            is_hub = notice.kind in ("output", "extended-output")
            self._server.hear("hub" if is_hub else notice.kind)


def tell_hub() -> str:
    """Return the command that every control connection hears of at once."""
    return command("send-keys", "-t", f"={layout.HUB}:", "x", "Enter")
