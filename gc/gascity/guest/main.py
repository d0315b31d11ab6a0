"""The daemon's command line, for where there is no `gc`: `python3 guest.pyz --socket PATH`."""

from __future__ import annotations

import argparse
import contextlib
import os
import signal
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from gascity import jsonrpc
from gascity.guest.beneath import Outside
from gascity.guest.execution import Executor
from gascity.guest.files import Files
from gascity.guest.methods import Methods
from gascity.guest.server import CannotServe, Server, listen_unix, listen_vsock
from gascity.guest.talk import Rules

OK = 0
FAILED = 1
MOST_PORT = 2**32 - 2  # the one above stands for any
M_MMAP_THRESHOLD = -3  # of glibc; others have no mallopt, or ignore it


@dataclass(frozen=True)
class Settings:
    """How the daemon serves. Sizes in bytes, times in seconds."""

    socket: str = ""
    stdio: bool = False
    vsock: int | None = None
    root: str | None = None
    workdir: str = "."
    timeout: float = 600.0
    max_output: int = 1024 * 1024
    max_file: int = 10 * 1024 * 1024
    max_line: int = jsonrpc.LONGEST_LINE
    max_connections: int = 64
    token_file: str | None = None


def main(argv: Sequence[str] | None = None) -> int:
    """Serve as the words of this process say; return the exit code."""
    try:
        serve(_settings(argv))
    except (CannotServe, OSError) as problem:
        sys.stderr.write(f"error: {problem}\n")
        return FAILED
    return OK


def serve(settings: Settings) -> None:
    """Serve until a signal, or the end of standard input. Raises CannotServe."""
    if settings.stdio == bool(settings.socket or settings.vsock is not None):
        raise CannotServe("one of --socket, --vsock and --stdio is needed; --stdio goes alone")
    workdir = os.path.abspath(settings.workdir)
    if not os.path.isdir(workdir):
        raise CannotServe(f"the working folder {workdir} is not there")
    if settings.root is not None and not os.path.isdir(settings.root):
        raise CannotServe(f"the root {settings.root} is not there")
    try:
        files = Files(workdir, root=settings.root, most=settings.max_file)
    except Outside:
        raise CannotServe(f"the working folder {workdir} is not in the root") from None
    executor = Executor(workdir, timeout=settings.timeout, most=settings.max_output)
    rules = Rules(Methods(executor, files), _token(settings.token_file), settings.max_line)
    server = Server(rules, executor, most=settings.max_connections)
    is_nohup = signal.getsignal(signal.SIGHUP) == signal.SIG_IGN
    server.stop_at((signal.SIGTERM, signal.SIGINT) + (() if is_nohup else (signal.SIGHUP,)))
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)  # if it is ignored, exit codes are lost
    _give_memory_back()
    if settings.stdio:
        server.serve_stdio()
        return
    with contextlib.ExitStack() as stack:
        listeners = []
        if settings.socket:
            path = os.path.abspath(settings.socket)
            listeners.append(stack.enter_context(listen_unix(path)))
            stack.enter_context(_removed(path))
        if settings.vsock is not None:
            listeners.append(stack.enter_context(listen_vsock(settings.vsock)))
        server.serve(listeners)


@contextlib.contextmanager
def _removed(path: str) -> Iterator[None]:
    """Remove the socket at the end, unless another daemon has put its own there."""
    mine = os.lstat(path)
    try:
        yield
    finally:
        with contextlib.suppress(OSError):
            if os.path.samestat(mine, os.lstat(path)):
                os.unlink(path)


def _give_memory_back() -> None:
    """Have large blocks go back to the system as soon as they are free.

    The C library would learn from the first long line to keep as much for every thread.
    """
    with contextlib.suppress(ImportError, OSError, AttributeError):
        import ctypes  # noqa: PLC0415  a small Python may have none

        ctypes.CDLL(None).mallopt(M_MMAP_THRESHOLD, 128 * 1024)


def _token(path: str | None) -> bytes | None:
    if path is None:
        return None
    try:
        with open(path, "rb") as file:
            token = file.read().strip()
    except OSError as problem:
        raise CannotServe(f"cannot read the token in {path}: {problem.strerror}") from None
    if not token:
        raise CannotServe(f"there is no token in {path}")
    try:
        token.decode()
    except UnicodeDecodeError:
        raise CannotServe(f"the token in {path} is no UTF-8: nobody could say it") from None
    return token


def _settings(argv: Sequence[str] | None) -> Settings:
    usual = Settings()
    parser = argparse.ArgumentParser(
        prog="guest", description="Run commands and move files for whoever holds the socket."
    )
    add = parser.add_argument
    add("--socket", metavar="PATH", default="", help="serve a Unix socket, for this user alone")
    add("--stdio", action="store_true", help="serve standard input and output")
    add("--vsock", metavar="PORT", type=_port, help="serve the host of this virtual machine")
    add("--root", metavar="DIR", help="read, write and list files in this folder alone")
    add("--workdir", metavar="DIR", default=usual.workdir, help="where commands and paths begin")
    add(
        "--timeout",
        metavar="SECONDS",
        type=_not_negative,
        default=usual.timeout,
        help="the most that a command may take; 0 for no limit",
    )
    add(
        "--max-output",
        metavar="BYTES",
        type=_size,
        default=usual.max_output,
        help="the most that is kept of each output of a command",
    )
    add(
        "--max-file",
        metavar="BYTES",
        type=_size,
        default=usual.max_file,
        help="the largest file that is read",
    )
    add(
        "--max-line",
        metavar="BYTES",
        type=_size,
        default=usual.max_line,
        help="the longest request",
    )
    add(
        "--max-connections",
        metavar="COUNT",
        type=_size,
        default=usual.max_connections,
        help="how many are served at once",
    )
    add("--token-file", metavar="FILE", help="who connects must first say the token in this file")
    return Settings(**vars(parser.parse_args(argv)))


def _size(word: str) -> int:
    number = int(word)
    if number < 1:
        raise ValueError(word)
    return number


def _port(word: str) -> int:
    number = int(word)
    if not 0 <= number <= MOST_PORT:
        raise ValueError(word)
    return number


def _not_negative(word: str) -> float:
    number = float(word)
    if not 0 <= number < float("inf"):
        raise ValueError(word)
    return number


if __name__ == "__main__":
    sys.exit(main())
