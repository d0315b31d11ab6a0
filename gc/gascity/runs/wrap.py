"""An interactive command as a run: a person uses it as ever, and what it showed is kept.

On a terminal the command has a terminal of its own, on which it is the session's leader. Without
one its input is ours, and what it prints goes to its files and to our streams, byte for byte. Where
nobody reads our streams any more, it is told so as it would be without us.
"""

from __future__ import annotations

import contextlib
import os
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from gascity.core.observed import ProcessId
from gascity.errors import BackendError
from gascity.runs import guarded
from gascity.runs.context import Cancel, RunContext, check
from gascity.runs.environment import MARK
from gascity.runs.terminal import Kept, raw, relay, same_size, tee


@dataclass(frozen=True, slots=True)
class Wrapped:
    """The backend of a command that a person uses; `started` is told of its process."""

    command: tuple[str, ...]
    started: Callable[[ProcessId], None]
    type: str = "wrap"

    def execute(self, context: RunContext, cancel: Cancel) -> None:
        """Run the command to its end. Raises BackendError, with its exit code, when it failed."""
        context = check(context)
        if os.isatty(0) and os.isatty(1):
            code = self._on_terminal(context, cancel)
        else:
            code = self._through(context, cancel)
        if code or cancel.is_set():
            raise BackendError(f"agent exited with code {code}", code=code)

    def _on_terminal(self, context: RunContext, cancel: Cancel) -> int:
        inner, its = os.openpty()
        kept = Kept(context.stdout_path)
        try:
            with raw(0), same_size(0, inner), _beside(lambda over: relay(0, 1, inner, kept, over)):
                return self._run(context, cancel, its, its, its)
        finally:
            _let_go(inner, its, kept=(kept,))

    def _through(self, context: RunContext, cancel: Cancel) -> int:
        out, its_out = os.pipe()
        err, its_err = os.pipe()
        given = os.dup(0)
        kept_out, kept_err = Kept(context.stdout_path), Kept(context.stderr_path)
        lines = {out: (1, kept_out), err: (2, kept_err)}
        try:
            with _beside(lambda over: tee(lines, over)):
                return self._run(context, cancel, given, its_out, its_err)
        finally:
            _let_go(out, its_out, err, its_err, given, kept=(kept_out, kept_err))

    def _run(self, context: RunContext, cancel: Cancel, given: int, out: int, err: int) -> int:
        """Run it with these descriptors, as a shell would: no file is opened anew."""
        return guarded.run(
            self.command,
            replace(context, stdout_path=f"fd:{out}", stderr_path=f"fd:{err}"),
            cancel,
            stdin_path=f"fd:{given}",
            mark=context.environment.get(MARK, ""),
            environment=context.environment,
            started=self.started,
            passed=tuple({given, out, err}),
        )


@contextlib.contextmanager
def _beside(work: Callable[[int], None]) -> Iterator[None]:
    """Do something in another thread, until a descriptor that it gets is readable."""
    over, tell = os.pipe()
    thread = threading.Thread(target=work, args=[over], daemon=True)
    thread.start()
    try:
        yield
    finally:
        os.write(tell, b".")
        thread.join()
        os.close(over)
        os.close(tell)


def _let_go(*descriptors: int, kept: tuple[Kept, ...]) -> None:
    """Close everything; what could not be kept is told."""
    for descriptor in descriptors:
        os.close(descriptor)
    for file in kept:
        file.close()
        if file.problem is not None:
            why = file.problem.strerror
            with contextlib.suppress(OSError):
                sys.stderr.write(f"warning: what it showed is not kept to its end: {why}\n")
