"""Sessions in tmux, held to the contract."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import pytest

from gascity.session.marks import MARK
from gascity.session.provider import CityContext, SessionProvider
from gascity.testing.conformance import ProcessConformance
from gascity.testing.eventually import eventually
from gascity_tmux import layout
from gascity_tmux.provider import Provider

pytestmark = pytest.mark.tmux


class TestTmux(ProcessConformance):
    provider_class = Provider
    supports_attach = True
    has_terminal = True
    adds_env = frozenset(
        {MARK, "TERM", "TERM_PROGRAM", "TERM_PROGRAM_VERSION", "TMUX", "TMUX_PANE", "SHELL"}
    )

    def make_unreachable(
        self, provider: SessionProvider, name: str
    ) -> AbstractContextManager[None] | None:
        pid = server_of(provider.context)

        @contextmanager
        def outage() -> Iterator[None]:
            os.kill(pid, signal.SIGSTOP)
            try:
                yield
            finally:
                os.kill(pid, signal.SIGCONT)

        return outage()

    def clean_up(self, context: CityContext) -> None:
        """See that the server goes by itself with its last session."""
        pid = server_of(context)
        if pid:
            try:
                eventually(lambda: not server_lives(pid, context))
            finally:
                if server_lives(pid, context):
                    os.kill(pid, signal.SIGKILL)


def server_of(context: CityContext) -> int:
    """Return the pid of a city's last tmux server; 0 where there never was one."""
    try:
        return int(
            json.loads(Path(layout.home(context.state_dir), layout.SERVER).read_text())["pid"]
        )
    except FileNotFoundError:
        return 0


def server_lives(pid: int, context: CityContext) -> bool:
    socket = layout.socket_path(context.city, layout.home(context.state_dir))
    try:
        return socket.encode() in Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False
