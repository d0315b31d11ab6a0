"""Sessions as plain processes, held to the contract."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from gascity.session.marks import MARK
from gascity.session.provider import CityContext, SessionProvider
from gascity.testing.conformance import ProcessConformance
from gascity.testing.eventually import eventually
from gascity_subprocess import layout
from gascity_subprocess.provider import Provider


class TestSubprocess(ProcessConformance):
    provider_class = Provider
    adds_env = frozenset({MARK})

    def make_unreachable(
        self, provider: SessionProvider, name: str
    ) -> AbstractContextManager[None] | None:
        pid = keeper_of(provider.context)

        @contextmanager
        def outage() -> Iterator[None]:
            os.kill(pid, signal.SIGSTOP)
            try:
                yield
            finally:
                os.kill(pid, signal.SIGCONT)

        return outage()

    def clean_up(self, context: CityContext) -> None:
        """See that the keeper goes by itself when there is nothing left to keep."""
        pid = keeper_of(context)
        if pid:
            try:
                eventually(lambda: not keeper_lives(pid, context))
            finally:
                if keeper_lives(pid, context):
                    os.kill(pid, signal.SIGKILL)


def keeper_of(context: CityContext) -> int:
    """Return the pid a city's keeper wrote down; 0 where there never was one."""
    with contextlib.suppress(OSError):
        return int((Path(layout.home(context.state_dir)) / layout.LOCK).read_text() or 0)
    return 0


def keeper_lives(pid: int, context: CityContext) -> bool:
    with contextlib.suppress(OSError):
        return layout.home(context.state_dir).encode() in Path(f"/proc/{pid}/cmdline").read_bytes()
    return False
