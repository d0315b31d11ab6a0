"""Running one command: its output up to a limit, its end, its time limit.

A command has a session of its own and no input. The answer is there when its shell has ended: a
grandchild that still holds the output is neither waited for nor hurt. A command that takes too long
ends with everything it started.
"""

from __future__ import annotations

import array
import contextlib
import fcntl
import os
import secrets
import selectors
import subprocess
import termios
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import IO

from gascity.guest import trees
from gascity.guest.output import Kept

NOT_RUN = -1
TIMED_OUT = 124
STOPPED = 143  # as a shell says it of who was ended with SIGTERM
PIECE = 65536
GRACE = 0.1  # seconds for a grandchild to end its output after the shell has ended
LONGEST_WAIT = 3600.0  # seconds; the system's calls take some weeks and no more
POLL = 0.02  # seconds between two looks at the shell where no descriptor tells of its end

INTERPRETERS = {
    "python": ("python3", "-c"),
    "python3": ("python3", "-c"),
    "node": ("node", "-e"),
    "javascript": ("node", "-e"),
    "js": ("node", "-e"),
    "bash": ("bash", "-c"),
    "sh": ("sh", "-c"),
}


@dataclass(frozen=True)
class Outcome:
    """How a command ended, and the beginning of what it said."""

    exit_code: int
    stdout: str
    stderr: str


class _Stops(Exception):
    """Nothing is begun any more."""


class Executor:
    """Runs commands, from any thread, until it is told to stop."""

    def __init__(self, workdir: str, *, timeout: float, most: int) -> None:
        """`timeout` in seconds, 0 for none; `most` in bytes for each of the two outputs."""
        self._workdir = workdir
        self._timeout = timeout
        self._most = most
        self._lock = threading.Lock()
        self._running: set[int] = set()
        self._idle = threading.Condition(self._lock)
        self._leavings = _Leavings()
        self._stopping, self._stop = os.pipe()

    def shell(self, command: str) -> Outcome:
        """Run a command line."""
        return self._run(("sh", "-c", _no_option(command)), "")

    def code(self, language: str, code: str) -> Outcome:
        """Run a piece of a programming language."""
        interpreter = INTERPRETERS.get(language.lower())
        if interpreter is None:
            return Outcome(NOT_RUN, "", f"unsupported language: {language}")
        if interpreter[0] != "python3":  # which takes the next word whatever it is
            code = _no_option(code)
        return self._run((*interpreter, code), f"failed to execute {interpreter[0]}: ")

    def stop(self, *, timeout: float) -> None:
        """End what runs, with all that it started; nothing is begun any more."""
        with self._idle:
            if self._stop >= 0:
                os.close(self._stop)
                self._stop = -1
            self._idle.wait_for(lambda: not self._running, timeout)

    def reap(self) -> None:
        """Take note of the orphans that have ended; only for the first process of a system."""
        with self._lock:
            for pid in trees.orphans(self._running):
                with contextlib.suppress(OSError):
                    os.waitpid(pid, os.WNOHANG)

    def _run(self, words: Sequence[str], prefix: str) -> Outcome:
        mark = secrets.token_hex(16)
        try:
            process = self._spawn(words, mark)
        except _Stops:
            return Outcome(STOPPED, "", "not begun because the daemon stops\n")
        except ValueError:
            return Outcome(NOT_RUN, "", f"{prefix}nul byte found in provided data")
        except OSError as problem:
            return Outcome(NOT_RUN, "", f"{prefix}{self._refusal(problem)}")
        try:
            return self._follow(process, mark)
        except BaseException:  # whatever it is, nothing goes on running that nobody follows
            trees.end(process.pid, mark)
            raise
        finally:
            process.wait()
            with self._idle:
                self._running.discard(process.pid)
                self._idle.notify_all()

    def _spawn(self, words: Sequence[str], mark: str) -> subprocess.Popen[bytes]:
        with self._lock:  # `reap` must not take it for an orphan
            if self._stop < 0:  # nobody would be left to end it
                raise _Stops
            process = subprocess.Popen(
                words,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                cwd=self._workdir,
                env={**os.environ, trees.MARK: mark},
                start_new_session=True,
            )
            self._running.add(process.pid)
            return process

    def _refusal(self, problem: OSError) -> str:
        where = ""
        if problem.filename == self._workdir:
            where = f"cannot enter '{self._workdir}': "
        return where + reason(problem)

    def _follow(self, process: subprocess.Popen[bytes], mark: str) -> Outcome:
        deadline = time.monotonic() + self._timeout if self._timeout else None
        streams = [stream for stream in (process.stdout, process.stderr) if stream is not None]
        kept = [Kept(self._most) for _ in streams]
        ended = self._collect(process, dict(zip(streams, kept)), deadline)
        if not ended:
            trees.end(process.pid, mark)
        code = process.wait()
        for stream, one in zip(streams, kept):
            if not stream.closed:
                _read_rest(stream, one)
                self._leavings.add(stream)
        out, err = (one.text() for one in kept)
        if ended:
            return Outcome(code if code >= 0 else 128 - code, out, err)
        line = "" if not err or err.endswith("\n") else "\n"
        if self._stop < 0:
            return Outcome(STOPPED, out, f"{err}{line}ended because the daemon stops\n")
        return Outcome(TIMED_OUT, out, f"{err}{line}ended after {self._timeout:g} s, the limit\n")

    def _collect(
        self,
        process: subprocess.Popen[bytes],
        streams: dict[IO[bytes], Kept],
        deadline: float | None,
    ) -> bool:
        """Read until the shell has ended; tell whether it did so of itself, in time."""
        is_over = False
        with selectors.DefaultSelector() as selector, _end_of(process) as end:
            for stream in streams:
                os.set_blocking(stream.fileno(), False)
                selector.register(stream, selectors.EVENT_READ)
            selector.register(self._stopping, selectors.EVENT_READ)
            if end is not None:
                selector.register(end, selectors.EVENT_READ)
            while not (is_over and all(stream.closed for stream in streams)):
                now = time.monotonic()
                if deadline is not None and now >= deadline:
                    return is_over
                left = None if deadline is None else deadline - now
                wait = POLL if end is None and not is_over else left and min(left, LONGEST_WAIT)
                ready = {key.fileobj for key, _ in selector.select(wait)}
                if self._stopping in ready and not is_over:
                    return False
                for stream, kept in streams.items():
                    if stream in ready and not _read(stream, kept):
                        selector.unregister(stream)
                        stream.close()
                if not is_over and (end in ready or (end is None and process.poll() is not None)):
                    is_over = True
                    deadline = time.monotonic() + GRACE
                    if end is not None:
                        selector.unregister(end)
        return True


def _no_option(text: str) -> str:
    """Return it so that a shell does not take it for options of its own."""
    return f" {text}" if text.startswith(("-", "+")) else text


@contextlib.contextmanager
def _end_of(process: subprocess.Popen[bytes]) -> Iterator[int | None]:
    """Yield a descriptor that can be read when the process has ended; None where there is none."""
    try:
        descriptor = os.pidfd_open(process.pid)
    except (AttributeError, OSError):
        yield None
        return
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _read(stream: IO[bytes], kept: Kept) -> bool:
    """Take what is there; False at the end."""
    try:
        data = os.read(stream.fileno(), PIECE)
    except BlockingIOError:
        return True
    kept.add(data)
    return bool(data)


def _read_rest(stream: IO[bytes], kept: Kept) -> None:
    """Take what is there now and not what comes: whoever writes may go on for ever."""
    size = array.array("i", [0])
    fcntl.ioctl(stream.fileno(), termios.FIONREAD, size)
    left = size[0]
    while left > 0:
        data = os.read(stream.fileno(), min(left, PIECE))
        kept.add(data)
        left -= len(data) or left


class _Leavings:
    """Reads, for nobody, the outputs that outlive their commands.

    A closed pipe would end whoever writes to it.
    """

    def __init__(self) -> None:
        self._selector = selectors.DefaultSelector()
        self._lock = threading.Lock()
        self._streams: dict[int, IO[bytes]] = {}

    def add(self, stream: IO[bytes]) -> None:
        """Take over an output."""
        with self._lock:
            self._selector.register(stream, selectors.EVENT_READ)
            self._streams[stream.fileno()] = stream
            if len(self._streams) == 1:
                threading.Thread(target=self._discard, daemon=True).start()

    def _discard(self) -> None:
        while True:
            ready = [key.fd for key, _ in self._selector.select()]
            with self._lock:
                for descriptor in ready:
                    self._drop(descriptor)
                if not self._streams:
                    return

    def _drop(self, descriptor: int) -> None:
        with contextlib.suppress(BlockingIOError):
            if not os.read(descriptor, PIECE):
                self._selector.unregister(descriptor)
                self._streams.pop(descriptor).close()


def reason(problem: OSError) -> str:
    """Return what the system says, in the words of the protocol."""
    return f"{problem.strerror or problem} (os error {problem.errno})"
