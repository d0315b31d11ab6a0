"""A backend that asks a model and writes down its answer as it comes.

What stands in `prompt.md` before the prompt is left out: a model that is asked over HTTP has no
folder to write to. What came of an answer stays when the rest does not.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from io import FileIO
from typing import ClassVar

from gascity.core.fingerprint import conceal
from gascity.errors import BackendError
from gascity.runs.context import Cancel, RunContext, check
from gascity.runs.environment import BASE_URL, MODEL
from gascity.runs.preamble import asked
from gascity.runs.rest.call import Call, Failed
from gascity.runs.rest.chunks import Answer, error_of

IDLE = 300.0  # seconds in which something has to come; a model that thinks is silent for minutes
FIRST_PAUSE = 1.0  # seconds before the second try
PATH = "/chat/completions"


@dataclass(frozen=True, slots=True)
class Service:
    """One that can be asked: where, with which token, which model if none is chosen.

    The variables of `base_env` and `model_env` say otherwise, the first that is set.
    """

    name: str
    base_url: str
    model: str
    token_env: str
    base_env: tuple[str, ...] = ()
    model_env: tuple[str, ...] = ()


class ChatBackend:
    """Asks one service. `idle` and `pause` are in seconds."""

    service: ClassVar[Service]
    repeats: ClassVar[bool] = False  # a part may hold all that was said so far

    def __init__(self, *, idle: float = IDLE, pause: float = FIRST_PAUSE) -> None:
        self._idle = idle
        self._pause = pause

    @property
    def type(self) -> str:
        """The name of its kind."""
        return self.service.name

    def endpoint(self, base: str) -> str:
        """Return the address to ask, of a service whose addresses begin with `base`."""
        base = base.rstrip("/")
        return base if base.endswith(PATH) else base + PATH

    def closing(self, _answer: Answer) -> str:
        """Return what is put behind a whole answer."""
        return ""

    def execute(self, context: RunContext, cancel: Cancel) -> None:
        """Ask, and write the answer to the stdout file. Raises BackendError."""
        context = check(context)
        # BASE_URL and MODEL of this process may be meant for something else: the run's own count.
        own, env = context.environment, {**os.environ, **context.environment}
        service = self.service
        token = _token(env.get(service.token_env, ""))
        base = _first(own.get(BASE_URL), *map(env.get, service.base_env), service.base_url)
        model = _first(own.get(MODEL), *map(env.get, service.model_env), service.model)
        with _opened(context.stdout_path) as out, _opened(context.stderr_path) as told:

            def log(line: str) -> None:
                told.write(f"{service.name}: {conceal(line, (token,))}\n".encode())

            call = Call(
                service.name, self.endpoint(base), token, self._idle, self._pause, log, cancel
            )
            try:
                self._answer(call, _request(context.prompt, model), out)
            except Failed as problem:
                said = conceal(str(problem), (token,))
                raise BackendError(f"api call failed: {said}") from None
            except OSError as problem:
                raise BackendError(f"write {out.name!s}: {problem.strerror}") from problem

    def _answer(self, call: Call, body: bytes, out: FileIO) -> None:
        answer = Answer(repeats=self.repeats)
        for document in call.documents(body):
            if said := error_of(document):
                raise Failed(f"{self.type} api error: {said}")
            _write(out, answer.add(document))
        if not answer.text:
            raise Failed(f"{self.type} response missing content")
        _write(out, self.closing(answer))


def _request(prompt: str, model: str) -> bytes:
    words = asked(prompt)
    if not words.strip():
        raise BackendError("prompt is empty")
    clean = words.encode("utf-8", "replace").decode()
    messages = [{"role": "user", "content": clean}]
    return json.dumps({"model": model, "messages": messages, "stream": True}).encode()


def _token(text: str) -> str:
    token = text.strip()
    if not token:
        raise BackendError("api key is empty")
    if not token.isascii() or not token.isprintable() or " " in token:
        raise BackendError("api key holds something that no key has")
    return token


def _first(*values: str | None) -> str:
    return next(value for value in values if value)


def _opened(path: str) -> FileIO:
    """Return a file to put something behind what it has; each write is there at once."""
    try:
        return open(path, "ab", buffering=0, opener=_private)
    except OSError as problem:
        raise BackendError(f"open {path}: {problem.strerror}") from None


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def _write(out: FileIO, text: str) -> None:
    data = text.encode("utf-8", "replace")
    while data:
        data = data[out.write(data) :]
