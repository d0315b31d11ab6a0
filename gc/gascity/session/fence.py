"""A fence before everything that changes a session.

Every way to change something through a provider passes a check first, which raises when this
process must not. Looking is always allowed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import wraps
from typing import ParamSpec, TypeVar

from gascity.screens.screen import Screen
from gascity.session.provider import SessionProvider
from gascity.session.terminal import Terminal

CHANGES = (
    "start",
    "stop",
    "stop_all",
    "interrupt",
    "attach",
    "nudge",
    "send_keys",
    "set_meta",
    "remove_meta",
    "clear_scrollback",
    "copy_to",
)
"""The methods of a provider that change something."""

Check = Callable[[], None]
P = ParamSpec("P")
R = TypeVar("R")


def put_fence(provider: SessionProvider, check: Check) -> None:
    """Have `check` called before everything that changes something through this provider.

    So it is also where the provider calls itself. For what it does on the way to one change, such
    as the requests that a start consists of, it has the same check as `context.fence`.
    """
    provider.context = replace(provider.context, fence=check)
    for name in CHANGES:
        setattr(provider, name, _checked(getattr(provider, name), check))
    look_up = provider.terminal

    def terminal(name: str) -> Terminal | None:
        found = look_up(name)
        return None if found is None else _Fenced(found, check)

    setattr(provider, "terminal", terminal)  # noqa: B010  a method of this instance alone


def _checked(method: Callable[P, R], check: Check) -> Callable[P, R]:
    @wraps(method)
    def checked(*args: P.args, **kwargs: P.kwargs) -> R:
        check()
        return method(*args, **kwargs)

    return checked


class _Fenced:
    """A terminal whose keyboard is behind the fence."""

    def __init__(self, terminal: Terminal, check: Check) -> None:
        self._terminal = terminal
        self._check = check

    def look(self, *, timeout: float) -> Screen:
        return self._terminal.look(timeout=timeout)

    def press(self, keys: Sequence[str], *, timeout: float) -> None:
        self._check()
        self._terminal.press(keys, timeout=timeout)

    def paste(self, text: str, *, timeout: float) -> None:
        self._check()
        self._terminal.paste(text, timeout=timeout)

    def wake(self, *, timeout: float) -> None:
        self._check()
        self._terminal.wake(timeout=timeout)
