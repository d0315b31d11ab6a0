"""`python -m gascity.runs.inner TYPE`: a backend that is a class, in a process of its own.

Which run it is comes from the environment, the prompt from standard input. How it ends is the exit
code and the last line of standard error. SIGTERM ends it at once: it interrupts the class wherever
it is, and what was written until then stays.
"""

from __future__ import annotations

import importlib
import os
import signal
import sys
import traceback
from collections.abc import Callable, Sequence
from types import FrameType

from gascity.config import classes
from gascity.core.fingerprint import conceal
from gascity.core.oneshot import OneShot
from gascity.errors import BackendError
from gascity.runs.context import Backend, Cancel, RunContext
from gascity.runs.environment import secrets_in

STDOUT, STDERR = "GC_RUN_STDOUT", "GC_RUN_STDERR"  # the files of the run
_TERMINATED = 143


class Stopped(BaseException):
    """The run is to end; no exception of a class, so that none catches it by mistake."""


def main(words: Sequence[str]) -> int:
    """Execute one run, and return the code to exit with."""
    cancel = Cancel()
    signal.signal(signal.SIGTERM, _stopping(cancel))
    try:
        _made(words[0]).execute(_context(), cancel)
    except Stopped:
        return _TERMINATED
    except BackendError as problem:
        _complain(problem.message)
        return problem.code if problem.code in range(1, 256) else 1  # as 0 it would be a success
    except BaseException as problem:  # noqa: BLE001  a class of somebody else's may raise anything
        trace = "".join(traceback.format_exception(problem))
        _complain(f"agent panic: {type(problem).__name__}: {problem}", trace.rstrip())
        return 1
    return 0


def _made(name: str) -> Backend:
    """Return the backend of that name. Raises BackendError when it cannot be loaded."""
    where = classes.where(name)
    if not where:
        raise BackendError(f"unknown agent type: {name}", code=2)
    module, _, attribute = where.partition(":")
    try:
        found: Callable[[], Backend] = getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError) as problem:
        raise BackendError(f"backend {name} cannot be loaded: {problem}") from problem
    return found()


def _context() -> RunContext:
    env = dict(os.environ)
    return RunContext(
        run_id=env.get("JRUN_ID", ""),
        project_id=env.get("JRUN_PROJECT_ID", ""),
        task_id=env.get("JRUN_TASK_ID", ""),
        prompt=sys.stdin.buffer.read().decode("utf-8", "replace"),
        working_dir=os.getcwd(),
        stdout_path=env.pop(STDOUT, ""),
        stderr_path=env.pop(STDERR, ""),
        environment=env,
    )


def _stopping(cancel: Cancel) -> Callable[[int, FrameType | None], None]:
    def stop(number: int, _frame: FrameType | None) -> None:
        signal.signal(
            number, signal.SIG_DFL
        )  # a class that goes on in spite of it dies of the next
        cancel.set("SIGTERM")
        raise Stopped

    return stop


def _complain(message: str, before: str = "") -> None:
    """Say what is wrong, on one line that comes last, without any secret."""
    secrets = secrets_in(os.environ, OneShot(""))
    text = f"{before}\n{' '.join(message.split())}\n".lstrip("\n")
    sys.stderr.write(conceal(text, secrets).encode("utf-8", "backslashreplace").decode())
    sys.stderr.flush()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
