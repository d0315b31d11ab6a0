"""Which process the city's tmux server is, remembered beyond the life of this one."""

from __future__ import annotations

import contextlib
import json
import os
import threading

from gascity.errors import ProviderUnavailable
from gascity.session import pids
from gascity_tmux import layout


class ServerRecord:
    """The file `.gc/tmux/server`."""

    def __init__(self, home: str) -> None:
        self._path = os.path.join(home, layout.SERVER)

    def pid(self) -> int | None:
        """Return the pid of the server the sessions were last on, if it still runs."""
        known = self._read()
        return known[0] if known is not None else None

    def socket(self) -> str | None:
        """Return where that server listens, if it still runs."""
        known = self._read()
        return known[1] if known is not None else None

    def _read(self) -> tuple[int, str] | None:
        try:
            with open(self._path, encoding="utf-8") as file:
                known = json.load(file)
            pid, started, socket = int(known["pid"]), str(known["started"]), str(known["socket"])
        except FileNotFoundError:
            return None
        except OSError as problem:
            raise ProviderUnavailable(f"{self._path} cannot be read: {problem}") from problem
        except (ValueError, KeyError, TypeError):
            return None
        return (pid, socket) if pids.table.started(pid) == started else None

    def write(self, pid: int, socket: str) -> None:
        """Remember a server, unless it is the one that is known."""
        if self.pid() == pid:
            return
        body = json.dumps({"pid": pid, "started": pids.table.started(pid), "socket": socket})
        fresh = f"{self._path}.{os.getpid()}.{threading.get_ident()}"
        try:
            os.makedirs(os.path.dirname(self._path), mode=0o700, exist_ok=True)
            with open(fresh, "w", encoding="utf-8") as file:
                file.write(body)
            os.replace(fresh, self._path)
        except OSError:  # a full disk costs this safeguard, not the city
            with contextlib.suppress(OSError):
                os.unlink(fresh)
