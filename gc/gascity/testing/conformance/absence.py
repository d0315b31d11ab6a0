"""There is none, and nobody knows: two answers that must never be mixed up."""

# ruff: noqa: D102  the name of a rule is its sentence

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from gascity.core.model import SessionConfig
from gascity.errors import NotSupported, ProviderUnavailable, SessionNotFound
from gascity.session.provider import SessionProvider
from gascity.session.receipts import Delivery
from gascity.testing.conformance.contract import Configure, Contract
from gascity.testing.eventually import eventually
from gascity.testing.witness import Witness

Call = Callable[[SessionProvider, str, SessionConfig, float], object]

CALLS: dict[str, Call] = {
    "start": lambda p, name, config, limit: p.start(name, config, timeout=limit),
    "stop": lambda p, name, _, limit: p.stop(name, grace=0.5, timeout=limit),
    "interrupt": lambda p, name, _, limit: p.interrupt(name, timeout=limit),
    "is_running": lambda p, name, _, limit: p.is_running(name, timeout=limit),
    "process_alive": lambda p, name, _, limit: p.process_alive(name, [], timeout=limit),
    "nudge": lambda p, name, _, limit: p.nudge(name, "text", timeout=limit),
    "send_keys": lambda p, name, _, limit: p.send_keys(name, ["Enter"], timeout=limit),
    "peek": lambda p, name, _, limit: p.peek(name, 10, timeout=limit),
    "set_meta": lambda p, name, _, limit: p.set_meta(name, "KEY", "value", timeout=limit),
    "get_meta": lambda p, name, _, limit: p.get_meta(name, "KEY", timeout=limit),
    "remove_meta": lambda p, name, _, limit: p.remove_meta(name, "KEY", timeout=limit),
    "list_running": lambda p, _name, _, limit: p.list_running("", timeout=limit),
    "last_activity": lambda p, name, _, limit: p.last_activity(name, timeout=limit),
    "clear_scrollback": lambda p, name, _, limit: p.clear_scrollback(name, timeout=limit),
    "copy_to": lambda p, name, _, limit: p.copy_to(name, __file__, "copy", timeout=limit),
    "observe": lambda p, _name, _, limit: p.observe(timeout=limit),
}

# What was asked may be carried out once the backend answers again, after the caller gave up.
ENDING = {"stop", "interrupt"}


class AbsenceRules(Contract):
    """What every method does when there is no such session."""

    def test_nothing_runs_under_an_unknown_name(self, provider: SessionProvider, name: str) -> None:
        assert not provider.is_running(name, timeout=self.limit)
        assert not provider.process_alive(name, [], timeout=self.limit)
        assert not provider.process_alive(name, ["sh"], timeout=self.limit)

    def test_acting_on_an_unknown_session_is_no_error(
        self, provider: SessionProvider, name: str, tmp_path: Path
    ) -> None:
        source = tmp_path / "source"
        source.write_text("content")

        provider.stop(name, grace=1.0, timeout=self.limit)
        provider.interrupt(name, timeout=self.limit)
        provider.send_keys(name, ["Enter"], timeout=self.limit)
        provider.copy_to(name, str(source), "copy", timeout=self.limit)
        provider.clear_scrollback(name, timeout=self.limit)
        provider.remove_meta(name, "KEY", timeout=self.limit)

        assert dict(provider.observe(timeout=self.limit)) == {}

    def test_asking_about_an_unknown_session_says_that_it_is_not_there(
        self, provider: SessionProvider, name: str
    ) -> None:
        assert provider.nudge(name, "hello", timeout=self.limit).delivery is Delivery.ABSENT
        assert provider.get_meta(name, "KEY", timeout=self.limit) is None
        assert provider.last_activity(name, timeout=self.limit) is None
        with pytest.raises(SessionNotFound):
            provider.peek(name, 10, timeout=self.limit)

    def test_an_unknown_session_cannot_be_attached_to(
        self, provider: SessionProvider, name: str
    ) -> None:
        expected = SessionNotFound if self.supports_attach else (SessionNotFound, NotSupported)

        with pytest.raises(expected):
            provider.attach(name)

    def test_a_stopped_session_is_as_unknown_as_one_that_never_was(
        self, provider: SessionProvider, name: str, config: Configure
    ) -> None:
        provider.start(name, config(), timeout=self.limit)
        provider.stop(name, grace=5.0, timeout=self.limit)

        assert provider.nudge(name, "hello", timeout=self.limit).delivery is Delivery.ABSENT
        assert provider.last_activity(name, timeout=self.limit) is None
        with pytest.raises(SessionNotFound):
            provider.peek(name, 10, timeout=self.limit)


class UnreachableRules(Contract):
    """What every method does when the backend does not answer: it says so."""

    @pytest.mark.parametrize("call", CALLS)
    def test_an_unreachable_backend_is_never_taken_for_an_empty_one(
        self,
        provider: SessionProvider,
        name: str,
        config: Configure,
        witness: Witness,
        token: str,
        call: str,
    ) -> None:
        provider.start(name, config(), timeout=self.limit)
        before = eventually(lambda: witness.living(token))
        outage = self.make_unreachable(provider, name)
        if outage is None:
            # A provider without a backend of its own has no outage to show.
            pytest.skip("nothing can come between this provider and its sessions")

        with outage, pytest.raises(ProviderUnavailable):
            CALLS[call](provider, name, config(), 1.0)

        if call not in ENDING:
            assert witness.living(token) == before
            assert provider.is_running(name, timeout=self.limit)
