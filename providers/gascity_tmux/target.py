"""One tmux session while it is being brought up."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial

from gascity.core.model import SessionConfig
from gascity.core.observed import Exited, Life
from gascity.screens.rules import Rules
from gascity.session.delivery import Hold
from gascity.session.provider import SessionProvider
from gascity.session.readiness import Stand
from gascity.session.receipts import Receipt
from gascity.session.target import LocalTarget
from gascity.session.tmux.panes import Pane
from gascity.session.tmux.standing import Standing


class TmuxTarget(LocalTarget):
    """Readiness is read from the screen as it is: a prompt that scrolled away is an old one."""

    def __init__(
        self,
        provider: SessionProvider,
        name: str,
        config: SessionConfig,
        *,
        create: Callable[[str, SessionConfig, float], None],
        screen: Callable[[str, float], str],
        find: Callable[[str, float], Pane | None],
        rules: Rules,
        hold: Hold,
        greet: Callable[..., Receipt],
    ) -> None:
        super().__init__(provider, name, config, create)
        self._screen = screen
        self._find = find
        self._greet = greet
        find_terminal = partial(provider.terminal, name)
        self._standing = Standing(self, rules, config.hints, hold, find_terminal)

    def life(self, *, timeout: float) -> Life:
        """Tell whether its program runs; the server may end while it is asked."""
        found = self._find(self._name, time.monotonic() + timeout)
        return Exited() if found is None else found.life

    def peek(self, lines: int, *, timeout: float) -> str:
        """Return the screen at this moment."""
        del lines
        return self._screen(self._name, time.monotonic() + timeout)

    def nudge(self, text: str, *, wait: bool, timeout: float) -> Receipt:
        """Hand over its first message."""
        return self._greet(self._name, text, timeout=timeout, wait=wait)

    def stand(self, *, timeout: float) -> Stand:
        """Read the screen, and answer the dialogs on it."""
        return self._standing.stand(timeout=timeout)
