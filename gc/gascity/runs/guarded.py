"""An agent in the hands of a guard: what a runner has of it.

The runner keeps one socket, which the guard holds for its input and output: when the runner dies
in whatever way, the socket closes and the guard ends the agent with all it began. What the agent
prints goes to its files and is never seen here. Environment and prompt stand in no argument list.
"""

from __future__ import annotations

import contextlib
import logging
import os
import select
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence

from gascity.core.observed import ProcessId
from gascity.errors import GuardLost
from gascity.runs.context import GLANCE, Cancel, RunContext
from gascity.runs.marked import RUN_MARK, end_marked
from gascity.runs.refusals import refusal, refused
from gascity.session import pids

__all__ = ["Guarded", "end_marked", "run"]

log = logging.getLogger(__name__)

GRACE = 5.0  # seconds an agent has to end before it is killed
START_LIMIT = 60.0  # seconds a guard has to start a program: it needs some milliseconds
PATIENCE = 20.0  # seconds a guard has beyond the grace, until it is taken for stuck itself
KILLED = 137  # 128 and SIGKILL
ASKED = 143  # 128 and SIGTERM
_ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
# At the end of the path: nothing that is installed beside gascity may stand for a part of Python.
_GUARD = "import sys; sys.path.append(sys.argv[1]); from gascity.runs.guard import main; main()"
_PASSED_ON = ("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH")  # without it some Pythons do not start


class Guarded:
    """One agent, for one owner. `stdin` may be empty: then it reads nothing.

    `fd:N` in the place of a file is descriptor N of this process, which `passed` has to name.
    `grace` is what it gets when the runner dies; `mark` is its `GC_RUN_MARK`.
    """

    def __init__(
        self,
        argv: Sequence[str],
        env: Mapping[str, str],
        cwd: str,
        *,
        stdin: str,
        stdout: str,
        stderr: str,
        grace: float = GRACE,
        mark: str = "",
        passed: Sequence[int] = (),
    ) -> None:
        self._passed = tuple(passed)
        self._argv, self._cwd, self._grace, self._mark = tuple(argv), cwd, grace, mark
        self._env = {**env, RUN_MARK: mark} if mark else dict(env)
        self._files = {"stdin": stdin, "stdout": stdout, "stderr": stderr}
        self._guard: subprocess.Popen[bytes] | None = None
        self._socket: socket.socket | None = None
        self._heard = self._words = b""
        self._code: int | None = None
        self._problem: GuardLost | None = None

    def start(self) -> ProcessId:
        """Return the agent when its program runs. Raises SpawnFailed, with the code of a shell."""
        asked = self._request()
        self._socket, its = socket.socketpair()
        try:
            with its:
                self._guard = self._spawn(its)
            self._socket.settimeout(START_LIMIT)
            with contextlib.suppress(BrokenPipeError, ConnectionResetError):
                self._socket.sendall(asked)  # a guard that broke says why
            said = self._report(time.monotonic() + START_LIMIT)
        except OSError as problem:
            self.close()
            raise refused(f"guard: {problem.strerror or problem}".lower()) from problem
        except BaseException:  # whatever it is: cleaned up, and raised again
            self.close()
            raise
        match said:
            case ["started", pid, started]:
                return ProcessId(int(pid), _started(int(pid), started))
            case ["failed", stage, number]:
                why = refusal(stage, int(number), self._argv[0], self._cwd, self._files)
                self._code = why.code
                self.close()
                raise why
            case _:
                self.close()
                raise refused(f"guard: it did not begin{self._last_words()}")

    def fileno(self) -> int:
        """Return a descriptor that is readable when `wait` has something to tell."""
        return self._socket.fileno() if self._socket is not None else -1

    def wait(self, timeout: float | None = None) -> int | None:
        """Return the exit code, 128+N for a signal, when all has ended; None when it has not yet.

        Raises GuardLost when the guard died before: all that carries the mark was ended then.
        """
        if self._code is None and self._problem is None and self._socket is not None:
            match self._report(None if timeout is None else time.monotonic() + timeout):
                case None:
                    return None
                case ["ended", code, *left]:
                    self._code = int(code)
                    self._finish(left)
                case _:
                    self._problem = self._lose("was killed or broke")
        if self._problem is not None:
            raise self._problem
        return self._code

    def stop(self, grace: float) -> None:
        """Begin to end the agent and all it began: asked now, killed after `grace` seconds."""
        if self._socket is not None:
            with contextlib.suppress(OSError):  # the guard is gone: `wait` will tell
                self._socket.sendall(b"stop %f\n" % grace)

    def abandon(self) -> GuardLost:
        """End all without a guard that does not do it, and return what to raise."""
        self._problem = self._problem or self._lose("did not end it")
        return self._problem

    def close(self) -> None:
        """Let go of everything. An agent that still runs is killed with all it began."""
        if self._guard is not None and self._socket is not None and self._code is None:
            self.stop(0)
            with contextlib.suppress(GuardLost):
                if self.wait(PATIENCE) is None:
                    self.abandon()
        if self._socket is not None:
            self._socket.close()
            self._socket = None
        if self._guard is not None:
            self._guard.wait()

    def _request(self) -> bytes:
        if not self._argv:
            raise refused("there is no program to run")
        if any(not name or "=" in name for name in self._env):
            raise refused("a variable has no name, or one with an equals sign")
        variables = [f"{name}={value}" for name, value in self._env.items()]
        numbers = [repr(float(self._grace)), str(len(self._argv))]
        fields = [self._cwd, *self._files.values(), *numbers, *self._argv, *variables]
        try:
            body = [os.fsencode(field) for field in fields]
        except UnicodeEncodeError as problem:
            raise refused("a text cannot be given to a program") from problem
        if any(b"\0" in field for field in body):
            raise refused("a text has a NUL in it, which no program can be given")
        asked = b"\0".join(body)
        return b"%d\n%s" % (len(asked), asked)

    def _spawn(self, its: socket.socket) -> subprocess.Popen[bytes]:
        env = {name: os.environ[name] for name in _PASSED_ON if name in os.environ}
        if self._mark:
            env[RUN_MARK] = self._mark  # the guard of an inner run is not what an outer one ends
        return subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", _GUARD, _ROOT],
            stdin=its.fileno(),
            stdout=its.fileno(),
            stderr=its.fileno(),  # it has nothing to say, unless it breaks
            cwd="/",
            env=env,
            start_new_session=True,
            pass_fds=self._passed,
        )

    def _report(self, deadline: float | None) -> list[str] | None:
        """Return the next report; None when there is none yet; an empty one at the end of all."""
        assert self._socket is not None  # noqa: S101  only called between start and close
        poll = select.poll()
        poll.register(self._socket, select.POLLIN)
        while True:
            while b"\n" in self._heard:
                line, _, self._heard = self._heard.partition(b"\n")
                if line.startswith((b"started ", b"failed ", b"ended ")):
                    return line.decode().split(" ")
                self._words = line  # of Python, about a guard that breaks
            left = None if deadline is None else max(deadline - time.monotonic(), 0.0) * 1000
            if not poll.poll(left):
                return None
            try:
                said = self._socket.recv(4096)
            except OSError:
                said = b""
            if not said:
                return []
            self._heard += said

    def _finish(self, left: Sequence[str]) -> None:
        if left or sys.platform != "linux":  # elsewhere a guard sees one process group only
            end_marked(self._mark)
        survived = [pid for pid in left if pids.table.started(int(pid)) is not None]
        if survived:
            facts = {"mark": self._mark, "pids": " ".join(survived)}
            log.warning("processes survived their run", extra=facts)

    def _lose(self, what: str) -> GuardLost:
        assert self._guard is not None  # noqa: S101  only called between start and close
        self._guard.kill()
        self._guard.wait()
        left = end_marked(self._mark)
        survived = f"; these survived: {' '.join(map(str, left))}" if left else ""
        return GuardLost(
            f"the guard of the agent {what}: the agent was killed{survived}{self._last_words()}",
            code=KILLED,
        )

    def _last_words(self) -> str:
        said = self._words.decode("utf-8", "backslashreplace").strip()
        return f" ({said})" if said else ""


def run(
    argv: Sequence[str],
    context: RunContext,
    cancel: Cancel,
    *,
    stdin_path: str = "",
    grace: float = GRACE,
    mark: str,
    environment: Mapping[str, str] | None = None,
    started: Callable[[ProcessId], None] | None = None,
    passed: Sequence[int] = (),
) -> int:
    """Run a program to its end, or until it is cancelled, and return its exit code.

    A signal is 128+N, and so is what was cancelled before it began (SIGTERM). `environment` is all
    the program gets; by default it is that of this process with the context's laid over it.
    `started` is told of the agent's process when its program runs; `passed` as in `Guarded`.
    Raises SpawnFailed when it cannot be started, GuardLost when its guard was killed.
    """
    if cancel.is_set():
        return ASKED
    env = {**os.environ, **context.environment} if environment is None else environment
    guarded = Guarded(
        argv,
        env,
        context.working_dir,
        stdin=stdin_path,
        stdout=context.stdout_path,
        stderr=context.stderr_path,
        grace=grace,
        mark=mark,
        passed=passed,
    )
    try:
        agent = guarded.start()
        if started is not None:
            started(agent)
        poll = select.poll()
        poll.register(guarded.fileno(), select.POLLIN)
        poll.register(cancel.fileno(), select.POLLIN)
        while (code := guarded.wait(0)) is None and not cancel.is_set():
            poll.poll(GLANCE * 1000)
        if code is None:
            guarded.stop(grace)
            code = guarded.wait(grace + PATIENCE)
        if code is None:
            raise guarded.abandon()
        return code
    finally:
        guarded.close()


def _started(pid: int, said: str) -> str:
    """Return what makes the agent certain; the guard knows it even when the agent has ended."""
    return said if said != "-" else pids.table.started(pid) or ""
