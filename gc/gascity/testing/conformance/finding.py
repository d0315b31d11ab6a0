"""Finding sessions: by name, all at once, from another instance, and when something changes."""

# ruff: noqa: D102  the name of a rule is its sentence

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable

from gascity.core.observed import Alive, Exited
from gascity.session.provider import SessionProvider
from gascity.testing.conformance.contract import Configure, Contract, together
from gascity.testing.eventually import eventually
from gascity.testing.witness import Witness


class FindingRules(Contract):
    """What `list_running` and `observe` promise."""

    def test_a_city_without_sessions_has_none(self, provider: SessionProvider) -> None:
        assert provider.list_running("", timeout=self.limit) == []
        assert dict(provider.observe(timeout=self.limit)) == {}

    def test_the_list_holds_every_running_session_in_order(
        self, provider: SessionProvider, name: str, config: Configure
    ) -> None:
        names = [f"{name}-{letter}" for letter in "dbeac"]
        for each in names:
            provider.start(each, config(), timeout=self.limit)

        assert provider.list_running("", timeout=self.limit) == sorted(names)

    def test_a_prefix_finds_what_begins_with_it_and_nothing_else(
        self, provider: SessionProvider, config: Configure
    ) -> None:
        for each in ("gc-a-one", "gc-a-two", "gc-b-one", "x-gc-a-one"):
            provider.start(each, config(), timeout=self.limit)

        found = together(
            [
                lambda: provider.list_running("gc-a-", timeout=self.limit),
                lambda: provider.list_running("gc-b-one", timeout=self.limit),
                lambda: provider.list_running("gc", timeout=self.limit),
                lambda: provider.list_running("*", timeout=self.limit),
            ]
        )

        assert found == [
            ["gc-a-one", "gc-a-two"],
            ["gc-b-one"],
            ["gc-a-one", "gc-a-two", "gc-b-one"],
            [],
        ]

    def test_a_stopped_session_is_not_in_the_list(
        self, provider: SessionProvider, name: str, config: Configure
    ) -> None:
        provider.start(name, config(), timeout=self.limit)
        provider.start(f"{name}-stays", config(), timeout=self.limit)

        provider.stop(name, grace=5.0, timeout=self.limit)

        assert provider.list_running("", timeout=self.limit) == [f"{name}-stays"]

    def test_observe_agrees_with_the_single_questions(
        self, provider: SessionProvider, name: str, config: Configure
    ) -> None:
        before = time.time()
        provider.start(name, config(meta={"KEY": "a=b\nc", "EMPTY": ""}), timeout=self.limit)
        provider.set_meta(name, "LATER", "more", timeout=self.limit)

        state = provider.observe(timeout=self.limit)[name]

        assert state.name == name
        assert state.life == Alive()
        assert state.meta == {"KEY": "a=b\nc", "EMPTY": "", "LATER": "more"}
        assert state.attached == 0
        assert state.created is None or before - 2 <= state.created <= time.time() + 2
        assert all(
            provider.get_meta(name, key, timeout=self.limit) == value
            for key, value in state.meta.items()
        )

    def test_one_process_keeps_one_identity(
        self, make_provider: Callable[[], SessionProvider], name: str, config: Configure
    ) -> None:
        first, second = make_provider(), make_provider()
        first.start(name, config(), timeout=self.limit)

        one = first.observe(timeout=self.limit)[name].process
        two = second.observe(timeout=self.limit)[name].process
        first.stop(name, grace=5.0, timeout=self.limit)
        first.start(name, config(), timeout=self.limit)
        third = first.observe(timeout=self.limit)[name].process

        assert one == two
        assert third is None or third != one

    def test_a_second_instance_sees_everything_and_can_stop_it(
        self,
        make_provider: Callable[[], SessionProvider],
        name: str,
        config: Configure,
        witness: Witness,
        token: str,
    ) -> None:
        first, second = make_provider(), make_provider()
        first.start(name, config(), timeout=self.limit)
        first.set_meta(name, "KEY", "value", timeout=self.limit)
        first.nudge(name, "hello", timeout=self.limit)

        assert second.is_running(name, timeout=self.limit)
        assert second.list_running("", timeout=self.limit) == [name]
        assert second.get_meta(name, "KEY", timeout=self.limit) == "value"
        eventually(lambda: "hello" in second.peek(name, 0, timeout=self.limit))

        second.stop(name, grace=5.0, timeout=self.limit)

        assert witness.living(token) == []
        assert not first.is_running(name, timeout=self.limit)
        assert first.get_meta(name, "KEY", timeout=self.limit) is None

    def test_closing_an_instance_leaves_the_sessions_alone(
        self,
        make_provider: Callable[[], SessionProvider],
        name: str,
        config: Configure,
        witness: Witness,
        token: str,
    ) -> None:
        first = make_provider()
        first.start(name, config(), timeout=self.limit)
        before = eventually(lambda: witness.living(token))

        first.close()

        assert witness.living(token) == before
        assert make_provider().is_running(name, timeout=self.limit)


class WatchRules(Contract):
    """What `watch` promises: it wakes, soon, and never after `close`."""

    def test_watch_wakes_when_a_session_starts_dies_and_is_stopped(
        self,
        make_provider: Callable[[], SessionProvider],
        name: str,
        config: Configure,
        witness: Witness,
        token: str,
    ) -> None:
        provider, onlooker = make_provider(), make_provider()
        woken = threading.Event()
        watch = onlooker.watch(woken.set)

        try:
            provider.start(name, config(), timeout=self.limit)
            eventually(woken.is_set, within=5.0)
            eventually(lambda: witness.living(token))

            woken.clear()
            witness.kill(token, signal.SIGKILL)
            eventually(lambda: _ended(onlooker, name, self.limit), within=5.0)
            eventually(woken.is_set, within=5.0)

            woken.clear()
            provider.stop(name, grace=5.0, timeout=self.limit)
            eventually(woken.is_set, within=5.0)
        finally:
            watch.close()

    def test_a_closed_watch_is_silent(
        self, provider: SessionProvider, name: str, config: Configure
    ) -> None:
        woken = threading.Event()
        closed, other = provider.watch(woken.set), threading.Event()

        closed.close()
        closed.close()
        woken.clear()
        still_open = provider.watch(other.set)
        try:
            provider.start(name, config(), timeout=self.limit)
            eventually(other.is_set, within=5.0)
        finally:
            still_open.close()

        assert not woken.is_set()


def _ended(provider: SessionProvider, name: str, limit: float) -> bool:
    return isinstance(provider.observe(timeout=limit)[name].life, Exited)
