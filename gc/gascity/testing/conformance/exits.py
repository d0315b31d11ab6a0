"""How a session's program ended, even when it did so at once."""

# ruff: noqa: D102  the name of a rule is its sentence

from __future__ import annotations

import contextlib
import time

import pytest

from gascity.core.model import StartupHints
from gascity.core.observed import Exited
from gascity.errors import StartFailed
from gascity.session.provider import SessionProvider
from gascity.testing.conformance.contract import Configure, Contract
from gascity.testing.eventually import eventually

ENDINGS = {
    "exit 0": Exited(code=0),
    "exit 3": Exited(code=3),
    "kill -9 $$": Exited(signal=9),
    "kill -15 $$": Exited(signal=15),
    "exec no-such-program-anywhere": Exited(code=127),
}
# A terminal may be closed before the kernel has handed over what was written at the last moment.
LAST_WORDS = "echo last words; sleep 0.2"


class ExitRules(Contract):
    """A death is told with its status or signal and the last words."""

    @pytest.mark.parametrize(("ending", "expected"), ENDINGS.items(), ids=ENDINGS)
    def test_a_death_keeps_its_status_and_last_words(
        self,
        provider: SessionProvider,
        name: str,
        config: Configure,
        ending: str,
        expected: Exited,
    ) -> None:
        # A provider may notice the death before `start` returns, or not.
        with contextlib.suppress(StartFailed):
            provider.start(name, config(f"{LAST_WORDS}; {ending}"), timeout=self.limit)

        eventually(lambda: not provider.is_running(name, timeout=self.limit))
        assert provider.observe(timeout=self.limit)[name].life == expected
        assert "last words" in provider.peek(name, 10, timeout=self.limit)
        assert provider.list_running("", timeout=self.limit) == []

    def test_a_death_before_readiness_fails_the_start_and_tells_the_last_words(
        self, provider: SessionProvider, name: str, config: Configure
    ) -> None:
        hints = StartupHints(ready_prompt_prefix="ready>")

        with pytest.raises(StartFailed) as caught:
            provider.start(name, config(f"{LAST_WORDS}; exit 3", hints=hints), timeout=self.limit)

        assert "last words" in caught.value.output
        assert not provider.is_running(name, timeout=self.limit)

    def test_a_living_program_whose_prompt_never_comes_counts_as_started_in_time(
        self, provider: SessionProvider, name: str, config: Configure
    ) -> None:
        hints = StartupHints(ready_prompt_prefix="ready>")

        begun = time.monotonic()
        provider.start(name, config(hints=hints), timeout=5.0 + self.birth)

        assert 1.0 < time.monotonic() - begun < self.limit + self.birth
        assert provider.is_running(name, timeout=self.limit)
        assert provider.get_meta(name, "GC_READY", timeout=self.limit) == "timeout"

    def test_a_session_that_ends_after_a_while_keeps_its_status(
        self, provider: SessionProvider, name: str, config: Configure
    ) -> None:
        provider.start(name, config('read -r line; exit "$line"'), timeout=self.limit)

        provider.nudge(name, "42", timeout=self.limit)

        eventually(lambda: not provider.is_running(name, timeout=self.limit))
        assert provider.observe(timeout=self.limit)[name].life == Exited(code=42)
