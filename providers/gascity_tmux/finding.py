"""Finding the tmux server of a city, and starting it, by plain clients that cannot harm it.

A plain client does one thing and goes; a server that does not answer one is frozen, and nothing
else is tried on it. None of them sees our environment, and so neither does the server.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Sequence

from gascity.errors import ProviderUnavailable
from gascity_tmux import layout, program
from gascity_tmux.record import ServerRecord

_ABSENT = (
    "no server running",
    "error connecting",
    "no such file",
    "connection refused",
    "lost server",
    "server exited",
)
# The session that control connections are attached to. Its program reads what the hub is told, so
# that the terminal echoes it to every one of them.
HUB = (
    *("-E", "-s", layout.HUB, "-n", "control", "-x", "80", "-y", "5"),
    *("/bin/sh", "-c", "exec cat >/dev/null"),
)


class Finder:
    """Knows where the server of a city should be, and which process it was."""

    def __init__(self, home: str, socket: str, config: str) -> None:
        self.socket = socket
        self.record = ServerRecord(home)
        self._config = os.path.expanduser(config) or os.devnull

    def client(self, *words: str, socket: str = "") -> list[str]:
        """Return the command line of a tmux client of this server, which never starts one."""
        return [program.path(), "-u", "-N", "-S", socket or self.socket, *words]

    def find(self, deadline: float) -> int | None:
        """Return the pid of the city's server, asked in the plain way; None when there is none.

        Raises ProviderUnavailable when another one is in its place.
        """
        remembered = self.record.pid()
        pid = self._ask_who(deadline)
        if pid is None and remembered is not None:
            processes_gone = self._call_back(remembered, deadline)
            return None if processes_gone else self._ask_who(deadline)
        if remembered not in (None, pid):
            raise ProviderUnavailable(
                f"{self.socket} leads to tmux server {pid}, but the city's sessions are on"
                f" {remembered}, which still runs",
                hint=f"end the one that is not wanted, or `kill -USR1 {remembered}` to give it the"
                " socket back",
            )
        return pid

    def _ask_who(self, deadline: float) -> int | None:
        if not os.path.exists(self.socket):
            return None
        while True:
            said = self._run(self.client("display-message", "-p", "#{pid}"), deadline)
            if said.isdigit():
                return int(said)
            if any(word in said.lower() for word in _ABSENT):
                return None
            if time.monotonic() >= deadline:
                raise ProviderUnavailable(f"tmux on {self.socket}: {said or 'it says nothing'}")
            time.sleep(0.005)  # one that has no session any more says odd things until it is gone

    def _call_back(self, pid: int, deadline: float) -> bool:
        """Have a server that lost its socket make it again; True when it ended meanwhile."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGUSR1)
        while time.monotonic() < deadline:
            if self.record.pid() is None:
                return True
            if self._ask_who(deadline) is not None:
                return False
            time.sleep(0.005)  # nothing tells when it has made the socket
        raise ProviderUnavailable(
            f"tmux server {pid} of this city runs, but its socket {self.socket} is gone",
            hint=f"`kill -USR1 {pid}` makes it again, unless the server is stopped",
        )

    def launch(self, deadline: float) -> int | None:
        """Start a server with nothing of ours in its environment; return its pid."""
        words = ["-u", "-f", self._config, "-S", self.socket, "new-session", "-d", *HUB]
        for option in (("-s", "exit-unattached"), ("-t", f"={layout.HUB}:", "destroy-unattached")):
            words += [";", "set-option", *option, "off"]  # a person's configuration may say on
        said = self._run([program.path(), *words], deadline)
        pid = self._ask_who(deadline)
        if pid is None and said and not any(word in said.lower() for word in _ABSENT):
            raise ProviderUnavailable(f"no tmux server could be started: {said}")
        return pid

    def _run(self, words: Sequence[str], deadline: float) -> str:
        """Return what a plain tmux client says. Raises ProviderUnavailable when it hangs."""
        try:
            done = subprocess.run(
                words,
                env={},
                cwd="/",
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                timeout=max(deadline - time.monotonic(), 0.001),
                start_new_session=True,
                check=False,
            )
        except subprocess.TimeoutExpired as problem:
            raise ProviderUnavailable(
                f"the tmux server on {self.socket} does not answer",
                hint="`ps -o stat= -p PID` shows T when it is stopped; `kill -CONT PID` wakes it",
            ) from problem
        except OSError as problem:
            raise ProviderUnavailable(f"tmux cannot be run: {problem}") from problem
        return done.stdout.decode(errors="replace").strip()
