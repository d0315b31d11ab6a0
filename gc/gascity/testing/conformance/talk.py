"""Talking to a session: what must at least be true, whatever runs in it."""

# ruff: noqa: D102  the name of a rule is its sentence

from __future__ import annotations

import signal
import time

import pytest

from gascity.errors import NotSupported, SessionNotFound
from gascity.session.provider import SessionProvider
from gascity.session.receipts import Delivery
from gascity.testing.conformance.contract import Configure, Contract, together
from gascity.testing.eventually import eventually
from gascity.testing.witness import Witness

HANDED_OVER = {Delivery.SUBMITTED, Delivery.UNVERIFIED}


class TalkRules(Contract):
    """What `nudge`, `send_keys`, `interrupt`, `peek` and their kin promise of a living session."""

    def test_a_nudge_is_handed_over_and_shows_on_the_screen(
        self, provider: SessionProvider, name: str, config: Configure
    ) -> None:
        provider.start(name, config(), timeout=self.limit)

        answer = provider.nudge(name, "hello there", timeout=self.limit).delivery

        assert answer in HANDED_OVER
        eventually(lambda: "hello there" in provider.peek(name, 10, timeout=self.limit))

    def test_a_receipt_tells_what_was_sent(
        self, provider: SessionProvider, name: str, config: Configure
    ) -> None:
        provider.start(name, config(), timeout=self.limit)

        receipt = provider.nudge(name, "what was said", timeout=self.limit, wait=True)

        assert receipt.text == "what was said"
        assert receipt.attempts == 1
        assert 0 <= receipt.elapsed <= self.limit

    def test_a_terminal_shows_what_its_session_shows(
        self, provider: SessionProvider, name: str, config: Configure
    ) -> None:
        provider.start(name, config(), timeout=self.limit)
        terminal = provider.terminal(name)
        if terminal is None:
            assert provider.screens([name], timeout=self.limit) == {}
            return

        provider.nudge(name, "for all to see", timeout=self.limit)

        eventually(lambda: "for all to see" in terminal.look(timeout=self.limit).text)
        assert terminal.look(timeout=self.limit).alive
        screens = provider.screens([name, f"{name}-other"], timeout=self.limit)
        assert {one: "for all to see" in shown.text for one, shown in screens.items()} == {
            name: True
        }

    def test_a_session_that_is_gone_has_no_terminal(
        self, provider: SessionProvider, name: str, config: Configure
    ) -> None:
        provider.start(name, config(), timeout=self.limit)
        terminal = provider.terminal(name)

        provider.stop(name, grace=5.0, timeout=self.limit)

        assert provider.terminal(name) is None
        assert provider.screens([name], timeout=self.limit) == {}
        if terminal is not None:
            assert not terminal.look(timeout=self.limit).alive
            terminal.press(["Enter"], timeout=self.limit)
            terminal.paste("for nobody", timeout=self.limit)

    def test_a_nudge_to_a_crashed_session_is_not_called_submitted(
        self, provider: SessionProvider, name: str, config: Configure, witness: Witness, token: str
    ) -> None:
        provider.start(name, config(), timeout=self.limit)
        eventually(lambda: witness.living(token))
        witness.kill(token, signal.SIGKILL)
        eventually(lambda: not provider.is_running(name, timeout=self.limit))

        answer = provider.nudge(name, "anyone there?", timeout=self.limit).delivery

        assert answer in {Delivery.ABSENT, Delivery.REFUSED}

    def test_keys_and_interrupts_are_no_error(
        self, provider: SessionProvider, name: str, config: Configure
    ) -> None:
        provider.start(name, config(), timeout=self.limit)

        provider.send_keys(name, ["Enter"], timeout=self.limit)
        provider.send_keys(name, [], timeout=self.limit)
        outcomes = together([lambda: provider.interrupt(name, timeout=self.limit)] * 3)

        assert outcomes == [None, None, None]

    def test_what_a_session_showed_can_be_read_after_it_crashed_until_it_is_stopped(
        self, provider: SessionProvider, name: str, config: Configure, witness: Witness, token: str
    ) -> None:
        provider.start(name, config(), timeout=self.limit)
        provider.nudge(name, "remember me", timeout=self.limit)
        eventually(lambda: "remember me" in provider.peek(name, 0, timeout=self.limit))
        witness.kill(token, signal.SIGKILL)
        eventually(lambda: not provider.is_running(name, timeout=self.limit))

        assert "remember me" in provider.peek(name, 0, timeout=self.limit)

        provider.stop(name, grace=5.0, timeout=self.limit)

        with pytest.raises(SessionNotFound):
            provider.peek(name, 0, timeout=self.limit)

    def test_the_next_incarnation_shows_nothing_of_the_last(
        self, provider: SessionProvider, name: str, config: Configure
    ) -> None:
        provider.start(name, config(), timeout=self.limit)
        provider.nudge(name, "from before", timeout=self.limit)
        eventually(lambda: "from before" in provider.peek(name, 0, timeout=self.limit))
        provider.stop(name, grace=5.0, timeout=self.limit)

        provider.start(name, config(), timeout=self.limit)

        assert "from before" not in provider.peek(name, 0, timeout=self.limit)

    def test_the_last_activity_follows_what_the_session_shows(
        self, provider: SessionProvider, name: str, config: Configure
    ) -> None:
        provider.start(name, config(), timeout=self.limit)
        if not self.tells_activity:
            assert provider.last_activity(name, timeout=self.limit) is None
            return

        spoken = time.time()
        provider.nudge(name, "say something", timeout=self.limit)

        eventually(lambda: (provider.last_activity(name, timeout=self.limit) or 0) >= spoken - 1)
        assert (provider.last_activity(name, timeout=self.limit) or 0) <= time.time() + 1
        watch = provider.watch(lambda: None)  # as a controller looks
        try:
            eventually(lambda: _activity(provider, name, self.limit) >= spoken - 1)
        finally:
            watch.close()

    def test_clearing_the_scrollback_leaves_the_session_alone(
        self, provider: SessionProvider, name: str, config: Configure
    ) -> None:
        provider.start(name, config(), timeout=self.limit)

        provider.clear_scrollback(name, timeout=self.limit)

        assert provider.is_running(name, timeout=self.limit)

    def test_copying_what_does_not_exist_is_no_error(
        self, provider: SessionProvider, name: str, config: Configure
    ) -> None:
        provider.start(name, config(), timeout=self.limit)

        provider.copy_to(name, "/no/such/source", "copy", timeout=self.limit)

        assert provider.is_running(name, timeout=self.limit)

    def test_a_provider_without_a_terminal_says_so(
        self, provider: SessionProvider, name: str, config: Configure
    ) -> None:
        if self.supports_attach:
            return
        provider.start(name, config(), timeout=self.limit)

        with pytest.raises(NotSupported):
            provider.attach(name)


def _activity(provider: SessionProvider, name: str, limit: float) -> float:
    return provider.observe(timeout=limit)[name].last_activity or 0.0
