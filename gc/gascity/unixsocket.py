"""Unix sockets that belong to one user, at paths of any length.

The kernel allows about a hundred bytes for the address. A city may lie deeper than that, so a
long path is reached through the open folder it lies in.
"""

from __future__ import annotations

import contextlib
import os
import socket
from collections.abc import Iterator

LONGEST = 100  # sun_path holds 108 bytes on Linux and 104 on macOS, one of them the closing NUL


@contextlib.contextmanager
def _address(path: str) -> Iterator[str]:
    if len(os.fsencode(path)) <= LONGEST:
        yield path
        return
    folder, name = os.path.split(path)
    descriptor = os.open(folder or os.curdir, os.O_RDONLY | os.O_DIRECTORY)
    try:
        yield f"/proc/self/fd/{descriptor}/{name}"
    finally:
        os.close(descriptor)


def connect(path: str, *, timeout: float) -> socket.socket:
    """Return a connected socket; raises OSError when nobody listens there."""
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        sock.settimeout(timeout)
        with _address(path) as address:
            sock.connect(address)
    except BaseException:  # whatever it is, an interrupt too: it is closed and raised again
        sock.close()
        raise
    return sock


def listen(path: str) -> socket.socket:
    """Return a listening socket that only this user can reach, replacing a stale one.

    The caller holds the lock that makes it the only server of this path.
    """
    with contextlib.suppress(FileNotFoundError):
        os.unlink(path)
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        with _address(path) as address:
            sock.bind(address)
            # Nobody can connect before listen(); the umask would change for every thread.
            os.chmod(address, 0o600)
        sock.listen(128)
    except BaseException:  # whatever it is, an interrupt too: it is closed and raised again
        sock.close()
        raise
    return sock


def peer_is_me(sock: socket.socket) -> bool:
    """Tell whether the other end runs as this user (or as root); true where nobody can tell."""
    if not hasattr(socket, "SO_PEERCRED"):
        return True
    raw = sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
    uid = int.from_bytes(raw[4:8], "little", signed=False)
    return uid in (0, os.geteuid())
