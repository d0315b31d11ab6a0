"""The keeper: the one process per city that owns its sessions' processes.

One thread, one loop over sockets and the ends of children. It outlives whoever started it, and
goes when no session lives and no client is connected. It can be killed at any instant: the
sessions live on, and the next keeper takes them up (`adoption`).
"""

from __future__ import annotations

import fcntl
import os
import selectors
import signal
import socket
import sys
import time

from gascity import unixsocket
from gascity.awake import BEAT
from gascity.session import pids
from gascity_subprocess import adoption, layout
from gascity_subprocess.connections import Connection, understand
from gascity_subprocess.family import Family
from gascity_subprocess.methods import Methods
from gascity_subprocess.records import Record, Records

FIRST_CLIENT = 5.0  # seconds to wait for whoever started this keeper
POLL = 0.1  # between two looks at adopted processes where the kernel cannot tell their end
_SUBREAPER = 36  # PR_SET_CHILD_SUBREAPER


def main(home: str) -> int:
    """Become the keeper of `home`, or find that there is one; return when it can be asked.

    The process that was started ends here; a child of it goes on as the keeper.
    """
    lock = _take_lock(home)
    if lock is None:
        return 0
    listener = unixsocket.listen(os.path.join(home, layout.SOCKET))
    pid = os.fork()
    if pid > 0:
        os.ftruncate(lock, 0)
        os.pwrite(lock, f"{pid}\n".encode(), 0)
        os._exit(0)  # the child holds lock and socket; nothing may be cleaned up here
    Keeper(home, listener).run()
    return 0


class Keeper:
    """The loop."""

    def __init__(self, home: str, listener: socket.socket) -> None:
        self._home = home
        self._listener = listener
        self._selector = selectors.DefaultSelector()
        self._connections: set[Connection] = set()
        self._polled: set[Record] = set()
        self._has_changed = False
        self._wait_for_first = time.monotonic() + FIRST_CLIENT
        records = Records(home)
        self._cut_off = records.load()
        self._methods = Methods(records, Family(records, reaper=_become_reaper()), self._changed)

    def run(self) -> None:
        """Serve until nobody needs a keeper any more."""
        self._listener.settimeout(0)
        self._selector.register(self._listener, selectors.EVENT_READ)
        wakeup = _wakeup_on_child()
        self._selector.register(wakeup, selectors.EVENT_READ)
        for record in adoption.adopt(self._methods, self._cut_off):
            self._await_end(record)
        while not self._is_over():
            self._methods.family.refresh()
            for key, events in self._selector.select(self._patience()):
                if key.fileobj is self._listener:
                    self._accept()
                elif key.fileobj is wakeup:
                    wakeup.recv(4096)
                    self._reap()
                elif isinstance(key.data, Connection):
                    self._serve(key.data, events)
                elif isinstance(key.data, Record):
                    self._ended_unseen(key.data, key.fd)
            self._look_at_polled()
            self._methods.go_on(self._methods.pulse.beat())
            self._tell()
            self._methods.write_ends()
            self._methods.records.sweep()
        os.unlink(os.path.join(self._home, layout.SOCKET))

    # --- clients

    def _accept(self) -> None:
        try:
            sock, _ = self._listener.accept()
        except OSError:
            return
        if not unixsocket.peer_is_me(sock):
            sock.close()
            return
        connection = Connection(sock)
        self._connections.add(connection)
        self._wait_for_first = 0.0
        self._selector.register(sock, selectors.EVENT_READ, connection)
        self._serve(connection, selectors.EVENT_READ)  # it came to ask

    def _serve(self, connection: Connection, events: int) -> None:
        if events & selectors.EVENT_WRITE:
            connection.push()
        lines = connection.lines() if events & selectors.EVENT_READ else []
        if lines is None:
            self._hang_up(connection)
            return
        for line in lines:
            call = understand(connection, line)
            if call is not None:
                self._methods.handle(call)
        self._listen_to(connection)

    def _listen_to(self, connection: Connection) -> None:
        wanted = selectors.EVENT_READ
        if connection.is_behind:
            wanted |= selectors.EVENT_WRITE
        if self._selector.get_key(connection.sock).events != wanted:
            self._selector.modify(connection.sock, wanted, connection)

    def _hang_up(self, connection: Connection) -> None:
        self._connections.discard(connection)
        self._selector.unregister(connection.sock)
        connection.sock.close()

    def _changed(self) -> None:
        self._has_changed = True

    def _tell(self) -> None:
        for connection in self._connections:
            if self._has_changed and connection.subscribed and not connection.is_behind:
                self._methods.tell_news(connection)
            self._listen_to(connection)
        self._has_changed = False

    # --- children

    def _reap(self) -> None:
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                break
            if pid == 0:
                break
            self._methods.family.reaped(pid)
            record = self._methods.roots.get(pid)
            if record is not None:
                code = os.waitstatus_to_exitcode(status)
                ended = (code, None) if code >= 0 else (None, -code)
                self._methods.end(record, *ended)
        self._methods.family.refresh()

    def _await_end(self, record: Record) -> None:
        descriptor = pids.descriptor_of(record.pid)
        if descriptor is None:  # ended this moment, or the kernel has no such thing
            self._polled.add(record)
        else:
            self._selector.register(descriptor, selectors.EVENT_READ, record)

    def _ended_unseen(self, record: Record, descriptor: int) -> None:
        self._selector.unregister(descriptor)
        os.close(descriptor)
        self._methods.family.refresh()
        if record.alive:
            self._methods.end(record, None, None)

    def _look_at_polled(self) -> None:
        for record in tuple(self._polled):
            if not self._methods.family.root_lives(record):
                self._polled.discard(record)
                if record.alive:
                    self._methods.end(record, None, None)

    # --- time

    def _patience(self) -> float | None:
        now = self._methods.pulse.beat()
        stops = self._methods.stops.values()
        waits = [min(stop.due(self._methods.family, now) - now, BEAT) for stop in stops]
        if self._wait_for_first:
            waits.append(self._wait_for_first - time.monotonic())
        if self._polled:
            waits.append(POLL)
        return max(0.0, min(waits)) if waits else None

    def _is_over(self) -> bool:
        if self._connections or self._methods.stops or self._methods.roots:
            return False
        if time.monotonic() < self._wait_for_first:
            return False
        if any(record.alive for record in self._methods.records):
            return False
        self._methods.family.refresh()
        return not self._methods.family.has_orphans()


def _take_lock(home: str) -> int | None:
    """Return the lock's descriptor, or None when another keeper answers.

    A keeper that was killed may have left a child on its way to its program, which holds the lock
    until it is there: so the new one cannot miss it.
    """
    descriptor = os.open(os.path.join(home, layout.LOCK), os.O_RDWR | os.O_CREAT, 0o600)
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            try:
                unixsocket.connect(os.path.join(home, layout.SOCKET), timeout=1.0).close()
            except OSError:
                time.sleep(0.002)  # the holder is coming up or going: nothing tells which
            else:
                return None
        else:
            return descriptor


def _wakeup_on_child() -> socket.socket:
    for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
        if signal.getsignal(number) is signal.SIG_IGN and number != signal.SIGPIPE:
            signal.signal(number, signal.SIG_DFL)
    ours, kernels = socket.socketpair()
    for end in (ours, kernels):
        end.settimeout(0)
    signal.set_wakeup_fd(os.dup(kernels.fileno()), warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda _signum, _frame: None)
    return ours


def _become_reaper() -> bool:
    """Make orphans below this process its children, where the kernel can do that."""
    if sys.platform != "linux":
        return False
    import ctypes  # noqa: PLC0415  there is no other way to say this

    status: int = ctypes.CDLL(None).prctl(_SUBREAPER, 1, 0, 0, 0)
    return status == 0
