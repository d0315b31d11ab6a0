"""The daemon's sockets and its life: who may connect, how many, and how it ends.

A thread for each connection. A signal ends everything: no more connections, no command left
running, no socket left in the file system.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import selectors
import signal
import socket
import stat
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence

from gascity import jsonrpc, unixsocket
from gascity.guest.execution import Executor
from gascity.guest.talk import PIECE, Read, Rules, Talk, complain

PATIENCE = 10.0  # seconds for a token, for what runs to be ended, for a folder that is held
LINGER = 10.0  # seconds in which the rest of a line that is too long is let go
PAUSE = 0.1  # seconds until another try to accept a connection
STEP = 0.01  # seconds between two tries to hold a folder
REAP = 1.0  # seconds between two looks for orphans that have ended


class CannotServe(Exception):
    """The daemon cannot begin; the message says why."""


class Server:
    """Serves until it is told to stop."""

    def __init__(
        self, rules: Rules, executor: Executor, *, most: int, patience: float = PATIENCE
    ) -> None:
        """`most` connections are served at once; each has `patience` seconds to say the token."""
        self._rules = rules
        self._executor = executor
        self._most = most
        self._patience = patience
        self._lock = threading.Lock()
        self._open = 0
        self._woken, self._wake = os.pipe()
        os.set_blocking(self._wake, False)

    def stop_at(self, numbers: Iterable[signal.Signals]) -> None:
        """Have it end at these signals; only for the main thread.

        The interpreter's own handler wakes it: one in Python would be called when the main thread
        comes to it, and that may just have begun to wait for a connection that nobody makes.
        """
        signal.set_wakeup_fd(self._wake, warn_on_full_buffer=False)
        for number in numbers:
            signal.signal(number, lambda *_: None)

    def stop(self) -> None:
        """Have it end; from any thread, and more than once."""
        with contextlib.suppress(BlockingIOError):
            os.write(self._wake, b"x")

    def serve(self, listeners: Sequence[socket.socket]) -> None:
        """Accept connections on all of these until it is stopped."""
        with selectors.DefaultSelector() as selector:
            for listener in listeners:
                listener.settimeout(0)
                selector.register(listener, selectors.EVENT_READ)
            self._until_stopped(selector, self._accept)

    def serve_stdio(self) -> None:
        """Talk over standard input and output until that ends, or it is stopped."""
        ended, end = os.pipe()

        def talk() -> None:
            try:
                if self._talk(lambda size, _: os.read(0, size), _write_out, greets=False):
                    with open(os.devnull, "wb") as nothing:
                        os.dup2(nothing.fileno(), 1)
                    _let_go(0)
            finally:
                os.close(end)

        threading.Thread(target=talk, daemon=True).start()
        with selectors.DefaultSelector() as selector:
            selector.register(ended, selectors.EVENT_READ)
            self._until_stopped(selector, lambda _: False)

    def _until_stopped(
        self, selector: selectors.BaseSelector, heard: Callable[[object], bool]
    ) -> None:
        is_first = os.getpid() == 1
        selector.register(self._woken, selectors.EVENT_READ)
        goes_on = True
        while goes_on:
            for key, _ in selector.select(REAP if is_first else None):
                goes_on = goes_on and key.fileobj != self._woken and heard(key.fileobj)
            if is_first:
                self._executor.reap()
        self._rules.methods.stop(timeout=PATIENCE)

    def _accept(self, listener: object) -> bool:
        assert isinstance(listener, socket.socket)  # noqa: S101  as it was registered
        try:
            connection, _ = listener.accept()
        except OSError as problem:
            if not isinstance(problem, BlockingIOError):
                complain(f"a connection could not be accepted: {problem.strerror}")
                time.sleep(PAUSE)  # out of descriptors: else it would be tried at once again
            return True
        connection.settimeout(None)
        with self._lock:
            is_room = self._open < self._most
            self._open += is_room
        if not is_room:
            _refuse(connection, f"too many connections, at most {self._most}")
            return True
        try:
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()
        except RuntimeError:  # the system has no more threads
            _refuse(connection, "too many connections for this system")
            with self._lock:
                self._open -= 1
        return True

    def _serve(self, connection: socket.socket) -> None:
        try:
            with connection:
                if self._talk(self._reader(connection), connection.sendall, greets=True):
                    connection.shutdown(socket.SHUT_WR)
                    _let_go(connection.fileno())
        finally:
            with self._lock:
                self._open -= 1

    def _reader(self, connection: socket.socket) -> Read:
        """Return what reads from a connection; who has not said the token cannot stay for long."""
        until = time.monotonic() + self._patience

        def read(size: int, is_trusted: bool) -> bytes:  # noqa: FBT001  as `Talk` calls it
            if is_trusted:
                if connection.gettimeout() is not None:
                    connection.settimeout(None)
            else:
                left = until - time.monotonic()
                if left <= 0:
                    raise TimeoutError(errno.ETIMEDOUT, "it did not say the token in time")
                connection.settimeout(left)
            return connection.recv(size)

        return read

    def _talk(self, read: Read, write: Callable[[bytes], object], *, greets: bool) -> bool:
        """Tell whether the other side is still writing at the end."""
        try:
            return Talk(self._rules, read, write, greets=greets).run()
        except OSError as problem:
            complain(f"a conversation broke off: {problem.strerror or problem}")
            return False


def listen_unix(path: str) -> socket.socket:
    """Return a listening socket that this user alone can reach. Raises CannotServe."""
    with _held(os.path.dirname(path)):  # of two that begin at once, the second sees the first
        return _listen_unix(path)


def _listen_unix(path: str) -> socket.socket:
    try:
        mode = os.lstat(path).st_mode
    except OSError:
        mode = stat.S_IFSOCK
    if not stat.S_ISSOCK(mode):
        raise CannotServe(f"{path} is there already, and is no socket")
    try:
        unixsocket.connect(path, timeout=5).close()
    except (FileNotFoundError, ConnectionRefusedError):
        pass
    except OSError as problem:
        raise CannotServe(f"cannot listen on {path}: {problem.strerror or problem}") from None
    else:
        raise CannotServe(f"somebody serves {path} already")
    try:
        return unixsocket.listen(path)
    except OSError as problem:
        raise CannotServe(f"cannot listen on {path}: {problem.strerror}") from None


@contextlib.contextmanager
def _held(folder: str) -> Iterator[None]:
    """Hold a folder, as far as its system lets us and whoever else holds it lets go of it."""
    with contextlib.ExitStack() as stack:
        with contextlib.suppress(OSError):
            descriptor = os.open(folder or os.curdir, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            stack.callback(os.close, descriptor)
            until = time.monotonic() + PATIENCE
            while not _locks(descriptor) and time.monotonic() < until:
                time.sleep(STEP)  # flock cannot wait with a limit
        yield


def _locks(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def listen_vsock(port: int) -> socket.socket:
    """Return a socket that the host of this virtual machine can reach. Raises CannotServe."""
    family = getattr(socket, "AF_VSOCK", None)
    if family is None:
        raise CannotServe("this system knows no vsock")
    try:
        sock = socket.socket(family, socket.SOCK_STREAM)
    except OSError as problem:
        raise CannotServe(f"this kernel has no vsock: {problem.strerror}") from None
    try:
        sock.bind((socket.VMADDR_CID_ANY, port))
        sock.listen(128)
    except OSError as problem:
        sock.close()
        raise CannotServe(f"cannot listen on vsock port {port}: {problem.strerror}") from None
    return sock


def _refuse(connection: socket.socket, why: str) -> None:
    complain(f"a connection was refused: {why}")
    with connection, contextlib.suppress(OSError):
        connection.sendall(jsonrpc.error(None, jsonrpc.FAILED, why))


def _let_go(descriptor: int) -> None:
    """Read what still comes, for nobody: who is writing would not see the answer otherwise."""
    until = time.monotonic() + LINGER
    with selectors.DefaultSelector() as selector, contextlib.suppress(OSError):
        selector.register(descriptor, selectors.EVENT_READ)
        while selector.select(max(0.0, until - time.monotonic())):
            if not os.read(descriptor, PIECE) or time.monotonic() >= until:
                return


def _write_out(data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(1, view) :]
