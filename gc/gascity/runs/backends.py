"""One-shot backends: which there are, and how each is executed.

A backend is a command of the city's or of the presets, or a class. Both run below a guard: a class
in a process of its own, so that stopping a run hits that run and nothing else, and whatever the
class does wrong ends with it.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from gascity.config import classes
from gascity.config.oneshots import built_in
from gascity.core.observed import ProcessId
from gascity.core.oneshot import OneShot, PromptBy, RunCommand
from gascity.errors import BackendError, SpawnFailed
from gascity.runs import guarded
from gascity.runs.context import Backend, Cancel, RunContext, check
from gascity.runs.environment import MARK, inherited, logged_in, secrets_in
from gascity.runs.folder import PROMPT
from gascity.runs.leavings import tail
from gascity.runs.tokens import read_token

TYPES = ("claude", "codex", "gemini", "perplexity", "xai")
MISUSE = 2  # the exit code of a run whose backend is not there
_SIGNALLED, _TERMINATED = 128, 143
_LAST_WORDS, _LONGEST = 4096, 300  # bytes looked at, characters shown


def types() -> tuple[str, ...]:
    """Return the kinds of agent that are built in; a city and other packages have more."""
    return TYPES


def find(
    name: str,
    backends: Mapping[str, OneShot] | None = None,
    *,
    withheld: Iterable[str] = (),
    grace: float = guarded.GRACE,
    started: Callable[[ProcessId], None] | None = None,
) -> Backend:
    """Return the backend of that name; `backends` are those of the city, if there is one.

    `withheld` names variables of the supervisor that no run is given, `grace` is the time a run
    has to end when it is cancelled, `started` is told of its process. Raises BackendError when
    there is no such backend, or none that can be run once.
    """
    known = backends or built_in()
    found = known.get(name) or known.get(name.lower())
    how = _How(tuple(known.values()), tuple(withheld), grace, started)
    if found is not None and found.run is not None:
        return CliBackend(found, found.run, how)
    if classes.where(found.name if found else name):
        return ProcessBackend(found or OneShot(name), how)
    if found is None:
        raise BackendError(f"unknown agent type: {name}", code=MISUSE)
    raise BackendError(
        f'backend "{found.name}" has no command for one-shot runs',
        code=MISUSE,
        hint=f'write [providers.{found.name}.run] with command = "..." in city.toml',
    )


@dataclass(frozen=True, slots=True)
class _How:
    """What is the same for every run: all backends, what is withheld, and the patience."""

    known: tuple[OneShot, ...]
    withheld: tuple[str, ...]
    grace: float
    started: Callable[[ProcessId], None] | None

    def run(
        self,
        argv: list[str],
        backend: OneShot,
        context: RunContext,
        cancel: Cancel,
        *,
        stdin: str,
        told: Mapping[str, str],
    ) -> tuple[int, str]:
        """Run a program below a guard; return its exit code and the last line it complained in.

        `told` are variables on top of what every run of that backend has.
        """
        env = {**self._environment(context, backend), **told}
        mark = env.get(MARK) or f"{os.path.dirname(context.stdout_path)}:{context.run_id}"
        try:
            code = guarded.run(
                argv,
                context,
                cancel,
                stdin_path=stdin,
                grace=self.grace,
                mark=mark,
                environment=env,
                started=self.started,
            )
        except SpawnFailed as problem:
            raise SpawnFailed(f"execute agent: {problem.message}", code=problem.code) from None
        if cancel.is_set():
            raise BackendError(f"agent was stopped: {cancel.reason}", code=code or _TERMINATED)
        if not code:
            return 0, ""
        return code, _last_words(context.stderr_path, secrets_in(env, backend, backend.env))

    def _environment(self, context: RunContext, backend: OneShot) -> Mapping[str, str]:
        """Return all that a run gets. One that says which run it is, is complete already."""
        if context.environment.get("JRUN_ID") == context.run_id:
            return context.environment
        host = inherited(os.environ, backend, self.known, self.withheld)
        return {**logged_in(host, backend, read_token(backend)), **context.environment}


@dataclass(frozen=True, slots=True)
class CliBackend:
    """A backend that is a command."""

    backend: OneShot
    command: RunCommand
    how: _How = field(repr=False)

    @property
    def type(self) -> str:
        """The name of its kind."""
        return self.backend.name

    def execute(self, context: RunContext, cancel: Cancel) -> None:
        """Run the command to its end.

        Raises BackendError with its exit code and last complaint when it fails, SpawnFailed when it
        cannot be started.
        """
        context = check(context)
        with _prompt_file(context) as prompt:
            stdin = prompt if self.command.prompt is PromptBy.STDIN else ""
            code, said = self.how.run(
                self._argv(prompt), self.backend, context, cancel, stdin=stdin, told={}
            )
        if code:
            raise BackendError(f"agent exited with code {code}: {said or _why(code)}", code=code)

    def _argv(self, prompt: str) -> list[str]:
        one, command = self.backend, self.command
        words = [*command.command, *command.args]
        if one.model:
            words += [word.replace("{}", one.model) for word in command.model_args]
        if one.base_url:
            words += [word.replace("{}", one.base_url) for word in command.base_url_args]
        if command.prompt is PromptBy.ARG:
            with open(prompt, encoding="utf-8", errors="surrogateescape", newline="") as file:
                words.append(file.read())
        return words


@dataclass(frozen=True, slots=True)
class ProcessBackend:
    """A backend that is a class, in a process of its own: see `inner`."""

    backend: OneShot
    how: _How = field(repr=False)

    @property
    def type(self) -> str:
        """The name of its kind."""
        return self.backend.name

    def execute(self, context: RunContext, cancel: Cancel) -> None:
        """Have the class do the work. Raises BackendError with what it raised, or was killed by."""
        context = check(context)
        told = {
            "JRUN_ID": context.run_id,
            "JRUN_PROJECT_ID": context.project_id,
            "JRUN_TASK_ID": context.task_id,
            "GC_RUN_STDOUT": context.stdout_path,
            "GC_RUN_STDERR": context.stderr_path,
        }
        # -P: a file of the folder it works in must not stand for a part of Python.
        argv = [sys.executable, "-P", "-m", "gascity.runs.inner", self.type]
        with _prompt_file(context) as prompt:
            code, said = self.how.run(argv, self.backend, context, cancel, stdin=prompt, told=told)
        if not code:
            return
        if said and code < _SIGNALLED:
            raise BackendError(said, code=code)
        raise BackendError(f"agent exited with code {code}: {said or _why(code)}", code=code)


@contextlib.contextmanager
def _prompt_file(context: RunContext) -> Iterator[str]:
    """Give the file with the prompt: the run's own, or one for as long as it runs."""
    folder = context.environment.get("JRUN_RUN_FOLDER", "")
    own = os.path.join(folder, PROMPT)
    if folder and os.path.isfile(own):
        yield own
        return
    path = f"{context.stdout_path}.prompt"
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with open(descriptor, "w", encoding="utf-8", errors="surrogateescape", newline="") as file:
            file.write(context.prompt)
    except OSError as problem:
        raise BackendError(f"write prompt: open {path}: {problem.strerror}") from None
    try:
        yield path
    finally:
        with contextlib.suppress(OSError):
            os.unlink(path)


def _last_words(path: str, secrets: Sequence[str]) -> str:
    """Return the last line that says something, on one line; empty when there is none.

    Secrets are struck out before it is cut: no half of one stays.
    """
    lines = tail(path, _LAST_WORDS, secrets).splitlines()
    words = next((line.strip() for line in reversed(lines) if line.strip()), "")
    shown = "".join(character if character.isprintable() else " " for character in words)
    return shown if len(shown) <= _LONGEST else f"{shown[:_LONGEST]}..."


def _why(code: int) -> str:
    with contextlib.suppress(ValueError):
        return f"ended by {signal.Signals(code - _SIGNALLED).name}"
    return f"exit status {code}"
