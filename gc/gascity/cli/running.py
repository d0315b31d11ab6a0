"""Carrying out one run for a person at a terminal: who, where, what is shown, and Ctrl-C."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import FrameType
from typing import Self

from gascity.cli.app import stop_writing
from gascity.cli.asked import Asked, city_of, job_of, line_of
from gascity.cli.cells import cut
from gascity.cli.city import Here
from gascity.cli.render import ago
from gascity.core.oneshot import OneShot
from gascity.errors import Exit, GascityError, explain
from gascity.runs import job
from gascity.runs.context import Cancel
from gascity.runs.folder import OUTPUT, STDERR, STDOUT, RunFolder, open_file
from gascity.runs.places import find_home
from gascity.runs.reconcile import settle
from gascity.runs.waiting_line import standing

NO_KEY = "api key is empty"
_PACE = 1.0  # seconds between two looks at how far it is


@dataclass(frozen=True, slots=True)
class Told:
    """What became of it, to be shown."""

    outcome: job.Outcome
    backend: OneShot | None = None

    @property
    def exit_code(self) -> int:
        """What the command ends with."""
        return self.outcome.exit_code

    @property
    def folder(self) -> str:
        """Where all about it is kept."""
        return self.outcome.folder.path

    def document(self) -> dict[str, object]:
        """Return it as `--json` prints it."""
        info, folder = self.outcome.info, self.outcome.folder
        return {
            "run": info.run_id,
            "project": info.project_id,
            "task": info.task_id,
            "backend": info.backend,
            "status": info.status,
            "exit_code": self.exit_code,
            "end": info.end,
            "started": info.start_time,
            "ended": info.end_time,
            "duration": info.duration,
            "folder": folder.path,
            "output": folder.file(OUTPUT),
        }

    def answer(self) -> None:
        """Print the answer. Raises OSError when that cannot be done."""
        try:
            output = open_file(self.outcome.folder.file(OUTPUT))
        except OSError:
            return  # somebody took it away
        with output:
            shutil.copyfileobj(output, sys.stdout.buffer)
            if sys.stdout.isatty() and output.tell():  # what comes next begins a line of its own
                output.seek(-1, os.SEEK_END)
                sys.stdout.buffer.write(b"" if output.read() == b"\n" else b"\n")

    def show(self) -> int:
        """Print the answer and, of one that failed, why and where to look; return the exit code."""
        code = printed(self.answer, self.exit_code, self.outcome.folder.file(OUTPUT))
        info = self.outcome.info
        if not self.outcome.is_done:
            say(f"error: run {info.run_id} failed: {info.end}\nhint: {self._advice()}")
        return code

    def _advice(self) -> str:
        backend = self.backend
        if backend is not None and backend.token_env and self.outcome.info.end == NO_KEY:
            file = f"token_file of [providers.{backend.name}]"
            return f"it is looked for in {backend.token_env[0]}, and in the {file} of the city"
        return f"`gc runs show {self.outcome.info.run_id}` tells more"


def printed(write: Callable[[], object], code: int, where: str) -> int:
    """Print what became of some work that ended with `code`; return what to end with.

    That is `code`, also when the reader left; 1 for work that went well and cannot be told of.
    `where` is what a person finds it in then.
    """
    try:
        write()
        sys.stdout.flush()
    except BrokenPipeError:
        stop_writing()
    except OSError as problem:
        stop_writing()
        hint = f"it is in {where}"
        say(explain(GascityError(f"cannot print it: {problem.strerror}", hint=hint)).rstrip())
        return code or Exit.FAILED
    return code


def say(text: str) -> None:
    """Write a line to standard error; nothing is over because nobody listens there any more."""
    try:
        sys.stderr.write(f"{text}\n")
        sys.stderr.flush()
    except OSError:
        stop_writing(sys.stderr)


def carry_out(here: Here, asked: Asked) -> Told:
    """Do what was asked for, and return what became of it.

    Raises LeftLine when it was ended before its turn, GascityError when it could not begin.
    """
    home = find_home(here.folder)
    settle(home)
    city = city_of(here)
    made = job_of(city, home, asked)
    cancel = Cancel()
    line = line_of(city, home)
    with (
        signals(cancel.set),
        Progress(made.backend.name) as progress,
        line.place(cancel, progress.wait),
    ):
        return Told(job.run(made, cancel, progress.begin), made.backend)


@contextlib.contextmanager
def signals(end: Callable[[str], None]) -> Iterator[None]:
    """Turn the signals that end a program into the end of its run, with a reason.

    What was begun deaf to Ctrl-C or to the end of its terminal (`nohup`, or `&` in a script) stays
    so. SIGTERM is heard always: by it a run is stopped.
    """

    def interrupt(_: int, __: FrameType | None) -> None:
        end(job.INTERRUPTED)

    def stop(_: int, __: FrameType | None) -> None:
        end(job.STOPPED)

    heard = {signal.SIGINT: interrupt, signal.SIGTERM: stop, signal.SIGHUP: stop}
    before = {
        number: signal.signal(number, handler)
        for number, handler in heard.items()
        if number == signal.SIGTERM or signal.getsignal(number) is not signal.SIG_IGN
    }
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextlib.contextmanager
def ended_by_signals() -> Iterator[None]:
    """Have signals that end a program raise SystemExit, so that what was begun is taken back."""

    def end(number: int, _: FrameType | None) -> None:
        raise SystemExit(128 + number)

    before = {number: signal.signal(number, end) for number in (signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


class Progress:
    """A line on the terminal that says how far it is, where there is a terminal."""

    def __init__(self, who: str) -> None:
        self._who = who
        self._began = time.monotonic()
        self._over = threading.Event()
        self._thread: threading.Thread | None = None

    def __enter__(self) -> Self:
        return self

    def wait(self, before: int) -> None:
        """Say that it waits for a place."""
        if _can_redraw():
            _redraw(f"{self._who} {standing(before)}")

    def begin(self, folder: RunFolder) -> None:
        """Say where it is recorded, and go on with how far it is."""
        if _can_redraw():
            self._thread = threading.Thread(target=self._show, args=[folder], daemon=True)
            self._thread.start()

    def __exit__(self, *_: object) -> None:
        self._over.set()
        if self._thread is not None:
            self._thread.join()

    def _show(self, folder: RunFolder) -> None:
        said = -1
        while not self._over.wait(_PACE):
            said = sum(_size(folder.file(name)) for name in (STDOUT, STDERR))
            passed = ago(time.monotonic() - self._began)
            _redraw(f"{self._who}: {passed}, {said} bytes, {folder.run_id}")
        if said >= 0:
            _redraw("")


def _can_redraw() -> bool:
    return sys.stderr.isatty() and os.environ.get("TERM") != "dumb"


def _redraw(text: str) -> None:
    """Replace the line of the terminal: one that is longer than it would leave its beginning."""
    try:
        columns = os.get_terminal_size(sys.stderr.fileno()).columns or 80
    except OSError:
        columns = 80
    with contextlib.suppress(OSError):  # the window was closed, and the run has to be ended
        sys.stderr.write(f"\r\033[K{cut(text, columns - 1, '...')}")
        sys.stderr.flush()


def _size(path: str) -> int:
    try:
        return os.stat(path).st_size
    except OSError:
        return 0
