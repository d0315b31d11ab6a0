"""Which process the city's tmux server is, remembered beyond the life of this one."""

from __future__ import annotations

import contextlib
import json
import os
import threading

from gascity.session import pids
from gascity_tmux import layout


class ServerRecord:
    """The file `.gc/tmux/server`."""

    def __init__(self, home: str) -> None:
        self._path = os.path.join(home, layout.SERVER)

    def pid(self) -> int | None:
        """Return the pid of the server the sessions were last on, if it still runs."""
        try:
            with open(self._path, encoding="utf-8") as file:
                known = json.load(file)
            pid, started = int(known["pid"]), str(known["started"])
        except (OSError, ValueError, KeyError, TypeError):
            return None
        return pid if pids.table.started(pid) == started else None

    def write(self, pid: int, socket: str) -> None:
        """Remember a server, unless it is the one that is known."""
        if self.pid() == pid:
            return
        body = json.dumps({"pid": pid, "started": pids.table.started(pid), "socket": socket})
        fresh = f"{self._path}.{os.getpid()}.{threading.get_ident()}"
        with contextlib.suppress(OSError):  # a full disk costs this safeguard, not the city
            os.makedirs(os.path.dirname(self._path), mode=0o700, exist_ok=True)
            with open(fresh, "w", encoding="utf-8") as file:
                file.write(body)
            os.replace(fresh, self._path)
