"""Where things lie, and the names that this provider gives.

`.gc/tmux/` holds `server` (which tmux server the city's sessions were last seen on) and
`sessions/NAME`, an empty file that stands from before a session's creation until all its processes
are known to be gone: where there is one, something may be left of an earlier incarnation.
"""

from __future__ import annotations

import os
import stat

from gascity.errors import ProviderUnavailable
from gascity.session.tmux import naming

city_mark = naming.city_mark
session_name = naming.session_name
HUB = "gc-control"  # the session that control connections are attached to
SERVER = "server"
SESSIONS = "sessions"
LONGEST_SOCKET = 100  # bytes: the kernel takes 107, macOS 103


def home(state_dir: str) -> str:
    """Return the provider's own folder in a city's state folder."""
    return os.path.join(os.path.abspath(state_dir), "tmux")


def is_name(name: str) -> bool:
    """Tell whether this can be the name of a session."""
    return naming.is_name(name) and name != HUB


def record(home: str, name: str) -> str:
    """Return the file that says that something of the session may be there."""
    return os.path.join(home, SESSIONS, name)


def mark(home: str, name: str, token: str = "") -> str:
    """Return the mark of one incarnation; without a token, what all of them begin with."""
    return f"{home}#{name}#{token}"


def socket_path(city: str, home: str, name: str = "") -> str:
    """Return the socket of the city's server, as `tmux -L` would place it.

    `name` is the setting: a name among tmux's sockets, or a path.
    """
    if "/" in name:
        return os.path.abspath(os.path.expanduser(name))
    folder = f"/tmp/tmux-{os.getuid()}"  # noqa: S108  where tmux looks; TMUX_TMPDIR may differ by caller
    plain = naming.OTHER.sub("_", city)[:40]
    return os.path.join(folder, name or f"gc-{plain}-{naming.digest(home)}")


def ensure_socket_folder(path: str) -> None:
    """Make the socket's folder; raises ProviderUnavailable when it cannot be trusted."""
    folder = os.path.dirname(path)
    if len(os.fsencode(path)) > LONGEST_SOCKET:
        raise ProviderUnavailable(
            f"the path of the tmux socket is longer than {LONGEST_SOCKET} bytes: {path}",
            hint="`[session.tmux] socket` can name another place",
        )
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)
        found = os.stat(folder)
    except OSError as problem:
        raise ProviderUnavailable(f"the folder of the tmux socket: {problem}") from problem
    if found.st_uid not in (os.getuid(), 0) or (
        found.st_mode & stat.S_IWOTH and not found.st_mode & stat.S_ISVTX
    ):
        raise ProviderUnavailable(
            f"{folder} may be changed by others: no tmux socket is made in it",
            hint="`[session.tmux] socket` can name another place",
        )
