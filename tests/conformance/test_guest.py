"""Sessions in a guest, held to the contract over a real daemon."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import AbstractContextManager
from types import MappingProxyType

import pytest
from tests.guests.daemon import Daemon

from gascity.session.marks import MARK
from gascity.session.provider import CityContext, SessionProvider
from gascity.session.tmux import naming
from gascity.testing.conformance import ProcessConformance
from gascity_guest import Provider

pytestmark = pytest.mark.tmux


class TestGuest(ProcessConformance):
    provider_class = Provider
    has_terminal = True
    adds_env = frozenset(
        {MARK, "TERM", "TERM_PROGRAM", "TERM_PROGRAM_VERSION", "TMUX", "TMUX_PANE", "SHELL"}
        | {"HOME", "PATH", "USER", "LOGNAME", "LANG", "TZ"}
    )
    guest: Daemon

    @pytest.fixture(autouse=True, scope="class")
    @classmethod
    def _daemon(cls, tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
        cls.guest = Daemon(tmp_path_factory.mktemp("guest"))
        cls.guest.start()
        cls.settings = MappingProxyType({"socket": cls.guest.socket})
        yield
        cls.guest.stop()

    def make_unreachable(
        self, provider: SessionProvider, name: str
    ) -> AbstractContextManager[None] | None:
        return self.guest.frozen()

    def clean_up(self, context: CityContext) -> None:
        """See that the city's tmux and its folder go with the last session."""
        mark = naming.city_mark(context.city_id)
        assert not os.path.exists(f"/tmp/gascity-{os.getuid()}/{mark}/tmux")
