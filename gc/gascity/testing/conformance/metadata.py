"""Metadata lives exactly as long as its session."""

# ruff: noqa: D102  the name of a rule is its sentence

from __future__ import annotations

import signal
import threading
from collections.abc import Callable

import pytest

from gascity.errors import SessionNotFound
from gascity.session.provider import SessionProvider
from gascity.testing.conformance.contract import Configure, Contract, together
from gascity.testing.eventually import eventually
from gascity.testing.witness import Witness

VALUES = {
    "plain": "value",
    "empty": "",
    "newline": "first\nsecond",
    "only newline": "\n",
    "trailing newline": "value\n",
    "carriage return": "a\r\nb\rc",
    "equals": "a=b=c",
    "leading dash": "-rf",
    "double dash": "--",
    "leading blank": "  value  ",
    "unicode": "Zürich 東京 🏙 \u200d \N{COMBINING ACUTE ACCENT}",
    "quotes": "'single' \"double\" `back` $HOME \\ ;",
    "format": "#{pane_id} %s {{.City}}",
    "long": "0123456789abcdef" * 4096,
    "long unicode": "🏙" * 16384,
}


class MetadataRules(Contract):
    """What `set_meta`, `get_meta` and `remove_meta` promise."""

    @pytest.mark.parametrize("value", VALUES.values(), ids=VALUES)
    def test_a_value_comes_back_unchanged(
        self, provider: SessionProvider, name: str, config: Configure, value: str
    ) -> None:
        provider.start(name, config(meta={"GIVEN": value}), timeout=self.limit)

        provider.set_meta(name, "SET", value, timeout=self.limit)

        assert provider.get_meta(name, "SET", timeout=self.limit) == value
        assert provider.get_meta(name, "GIVEN", timeout=self.limit) == value

    def test_a_key_that_was_never_set_is_none(
        self, provider: SessionProvider, name: str, config: Configure
    ) -> None:
        provider.start(name, config(), timeout=self.limit)

        assert provider.get_meta(name, "NEVER", timeout=self.limit) is None

    def test_the_last_value_wins(
        self, provider: SessionProvider, name: str, config: Configure
    ) -> None:
        provider.start(name, config(meta={"KEY": "first"}), timeout=self.limit)

        provider.set_meta(name, "KEY", "second", timeout=self.limit)
        provider.set_meta(name, "KEY", "third", timeout=self.limit)

        assert provider.get_meta(name, "KEY", timeout=self.limit) == "third"

    def test_keys_do_not_touch_each_other(
        self, provider: SessionProvider, name: str, config: Configure
    ) -> None:
        provider.start(name, config(), timeout=self.limit)
        provider.set_meta(name, "KEY", "one", timeout=self.limit)
        provider.set_meta(name, "KEY_TWO", "two", timeout=self.limit)

        provider.remove_meta(name, "KEY", timeout=self.limit)

        assert provider.get_meta(name, "KEY", timeout=self.limit) is None
        assert provider.get_meta(name, "KEY_TWO", timeout=self.limit) == "two"

    def test_removing_what_is_not_there_is_no_error(
        self, provider: SessionProvider, name: str, config: Configure
    ) -> None:
        provider.start(name, config(), timeout=self.limit)

        provider.remove_meta(name, "NEVER", timeout=self.limit)

        assert provider.get_meta(name, "NEVER", timeout=self.limit) is None

    def test_values_set_at_the_same_time_are_all_kept(
        self, make_provider: Callable[[], SessionProvider], name: str, config: Configure
    ) -> None:
        providers = [make_provider(), make_provider()]
        providers[0].start(name, config(), timeout=self.limit)
        wanted = {f"KEY_{number}": str(number) for number in range(8)}

        together(
            [
                _set(self, providers[int(value) % 2], name, key, value)
                for key, value in wanted.items()
            ]
        )

        meta = providers[0].observe(timeout=self.limit)[name].meta
        assert {key: meta.get(key) for key in wanted} == wanted

    def test_a_session_is_never_seen_without_the_metadata_it_starts_with(
        self, make_provider: Callable[[], SessionProvider], name: str, config: Configure
    ) -> None:
        provider, onlooker = make_provider(), make_provider()
        marked = config(meta={"GC_CITY_ID": "mark"})
        starting = threading.Thread(
            target=lambda: provider.start(name, marked, timeout=self.limit), daemon=True
        )
        sightings: list[str | None] = []

        starting.start()
        while starting.is_alive():
            states = onlooker.observe(timeout=self.limit)
            sightings += [state.meta.get("GC_CITY_ID") for state in states.values()]
        sightings.append(onlooker.get_meta(name, "GC_CITY_ID", timeout=self.limit))

        assert set(sightings) == {"mark"}

    def test_stop_forgets_the_metadata(
        self, provider: SessionProvider, name: str, config: Configure
    ) -> None:
        provider.start(name, config(meta={"GIVEN": "1"}), timeout=self.limit)
        provider.set_meta(name, "SET", "1", timeout=self.limit)

        provider.stop(name, grace=5.0, timeout=self.limit)

        assert provider.get_meta(name, "GIVEN", timeout=self.limit) is None
        assert provider.get_meta(name, "SET", timeout=self.limit) is None

    def test_the_next_incarnation_begins_without_the_metadata_of_the_last(
        self, provider: SessionProvider, name: str, config: Configure
    ) -> None:
        provider.start(name, config(meta={"GIVEN": "1"}), timeout=self.limit)
        provider.set_meta(name, "SET", "1", timeout=self.limit)
        provider.stop(name, grace=5.0, timeout=self.limit)

        provider.start(name, config(meta={"NEW": "2"}), timeout=self.limit)

        assert provider.observe(timeout=self.limit)[name].meta == {"NEW": "2"}
        assert provider.get_meta(name, "SET", timeout=self.limit) is None

    def test_metadata_outlives_a_crash_but_not_the_start_that_follows(
        self, provider: SessionProvider, name: str, config: Configure, witness: Witness, token: str
    ) -> None:
        provider.start(name, config(meta={"GIVEN": "1"}), timeout=self.limit)
        eventually(lambda: witness.living(token))
        witness.kill(token, signal.SIGKILL)
        eventually(lambda: not provider.is_running(name, timeout=self.limit))

        after_the_crash = provider.get_meta(name, "GIVEN", timeout=self.limit)
        provider.start(name, config(), timeout=self.limit)

        assert after_the_crash == "1"
        assert provider.get_meta(name, "GIVEN", timeout=self.limit) is None

    def test_setting_metadata_of_an_unknown_session_fails(
        self, provider: SessionProvider, name: str
    ) -> None:
        with pytest.raises(SessionNotFound):
            provider.set_meta(name, "KEY", "value", timeout=self.limit)

        assert provider.get_meta(name, "KEY", timeout=self.limit) is None


def _set(
    rules: Contract, provider: SessionProvider, name: str, key: str, value: str
) -> Callable[[], None]:
    return lambda: provider.set_meta(name, key, value, timeout=rules.limit)
