"""One call of git: bounded in time, about the folder that is named and no other.

Variables that would lead git to another repository are left out: whoever calls us may be a hook.
What only looks takes no lock, so that it never gets in the way of an agent that commits, and no
call of ours starts maintenance. What a person has configured otherwise holds.

Git is waited for, and not what it leaves behind: a hook may start something that stays, with the
output of git in its hands.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from gascity.awake import BEAT, Patience
from gascity.config.problems import quoted
from gascity.errors import GascityError, NotInstalled
from gascity.runs.context import Cancel
from gascity.runs.marked import RUN_MARK
from gascity.session import pids

LIMIT = 60.0  # seconds for a call that looks
LONG = 900.0  # seconds for one that writes a whole tree, or asks another machine
_GRACE = 5.0  # seconds git has to clean up after itself
_GLANCE = 0.05  # seconds between two looks where nobody can be waited for
_RACE = "/commondir: Success"  # what git says of a file that is there, and empty as yet
_TRIES = 20
# Which repository, and which part of it: these are told by the folder alone.
LOCATED = (
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_COMMON_DIR",
    "GIT_DIR",
    "GIT_GRAFT_FILE",
    "GIT_IMPLICIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_INTERNAL_SUPER_PREFIX",
    "GIT_NAMESPACE",
    "GIT_OBJECT_DIRECTORY",
    "GIT_PREFIX",
    "GIT_QUARANTINE_PATH",
    "GIT_SHALLOW_FILE",
    "GIT_WORK_TREE",
)
_TRACES = ("GIT_TRACE", "GIT_CURL_VERBOSE")  # they would stand among what git complains of
_QUIET = ("-c", "gc.auto=0", "-c", "maintenance.auto=false", "-c", "core.fsmonitor=false")


class GitError(GascityError):
    """Git did not do it; the message is its own, in one line."""


@dataclass(frozen=True, slots=True)
class Said:
    """What git answered. Bytes that are no UTF-8 are kept as Python keeps those of file names."""

    code: int
    out: str
    err: str

    @property
    def is_race(self) -> bool:
        """Whether it met a worktree that another git is writing down, and did nothing."""
        return _RACE in self.err

    @property
    def failed(self) -> bool:
        """Whether it could not do what it was asked, and says so itself."""
        return self.code != 0 and any(
            line.startswith(("fatal: ", "error: ")) for line in self.err.splitlines()
        )

    @property
    def complaint(self) -> str:
        """What it complained of, in one line without its first word."""
        return _complaint(self.err.splitlines()) or f"git ended with code {self.code}"


def git(
    folder: str,
    *words: str,
    timeout: float = LIMIT,
    mark: str = "",
    may_ask: bool = False,
    reads: bool = True,
    cancel: Cancel | None = None,
) -> str:
    """Return what git prints. Raises GitError when it fails, NotInstalled where there is none."""
    said = ask(
        folder, *words, timeout=timeout, mark=mark, may_ask=may_ask, reads=reads, cancel=cancel
    )
    if said.code:
        raise GitError(said.complaint)
    return said.out


def ask(
    folder: str,
    *words: str,
    timeout: float = LIMIT,
    mark: str = "",
    may_ask: bool = False,
    reads: bool = True,
    cancel: Cancel | None = None,
) -> Said:
    """Return what git answers in a folder, also when it fails.

    `mark` is carried by the process, so that it can be found when its caller is dead. With
    `may_ask` it may ask the person at the terminal for a password. Raises GitError when it takes
    too long, is cancelled or cannot be started, NotInstalled where there is no git.
    """
    for _ in range(_TRIES):
        said = _ask(folder, words, timeout, mark, cancel, may_ask=may_ask, reads=reads)
        if not (said.code and said.is_race):
            break
        time.sleep(_GLANCE)  # somebody adds a worktree, which takes git a moment
    return said


def _ask(
    folder: str,
    words: Sequence[str],
    timeout: float,
    mark: str,
    cancel: Cancel | None,
    *,
    may_ask: bool,
    reads: bool,
) -> Said:
    looks = ("--no-optional-locks",) if reads else ()
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        try:
            process = subprocess.Popen(
                ["git", *looks, *_QUIET, *words],
                cwd=folder,
                env=_environment(mark, may_ask=may_ask),
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                start_new_session=not may_ask,  # Ctrl-C is ours to hear, and git would die of it
            )
        except FileNotFoundError as problem:
            if not os.path.isdir(folder):
                raise GitError(f"there is no folder {quoted(folder)}") from problem
            hint = "`gc doctor` tells what is here"
            raise NotInstalled("git is not installed", hint=hint) from None
        except (OSError, ValueError) as problem:  # the latter for a NUL in a word
            raise GitError(f"git cannot be run in {quoted(folder)}: {problem}") from problem
        try:
            _await(process, timeout, cancel)
        finally:
            _end(process, alone=may_ask)
        if process.returncode == -signal.SIGTERM and cancel is not None and cancel.is_set():
            raise GitError(f"git {words[0]} was ended: {cancel.reason}")
        for file in (out, err):
            file.seek(0)
        return Said(process.returncode, _text(out.read()), _text(err.read()))


def without_place(environment: Mapping[str, str]) -> dict[str, str]:
    """Return an environment in which git finds its repository by the folder it is in."""
    return {name: value for name, value in environment.items() if name not in LOCATED}


def _environment(mark: str, *, may_ask: bool) -> dict[str, str]:
    here = without_place(os.environ)
    env = {name: value for name, value in here.items() if not name.startswith(_TRACES)}
    env["LC_ALL"] = "C.UTF-8"
    if not may_ask:
        env["GIT_TERMINAL_PROMPT"] = "0"
    return {**env, RUN_MARK: mark} if mark else env


def _await(process: subprocess.Popen[bytes], timeout: float, cancel: Cancel | None) -> None:
    """Return when git has ended, or is to be ended. Raises GitError when it takes too long.

    Time in which the whole machine stood still is not counted.
    """
    patience = Patience(timeout)
    with contextlib.ExitStack() as stack:
        poll = select.poll()
        pace = _GLANCE
        with contextlib.suppress(OSError, AttributeError):  # the kernel has no such thing
            descriptor = os.pidfd_open(process.pid)
            stack.callback(os.close, descriptor)
            poll.register(descriptor, select.POLLIN)
            pace = BEAT
        if cancel is not None:
            poll.register(cancel.fileno(), select.POLLIN)
        while process.poll() is None and not (cancel is not None and cancel.is_set()):
            left = patience.left()
            if left <= 0:
                raise GitError(f"git took longer than {timeout:g} s")
            poll.poll(1000 * min(left, pace) + 1)


def _end(process: subprocess.Popen[bytes], *, alone: bool) -> None:
    """End a git that still runs with what it runs; asked first, it removes what is unfinished."""
    if process.poll() is not None:
        return
    # One that may ask at the terminal is in our own group: what it runs is told one by one.
    below = pids.below(process.pid) if alone else []
    for number in (signal.SIGTERM, signal.SIGKILL):
        with contextlib.suppress(OSError):
            os.kill(process.pid, number) if alone else os.killpg(process.pid, number)
        for pid, started in below:
            pids.send(pid, started, number)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(_GRACE)
            return


def _text(said: bytes) -> str:
    return said.decode("utf-8", "surrogateescape")


def _complaint(lines: list[str]) -> str:
    """Return what is worst in what git said: neither a hint nor how far it was."""
    for begin in ("fatal: ", "error: ", " ! ", "remote: "):
        for number, line in enumerate(lines):
            if line.startswith(begin):
                below = lines[number + 1 :]
                more = [one.strip() for one in below if one.startswith("\t")]
                first = line.removeprefix(begin).strip()
                return " ".join([first, *more[:3]]).rstrip(".")
    said = [line.strip() for line in lines if line.strip() and not line.startswith("hint: ")]
    return said[-1].rstrip(".") if said else ""
