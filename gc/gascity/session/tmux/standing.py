"""How far an agent in tmux is on its way up, told from its screen as it is.

A prompt that scrolled away is an old one. The dialogs in the agent's way are answered, and what
became of each is kept with the session.
"""

from __future__ import annotations

from collections.abc import Callable

from gascity.core.model import StartupHints
from gascity.core.observed import DIALOGS
from gascity.screens.rules import Rules
from gascity.session.delivery import Hold
from gascity.session.readiness import ScreenReadiness, Stand, record, stand_by_prompt
from gascity.session.startup import LINES, Target
from gascity.session.terminal import Terminal


class Standing:
    """Watches one session come up. `find` returns its terminal, None while there is none."""

    def __init__(
        self,
        target: Target,
        rules: Rules,
        hints: StartupHints,
        hold: Hold,
        find: Callable[[], Terminal | None],
    ) -> None:
        self._target = target
        self._rules = rules
        self._hints = hints
        self._hold = hold
        self._find = find
        self._readiness: ScreenReadiness | None = None

    def stand(self, *, timeout: float) -> Stand:
        """Read the screen by the backend's rules and answer its dialogs; else look for a prompt."""
        if not self._rules.rules:
            prefix = self._hints.ready_prompt_prefix
            return stand_by_prompt(prefix, lambda: self._target.peek(LINES, timeout=timeout))
        if self._readiness is None:
            terminal = self._find()
            if terminal is None:
                return Stand.NOT_YET
            policies = self._rules.policies(self._hints.dialogs)
            self._readiness = ScreenReadiness(terminal, self._rules, policies, self._hold)
        answered = len(self._readiness.answers)
        stand = self._readiness.stand(timeout=timeout)
        if len(self._readiness.answers) > answered:
            kept = "\n".join(record(*one) for one in self._readiness.answers)
            self._target.set_meta(DIALOGS, kept, timeout=timeout)
        return stand
