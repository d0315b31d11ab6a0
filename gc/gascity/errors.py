"""Everything `gc` raises on purpose, and the exit code each ends with.

A message is one sentence naming the thing and what happened; `hint` says what to do. Only the
command line turns these into text on a terminal. Whatever is not a `GascityError` is a bug.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum


class Exit(IntEnum):
    """Exit codes of `gc`, the same for every command."""

    OK = 0
    FAILED = 1
    USAGE = 2
    MISSING = 3
    NOT_FOUND = 4
    NOT_RUNNING = 5
    NOT_DELIVERED = 6
    HELD = 7
    TIMED_OUT = 124
    INTERRUPTED = 130


class GascityError(Exception):
    """The root: catch this to catch everything `gc` raises on purpose."""

    exit_code = Exit.FAILED

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


def explain(problem: GascityError) -> str:
    """Return the lines a person reads: what happened and, if known, what to do."""
    hint = f"hint: {problem.hint}\n" if problem.hint else ""
    return f"error: {problem.message}\n{hint}"


class ConfigError(GascityError):
    """The city file (or what it points to) cannot be used as it is."""

    exit_code = Exit.USAGE


class UsageError(GascityError):
    """The command line asks for something that makes no sense."""

    exit_code = Exit.USAGE


class NotInstalled(GascityError):
    """A program or an optional package that is needed is not here."""

    exit_code = Exit.MISSING


class NotFound(GascityError):
    """There is no such agent, run or city."""

    exit_code = Exit.NOT_FOUND


class NotRunning(GascityError):
    """The thing exists but does not run."""

    exit_code = Exit.NOT_RUNNING


class CityHeld(GascityError):
    """Another controller holds the city."""

    exit_code = Exit.HELD


class ProviderError(GascityError):
    """The root of what a session provider raises."""


class ProviderUnavailable(ProviderError):
    """The provider did not answer: nothing may be concluded about its sessions."""


class NotLeading(ProviderUnavailable):
    """This process must not change anything: another controller leads, or may lead by now."""

    exit_code = Exit.HELD


class SessionNotFound(ProviderError):
    """The provider answered, and there is no such session."""

    exit_code = Exit.NOT_FOUND


class SessionExists(ProviderError):
    """A session of that name lives already."""


class StartFailed(ProviderError):
    """The session could not be brought up; `output` holds the last it said."""

    def __init__(self, message: str, *, hint: str = "", output: str = "") -> None:
        super().__init__(message, hint=hint)
        self.output = output


class StartPending(ProviderError):
    """The session waits for a machine, an image or the like, and nobody is to blame.

    It is left as it is: the next start of the same name goes on where this one stopped.
    """


class StopTimedOut(ProviderError):
    """The session, or a child of it, survived being stopped."""

    exit_code = Exit.TIMED_OUT


class NotSupported(ProviderError):
    """This provider cannot do that at all."""


class BackendError(GascityError):
    """A one-shot backend did not do its work; `code` is the exit code that its run ends with."""

    def __init__(self, message: str, *, code: int = 1, hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.code = code


class SpawnFailed(BackendError):
    """The program of a run could not be started; `code` is what a shell would say: 126 or 127."""


class GuardLost(BackendError):
    """The guard of a run ended before its agent, which was killed with all it began."""


class RemoteError(GascityError):
    """The other side of a socket answered with an error; `data` is what it added."""

    def __init__(
        self, message: str, *, code: int, hint: str = "", data: Mapping[str, object] | None = None
    ) -> None:
        super().__init__(message, hint=hint)
        self.code = code
        self.data = data or {}


class Unreachable(GascityError):
    """Nobody answers on the socket."""

    exit_code = Exit.NOT_RUNNING


class Unanswered(Unreachable):
    """Somebody is there, and does not answer."""

    exit_code = Exit.TIMED_OUT


class HungUp(Unanswered):
    """Somebody was there, and ended before the answer; what was asked may have been done."""

    exit_code = Exit.NOT_RUNNING


class Unheard(HungUp):
    """Somebody was there, and ended before the question was read: nothing was done."""
