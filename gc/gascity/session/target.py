"""A session on this machine while it is brought up: what `startup` asks for, by its provider."""

from __future__ import annotations

from collections.abc import Callable

from gascity.core.model import SessionConfig
from gascity.core.observed import Exited, Life
from gascity.session.local import LocalFolder
from gascity.session.provider import SessionProvider
from gascity.session.readiness import Stand, stand_by_prompt
from gascity.session.receipts import Receipt
from gascity.session.startup import LINES


class LocalTarget(LocalFolder):
    """What every provider of this machine has in common; `create` is what it does itself."""

    def __init__(
        self,
        provider: SessionProvider,
        name: str,
        config: SessionConfig,
        create: Callable[[str, SessionConfig, float], None],
    ) -> None:
        super().__init__(config.work_dir, config.env)
        self._provider = provider
        self._name = name
        self._config = config
        self._create = create

    def create(self, *, timeout: float) -> None:
        """Have the provider create it."""
        self._create(self._name, self._config, timeout)

    def life(self, *, timeout: float) -> Life:
        """Tell whether its program runs."""
        state = self._provider.observe(timeout=timeout).get(self._name)
        return Exited() if state is None else state.life

    def peek(self, lines: int, *, timeout: float) -> str:
        """Return the last lines it printed."""
        return self._provider.peek(self._name, lines, timeout=timeout)

    def stand(self, *, timeout: float) -> Stand:
        """Tell whether it has printed its prompt."""
        prefix = self._config.hints.ready_prompt_prefix
        return stand_by_prompt(prefix, lambda: self.peek(LINES, timeout=timeout))

    def nudge(self, text: str, *, wait: bool, timeout: float) -> Receipt:
        """Hand over a message."""
        return self._provider.nudge(self._name, text, timeout=timeout, wait=wait)

    def set_meta(self, key: str, value: str, *, timeout: float) -> None:
        """Store a value with the session."""
        self._provider.set_meta(self._name, key, value, timeout=timeout)

    def discard(self, *, timeout: float) -> None:
        """End it."""
        self._provider.stop(self._name, grace=0.0, timeout=timeout)
