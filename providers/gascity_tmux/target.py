"""One tmux session while it is being brought up."""

from __future__ import annotations

import time
from collections.abc import Callable

from gascity.core.model import SessionConfig
from gascity.session.provider import SessionProvider
from gascity.session.target import LocalTarget


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
    ) -> None:
        super().__init__(provider, name, config, create)
        self._screen = screen

    def peek(self, lines: int, *, timeout: float) -> str:
        """Return the screen at this moment."""
        del lines
        return self._screen(self._name, time.monotonic() + timeout)
