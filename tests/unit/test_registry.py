"""Finding session providers."""

from __future__ import annotations

import sys
from types import ModuleType

import pytest

from gascity.errors import ConfigError, NotInstalled
from gascity.session.registry import (
    KNOWN,
    PREFERRED,
    SHIPPED,
    auto_provider,
    is_local,
    provider_class,
)
from gascity.testing.fake import FakeProvider


class Far(FakeProvider):
    """Runs its sessions elsewhere."""

    is_local = False


def test_what_ships_is_known_and_loads() -> None:
    assert "subprocess" in KNOWN
    assert "subprocess" in list(KNOWN)
    assert provider_class("subprocess").__name__ == "Provider"


def test_an_unknown_name_comes_with_a_suggestion() -> None:
    with pytest.raises(ConfigError, match='unknown session provider "subproces"') as caught:
        provider_class("subproces")

    assert "subprocess" in caught.value.hint


def test_one_whose_package_lacks_something_is_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(SHIPPED, "broken", "gascity_no_such_package:Provider")

    with pytest.raises(NotInstalled, match='"broken" cannot be loaded: No module') as caught:
        provider_class("broken")

    assert caught.value.hint == "install what its package needs"


def test_auto_is_one_that_works_here() -> None:
    assert not provider_class(auto_provider()).unavailable()


def test_whose_sessions_run_elsewhere_is_said_by_the_provider(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(SHIPPED, "far", f"{__name__}:Far")
    monkeypatch.setitem(sys.modules, __name__, ModuleType(__name__))
    monkeypatch.setattr(sys.modules[__name__], "Far", Far, raising=False)

    assert not is_local("far")
    assert is_local("nobody-knows-it")


@pytest.mark.parametrize("name", PREFERRED)
def test_nothing_is_loaded_to_know_that_the_usual_ones_are_here(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(SHIPPED, name, "gascity_no_such_package:Provider")

    assert is_local(name)
