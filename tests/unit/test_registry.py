"""Finding session providers."""

from __future__ import annotations

import pytest

from gascity.errors import ConfigError
from gascity.session.registry import KNOWN, auto_provider, provider_class


def test_what_ships_is_known_and_loads() -> None:
    assert "subprocess" in KNOWN
    assert "subprocess" in list(KNOWN)
    assert provider_class("subprocess").__name__ == "Provider"


def test_an_unknown_name_comes_with_a_suggestion() -> None:
    with pytest.raises(ConfigError, match='unknown session provider "subproces"') as caught:
        provider_class("subproces")

    assert "subprocess" in caught.value.hint


def test_auto_is_one_that_works_here() -> None:
    assert not provider_class(auto_provider()).unavailable()
