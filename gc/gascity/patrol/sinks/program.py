"""Running a program that takes an alert, within a time limit.

It is the head of a process group of its own, which is ended as a whole when the time is over. What
it leaves running in the background when it ends by itself goes on. Its last complaint is kept, so
that a failure can be told in its own words, without the secrets of its environment.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import tempfile
import threading
from collections.abc import Iterator, Mapping, Sequence

from gascity.core.fingerprint import conceal, secret_values
from gascity.patrol.notice import NotTaken, SinkFailed

LONGEST = 200  # characters of a complaint that are told
_TAIL = 4096  # bytes at the end of what it complained in which the last line is looked for
_GRACE = 5.0  # seconds for the system to end what was killed


class Running:
    """The programs of one way that are under way. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._processes: set[subprocess.Popen[bytes]] = set()
        self._ended = False

    @contextlib.contextmanager
    def one(self, process: subprocess.Popen[bytes]) -> Iterator[None]:
        """Keep a program in mind while it is waited for."""
        with self._lock:
            self._processes.add(process)
            ended = self._ended
        try:
            if ended:
                _end(process)
            yield
        finally:
            with self._lock:
                self._processes.discard(process)

    def end(self) -> None:
        """End all of them, and those that come."""
        with self._lock:
            self._ended = True
            left = list(self._processes)
        for process in left:
            _kill(process)


def run_program(
    words: Sequence[str],
    given: bytes,
    *,
    folder: str,
    environ: Mapping[str, str],
    timeout: float,
    running: Running,
) -> None:
    """Run a program with `given` on its standard input. Raises SinkFailed.

    It is NotTaken where the program said so itself, by another status than 0, or could not be run.
    Its complaints go to a file without a name, not to a pipe: what it leaves behind in the
    background may hold that open, and must not be killed by writing to it.
    """
    with tempfile.TemporaryFile() as complaints:
        try:
            process = subprocess.Popen(
                words,
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=complaints,
                cwd=folder,
                env=dict(environ),
                start_new_session=True,
            )
        except (OSError, ValueError) as problem:
            why = getattr(problem, "strerror", None) or problem
            raise NotTaken(f"cannot be run: {why}") from problem
        try:
            with running.one(process):
                process.communicate(given, timeout=timeout)
        except subprocess.TimeoutExpired:
            raise SinkFailed(f"did not end within {timeout:g} s") from None
        finally:
            if process.returncode is None:
                _end(process)
        if process.returncode:
            last = conceal(_last_line(complaints.fileno()), secret_values(environ))
            raise NotTaken(_ending(process.returncode) + (f": {last}" if last else ""))


def printable(text: str, longest: int = LONGEST) -> str:
    """Return a text on one line, without what a terminal would act on, and not too long."""
    line = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    return line if len(line) <= longest else f"{line[:longest]}..."


def _kill(process: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)


def _end(process: subprocess.Popen[bytes]) -> None:
    _kill(process)
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(timeout=_GRACE)
    if process.stdin is not None:
        with contextlib.suppress(OSError):
            process.stdin.close()


def _last_line(descriptor: int) -> str:
    size = os.fstat(descriptor).st_size
    text = os.pread(descriptor, _TAIL, max(size - _TAIL, 0)).decode("utf-8", "replace")
    lines = [line for line in map(printable, text.splitlines()) if line]
    return lines[-1] if lines else ""


def _ending(code: int) -> str:
    return f"exited with {code}" if code > 0 else f"was killed by signal {-code}"
