"""Starting, stopping, and who is alive."""

# ruff: noqa: D102  the name of a rule is its sentence

from __future__ import annotations

import signal
from collections.abc import Callable

import pytest

from gascity.core.observed import Exited
from gascity.errors import SessionExists, SessionNotFound
from gascity.session.provider import SessionProvider
from gascity.session.receipts import Delivery
from gascity.testing.conformance.contract import Configure, Contract, together
from gascity.testing.eventually import eventually
from gascity.testing.witness import Witness

NAMES_THAT_ARE_EASILY_CONFUSED = [
    ("x", "x1"),
    ("x1", "x"),
    ("w-1", "w-10"),
    ("a_b", "a-b"),
    ("a--b", "a-b"),
    ("Worker", "worker"),
    ("n" * 90 + "-1", "n" * 90 + "-2"),
]


class LifeRules(Contract):
    """What `start`, `stop`, `is_running` and `process_alive` promise."""

    def test_a_started_session_runs(
        self, provider: SessionProvider, name: str, config: Configure, witness: Witness, token: str
    ) -> None:
        provider.start(name, config(), timeout=self.limit)

        assert provider.is_running(name, timeout=self.limit)
        assert len(eventually(lambda: witness.living(token))) == 1

    def test_a_second_start_of_a_living_name_is_refused(
        self, provider: SessionProvider, name: str, config: Configure, witness: Witness, token: str
    ) -> None:
        provider.start(name, config(), timeout=self.limit)
        before = eventually(lambda: witness.living(token))

        with pytest.raises(SessionExists):
            provider.start(name, config(), timeout=self.limit)

        assert witness.living(token) == before

    def test_three_names_start_at_the_same_time(
        self, provider: SessionProvider, name: str, config: Configure
    ) -> None:
        names = [f"{name}-{number}" for number in range(3)]

        outcomes = together([_start(self, provider, each, config) for each in names])

        assert outcomes == [None, None, None]
        assert provider.list_running(name, timeout=self.limit) == names

    def test_of_concurrent_starts_of_one_name_exactly_one_wins(
        self,
        make_provider: Callable[[], SessionProvider],
        name: str,
        config: Configure,
        witness: Witness,
        token: str,
    ) -> None:
        providers = [make_provider() for _ in range(2)] * 3

        outcomes = together([_start(self, each, name, config) for each in providers])

        losers = [outcome for outcome in outcomes if outcome is not None]
        assert outcomes.count(None) == 1
        assert [type(loser) for loser in losers] == [SessionExists] * 5
        assert len(eventually(lambda: witness.living(token))) == 1

    def test_a_stopped_session_is_gone_when_stop_returns(
        self, provider: SessionProvider, name: str, config: Configure, witness: Witness, token: str
    ) -> None:
        provider.start(name, config(), timeout=self.limit)
        eventually(lambda: witness.living(token))

        provider.stop(name, grace=5.0, timeout=self.limit)

        assert witness.living(token) == []
        assert not provider.is_running(name, timeout=self.limit)
        assert name not in provider.observe(timeout=self.limit)

    def test_stopping_twice_is_no_error(
        self, provider: SessionProvider, name: str, config: Configure
    ) -> None:
        provider.start(name, config(), timeout=self.limit)

        provider.stop(name, grace=5.0, timeout=self.limit)
        provider.stop(name, grace=5.0, timeout=self.limit)

        assert not provider.is_running(name, timeout=self.limit)

    def test_concurrent_stops_of_one_name_all_succeed(
        self, provider: SessionProvider, name: str, config: Configure, witness: Witness, token: str
    ) -> None:
        provider.start(name, config(), timeout=self.limit)

        outcomes = together(
            [lambda: provider.stop(name, grace=5.0, timeout=self.limit) for _ in range(3)]
        )

        assert outcomes == [None, None, None]
        assert witness.living(token) == []

    def test_concurrent_stops_of_three_names_all_succeed(
        self, provider: SessionProvider, name: str, config: Configure
    ) -> None:
        names = [f"{name}-{number}" for number in range(3)]
        for each in names:
            provider.start(each, config(), timeout=self.limit)

        outcomes = together([_stop(self, provider, each) for each in names])

        assert outcomes == [None, None, None]
        assert provider.list_running("", timeout=self.limit) == []

    def test_concurrent_questions_all_get_the_answer(
        self, provider: SessionProvider, name: str, config: Configure
    ) -> None:
        provider.start(name, config(), timeout=self.limit)

        running = together([lambda: provider.is_running(name, timeout=self.limit)] * 3)
        alive = together([lambda: provider.process_alive(name, [], timeout=self.limit)] * 3)

        assert running == [True, True, True]
        assert alive == [True, True, True]

    def test_stopping_several_at_once_ends_them_and_nothing_else(
        self, provider: SessionProvider, name: str, config: Configure
    ) -> None:
        names = [f"{name}-{number}" for number in range(4)]
        for each in names:
            provider.start(each, config(), timeout=self.limit)

        failures = provider.stop_all(
            [*names[:3], names[0], f"{name}-none"], grace=5.0, timeout=self.limit
        )

        assert not failures
        assert list(provider.observe(timeout=self.limit)) == [names[3]]

    def test_a_name_can_be_used_again_after_stop(
        self, provider: SessionProvider, name: str, config: Configure, witness: Witness, token: str
    ) -> None:
        provider.start(name, config(), timeout=self.limit)
        eventually(lambda: witness.living(token))
        provider.stop(name, grace=5.0, timeout=self.limit)

        provider.start(name, config(), timeout=self.limit)

        assert provider.is_running(name, timeout=self.limit)
        assert len(eventually(lambda: witness.living(token))) == 1

    def test_no_process_names_ask_only_whether_the_session_runs(
        self, provider: SessionProvider, name: str, config: Configure
    ) -> None:
        provider.start(name, config(), timeout=self.limit)

        assert provider.process_alive(name, [], timeout=self.limit)
        assert not provider.process_alive(name, ["no-such-program"], timeout=self.limit)

    def test_after_stop_no_process_is_alive(
        self, provider: SessionProvider, name: str, config: Configure
    ) -> None:
        provider.start(name, config(), timeout=self.limit)
        provider.stop(name, grace=5.0, timeout=self.limit)

        assert not provider.process_alive(name, ["sh"], timeout=self.limit)
        assert not provider.process_alive(name, [], timeout=self.limit)

    def test_a_crashed_session_is_seen_as_ended_not_as_absent(
        self, provider: SessionProvider, name: str, config: Configure, witness: Witness, token: str
    ) -> None:
        provider.start(name, config(), timeout=self.limit)
        eventually(lambda: witness.living(token))

        witness.kill(token, signal.SIGKILL)

        eventually(lambda: not provider.is_running(name, timeout=self.limit))
        assert not provider.process_alive(name, [], timeout=self.limit)
        assert name not in provider.list_running("", timeout=self.limit)
        state = provider.observe(timeout=self.limit)[name]
        assert state.life == Exited(signal=signal.SIGKILL)

    def test_a_crashed_name_can_be_started_again(
        self, provider: SessionProvider, name: str, config: Configure, witness: Witness, token: str
    ) -> None:
        provider.start(name, config(), timeout=self.limit)
        eventually(lambda: witness.living(token))
        witness.kill(token, signal.SIGKILL)
        eventually(lambda: not provider.is_running(name, timeout=self.limit))

        provider.start(name, config(), timeout=self.limit)

        assert provider.is_running(name, timeout=self.limit)
        assert len(eventually(lambda: witness.living(token))) == 1

    def test_a_crashed_session_can_be_stopped_and_is_forgotten(
        self, provider: SessionProvider, name: str, config: Configure, witness: Witness, token: str
    ) -> None:
        provider.start(name, config(), timeout=self.limit)
        eventually(lambda: witness.living(token))
        witness.kill(token, signal.SIGKILL)
        eventually(lambda: not provider.is_running(name, timeout=self.limit))

        provider.stop(name, grace=5.0, timeout=self.limit)

        assert name not in provider.observe(timeout=self.limit)


class NameRules(Contract):
    """A name means itself and nothing that looks like it."""

    @pytest.mark.parametrize(("mine", "other"), NAMES_THAT_ARE_EASILY_CONFUSED)
    def test_what_is_said_to_one_name_does_not_reach_another(
        self,
        provider: SessionProvider,
        config: Configure,
        witness: Witness,
        token: str,
        mine: str,
        other: str,
    ) -> None:
        provider.start(other, config(meta={"KEY": "of the other"}), timeout=self.limit)
        before = eventually(lambda: witness.living(token))

        provider.interrupt(mine, timeout=self.limit)
        provider.send_keys(mine, ["x"], timeout=self.limit)
        provider.remove_meta(mine, "KEY", timeout=self.limit)
        provider.clear_scrollback(mine, timeout=self.limit)
        provider.stop(mine, grace=1.0, timeout=self.limit)

        assert not provider.is_running(mine, timeout=self.limit)
        assert not provider.process_alive(mine, [], timeout=self.limit)
        assert provider.get_meta(mine, "KEY", timeout=self.limit) is None
        assert provider.nudge(mine, "for another", timeout=self.limit).delivery is Delivery.ABSENT
        with pytest.raises(SessionNotFound):
            provider.set_meta(mine, "KEY", "changed", timeout=self.limit)
        assert witness.living(token) == before
        assert provider.get_meta(other, "KEY", timeout=self.limit) == "of the other"

    @pytest.mark.parametrize(("mine", "other"), NAMES_THAT_ARE_EASILY_CONFUSED)
    def test_similar_names_live_side_by_side(
        self, provider: SessionProvider, config: Configure, mine: str, other: str
    ) -> None:
        provider.start(mine, config(meta={"KEY": "mine"}), timeout=self.limit)
        provider.start(other, config(meta={"KEY": "other"}), timeout=self.limit)

        provider.stop(mine, grace=5.0, timeout=self.limit)

        assert provider.list_running("", timeout=self.limit) == [other]
        assert provider.get_meta(other, "KEY", timeout=self.limit) == "other"


def _start(
    rules: Contract, provider: SessionProvider, name: str, config: Configure
) -> Callable[[], None]:
    return lambda: provider.start(name, config(), timeout=rules.limit)


def _stop(rules: Contract, provider: SessionProvider, name: str) -> Callable[[], None]:
    return lambda: provider.stop(name, grace=5.0, timeout=rules.limit)
