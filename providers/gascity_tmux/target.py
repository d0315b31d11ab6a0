"""One tmux session while it is being brought up."""

from __future__ import annotations

import time
from collections.abc import Callable

from gascity.core.model import SessionConfig
from gascity.core.observed import DIALOGS, Exited, Life
from gascity.screens.rules import Rules
from gascity.session.delivery import Hold
from gascity.session.provider import Receipt, SessionProvider
from gascity.session.readiness import ScreenReadiness, Stand, record
from gascity.session.target import LocalTarget
from gascity_tmux.panes import Pane


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
        self._rules = rules
        self._hold = hold
        self._greet = greet
        self._readiness: ScreenReadiness | None = None

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
        """Read the screen by the backend's rules, and answer its dialogs."""
        if not self._rules.rules:
            return super().stand(timeout=timeout)
        if self._readiness is None:
            terminal = self._provider.terminal(self._name)
            if terminal is None:
                return Stand.NOT_YET
            policies = self._rules.policies(self._config.hints.dialogs)
            self._readiness = ScreenReadiness(terminal, self._rules, policies, self._hold)
        answered = len(self._readiness.answers)
        stand = self._readiness.stand(timeout=timeout)
        if len(self._readiness.answers) > answered:
            kept = "\n".join(record(*one) for one in self._readiness.answers)
            self.set_meta(DIALOGS, kept, timeout=timeout)
        return stand
