"""The six methods: what they are given, and what they answer.

What a method was given wrongly and what it could not do is an error; a command that fails is a
result like any other.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict

from gascity.guest.execution import Executor
from gascity.guest.files import Files, Refused
from gascity.jsonrpc import INTERNAL_ERROR, INVALID_PARAMS, METHOD_NOT_FOUND, Params

NAMES: Mapping[str, tuple[str, ...]] = {
    "ping": (),
    "exec": ("cmd",),
    "exec_code": ("lang", "code"),
    "read_file": ("path",),
    "write_file": ("path", "content"),
    "list_dir": ("path",),
    "auth": ("token",),
}
"""The parameters of each method, in the order they have in an array."""


class Failed(Exception):
    """The answer is an error."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


class Methods:
    """Answers what is asked, from any thread."""

    def __init__(self, executor: Executor, files: Files) -> None:
        self._executor = executor
        self._files = files

    def stop(self, *, timeout: float) -> None:
        """End what runs and finish what is being written; nothing is begun any more."""
        self._executor.stop(timeout=timeout)
        self._files.stop(timeout=timeout)

    def answer(self, method: str, params: Params) -> dict[str, object]:
        """Return the result. Raises Failed when there is none."""
        if method == "ping":
            return {"pong": True}
        try:
            if method == "exec":
                return asdict(self._executor.shell(text(params, "cmd")))
            if method == "exec_code":
                language, code = text(params, "lang"), text(params, "code")
                return asdict(self._executor.code(language, code))
            if method == "read_file":
                return {"content": self._files.read(text(params, "path"))}
            if method == "write_file":
                path, content = text(params, "path"), text(params, "content")
                self._files.write(path, content)
                return {"success": True}
            if method == "list_dir":
                return {"entries": self._files.entries(text(params, "path"))}
        except Refused as problem:
            raise Failed(INTERNAL_ERROR, str(problem)) from None
        raise Failed(METHOD_NOT_FOUND, f"method not found: {method}")


def text(params: Params, name: str) -> str:
    """Return a parameter that must be text. Raises Failed."""
    if name not in params:
        raise Failed(INVALID_PARAMS, f"invalid params: missing field `{name}`")
    value = params[name]
    if not isinstance(value, str):
        raise Failed(INVALID_PARAMS, f"invalid params: `{name}` must be a string")
    try:
        value.encode()
    except UnicodeEncodeError:  # half of a pair, which JSON can write and nobody can use
        message = f"invalid params: `{name}` is not valid Unicode"
        raise Failed(INVALID_PARAMS, message) from None
    return value
