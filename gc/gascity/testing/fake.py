"""A provider whose sessions exist only in memory.

`FakeWorld` is what runs; any number of `FakeProvider` look at the same world, as processes on one
machine do. No command is ever run: a session lives until it is stopped or a test lets it crash.
It passes the conformance suite, and can be made to fail in the ways real backends do.
"""

# ruff: noqa: D102, ARG002  what the methods promise stands in the contract; a fake needs no time

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence

from gascity.core.model import SessionConfig
from gascity.core.observed import Alive, Exited, ProcessId, SessionState, Standing
from gascity.errors import (
    NotSupported,
    ProviderUnavailable,
    SessionExists,
    SessionNotFound,
    StartFailed,
    StartPending,
    StopTimedOut,
)
from gascity.session.provider import CityContext, SessionProvider
from gascity.session.receipts import Delivery, Receipt
from gascity.session.terminal import Terminal
from gascity.session.watch import SeenCallback, Watch
from gascity.testing.fake_session import FakeSession, FakeTerminal, goes_on, program, state_of

__all__ = ["FakeProvider", "FakeSession", "FakeTerminal", "FakeWorld"]


class FakeWorld:
    """What runs, and what goes wrong.

    The knobs: `unreachable` is why nothing answers (empty: everything does); `failing` maps a
    session name to the reason its start fails; `slow` maps one to the Event its start waits for;
    `stuck` names the sessions that survive being stopped; `pending` maps one to what it waits for,
    so that its start has to be gone on with later. Set them at any time. `starts` are the sessions
    that were made, `tried` the starts that were asked for.
    """

    def __init__(self, now: Callable[[], float] = time.time) -> None:
        self.changed = threading.Condition(threading.RLock())
        self.sessions: dict[str, FakeSession] = {}
        self.unreachable = ""
        self.failing: dict[str, str] = {}
        self.slow: dict[str, threading.Event] = {}
        self.stuck: set[str] = set()
        self.pending: dict[str, str] = {}
        self.starts: list[str] = []
        self.tried: list[str] = []
        self.now = now
        self._wakers: list[Callable[[], None]] = []
        self._next_pid = 1000

    def provider(self, name: str = "fake") -> FakeProvider:
        """Return one more provider over this world."""
        return FakeProvider(CityContext(name, name, "", {}), self, name=name)

    def crash(
        self, name: str, *, code: int | None = None, signal: int | None = None, reason: str = ""
    ) -> None:
        """Let a session's program end by itself. KeyError when there is none."""
        with self.changed:
            self.sessions[name].life = Exited(code, signal, reason)
        self.wake()

    def stand(self, name: str, standing: Standing, condition: str = "") -> None:
        """Let something be the matter with a session's machine. KeyError when there is none."""
        with self.changed:
            self.sessions[name].standing = standing
            self.sessions[name].condition = condition
        self.wake()

    def vanish(self, name: str) -> None:
        """Take a session away, as others than its city may. KeyError when there is none."""
        with self.changed:
            self.sessions.pop(name).life = Exited()
        self.wake()

    def show(self, name: str, text: str) -> None:
        """Let a session print lines. KeyError when there is none."""
        with self.changed:
            session = self.sessions[name]
            session.shown += text.splitlines()
            session.activity = self.now()

    def create(self, name: str, config: SessionConfig) -> FakeSession:
        """Make a session live. Raises SessionExists when one of that name does."""
        with self.changed:
            known = self.sessions.get(name)
            if known is not None and goes_on(known, config):
                return known
            if known is not None and isinstance(known.life, Alive):
                raise SessionExists(f'session "{name}" lives already')
            self._next_pid += 1
            process = ProcessId(self._next_pid, started=f"fake-{self._next_pid}")
            now = self.now()
            session = FakeSession(config, process, now, now, dict(config.meta))
            if name in self.pending:
                session.standing, session.condition = Standing.PENDING, self.pending[name]
            self.sessions[name] = session
            self.starts.append(name)
        self.wake()
        return session

    def wake(self) -> None:
        """Tell all who watch that something may have changed."""
        with self.changed:
            self.changed.notify_all()
            wakers = list(self._wakers)
        for waker in wakers:
            waker()

    def subscribe(self, waker: Callable[[], None]) -> Watch:
        """Call `waker` on every change until the handle is closed."""
        with self.changed:
            self._wakers.append(waker)
        return _Subscription(self._wakers, waker)


class FakeProvider(SessionProvider):
    """The contract over a `FakeWorld`."""

    def __init__(self, context: CityContext, world: FakeWorld, *, name: str = "fake") -> None:
        super().__init__(context)
        self.name = name
        self.world = world

    def start(self, name: str, config: SessionConfig, *, timeout: float) -> None:
        self._reach()
        self.world.tried.append(name)
        session = self.world.create(name, config)
        problem = self.world.failing.get(name, "")
        release = self.world.slow.get(name)
        if not problem and session.standing is Standing.PENDING:
            self._come_up(name, session, release, timeout)
            release = None
        if not problem and release is not None and not release.wait(timeout):
            problem = f"was not ready within {timeout:g} s"
        if not problem and isinstance(session.life, Exited):
            problem = str(session.life)
        if problem:
            self._forget(name, session)
            raise StartFailed(f'session "{name}" {problem}', output="\n".join(session.shown))
        if config.hints.nudge:
            self.nudge(name, config.hints.nudge, timeout=timeout)

    def _come_up(
        self, name: str, session: FakeSession, release: threading.Event | None, timeout: float
    ) -> None:
        """Bring a session up that was pending. Raises StartPending while it has to wait."""
        deadline = time.monotonic() + timeout
        while release is not None and not release.wait(0.01) and time.monotonic() < deadline:
            if self.world.sessions.get(name) is not session:
                break
        with self.world.changed:
            gone = self.world.sessions.get(name) is not session
            waits = self.world.pending.get(name, "")
            if not gone:
                session.standing = Standing.PENDING if waits else Standing.UP
                session.condition = waits
        self.world.wake()
        if gone:
            raise StartFailed(f'session "{name}" was ended before it came up')
        if waits:
            raise StartPending(waits)

    def stop(self, name: str, *, grace: float, timeout: float) -> None:
        session = self._find(name)
        if session is None:
            return
        if name in self.world.stuck:
            raise StopTimedOut(f'session "{name}" survived being stopped')
        self._forget(name, session)

    def interrupt(self, name: str, *, timeout: float) -> None:
        session = self._find(name)
        if session is not None:
            session.interrupts += 1

    def is_running(self, name: str, *, timeout: float) -> bool:
        session = self._find(name)
        return session is not None and isinstance(session.life, Alive)

    def process_alive(self, name: str, names: Sequence[str], *, timeout: float) -> bool:
        session = self._find(name)
        if session is None or not isinstance(session.life, Alive):
            return False
        return not names or program(session.config.command) in names

    def attach(self, name: str, *, read_only: bool = False) -> int:
        self._known(name)
        raise NotSupported("a session in memory has no terminal to give")

    def nudge(
        self, name: str, text: str, *, timeout: float, wait: bool = False, raw: bool = False
    ) -> Receipt:
        session = self._find(name)
        if session is None or not isinstance(session.life, Alive):
            return Receipt(Delivery.ABSENT)
        with self.world.changed:
            session.received.append(text)
            session.shown += text.splitlines()
            session.activity = self.world.now()
        return Receipt(Delivery.SUBMITTED, text=text, attempts=1)

    def terminal(self, name: str) -> Terminal | None:
        session = self._find(name)
        return None if session is None else FakeTerminal(session)

    def send_keys(self, name: str, keys: Sequence[str], *, timeout: float) -> None:
        session = self._find(name)
        if session is not None:
            session.keys.extend(keys)

    def peek(self, name: str, lines: int, *, timeout: float, colours: bool = False) -> str:
        shown = self._known(name).shown
        return "\n".join(shown[-lines:] if lines > 0 else shown)

    def set_meta(self, name: str, key: str, value: str, *, timeout: float) -> None:
        self._known(name).meta[key] = value

    def get_meta(self, name: str, key: str, *, timeout: float) -> str | None:
        session = self._find(name)
        return None if session is None else session.meta.get(key)

    def remove_meta(self, name: str, key: str, *, timeout: float) -> None:
        session = self._find(name)
        if session is not None:
            session.meta.pop(key, None)

    def list_running(self, prefix: str, *, timeout: float) -> list[str]:
        states = self.observe(timeout=timeout)
        return sorted(
            name
            for name, state in states.items()
            if name.startswith(prefix) and isinstance(state.life, Alive)
        )

    def last_activity(self, name: str, *, timeout: float) -> float | None:
        session = self._find(name)
        return None if session is None else session.activity

    def clear_scrollback(self, name: str, *, timeout: float) -> None:
        session = self._find(name)
        if session is not None:
            session.shown.clear()

    def copy_to(self, name: str, src: str, rel_dst: str, *, timeout: float) -> None:
        session = self._find(name)
        if session is not None:
            session.copied.append((src, rel_dst))

    def observe(self, *, timeout: float) -> Mapping[str, SessionState]:
        self._reach()
        with self.world.changed:
            return {name: state_of(name, session) for name, session in self.world.sessions.items()}

    def watch(
        self,
        wake: Callable[[], None],
        *,
        seen: SeenCallback | None = None,
        interval: float = 1.0,
    ) -> Watch:
        return self.world.subscribe(wake)

    def _reach(self) -> None:
        if self.world.unreachable:
            raise ProviderUnavailable(f"the fake world is unreachable: {self.world.unreachable}")

    def _find(self, name: str) -> FakeSession | None:
        self._reach()
        with self.world.changed:
            return self.world.sessions.get(name)

    def _known(self, name: str) -> FakeSession:
        session = self._find(name)
        if session is None:
            raise SessionNotFound(f'there is no session "{name}"')
        return session

    def _forget(self, name: str, session: FakeSession) -> None:
        with self.world.changed:
            if self.world.sessions.get(name) is session:
                del self.world.sessions[name]
                session.life = Exited()
        self.world.wake()


class _Subscription(Watch):
    def __init__(self, wakers: list[Callable[[], None]], waker: Callable[[], None]) -> None:
        self._wakers = wakers
        self._waker = waker

    def close(self) -> None:
        if self._waker in self._wakers:
            self._wakers.remove(self._waker)
