"""A provider whose sessions exist only in memory.

`FakeWorld` is what runs; any number of `FakeProvider` look at the same world, as processes on one
machine do. No command is ever run: a session lives until it is stopped or a test lets it crash.
It passes the conformance suite, and can be made to fail in the ways real backends do.
"""

# ruff: noqa: D102, ARG002  what the methods promise stands in the contract; a fake needs no time

from __future__ import annotations

import shlex
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from gascity.core.model import SessionConfig
from gascity.core.observed import Alive, Exited, Life, ProcessId, SessionState
from gascity.errors import (
    NotSupported,
    ProviderUnavailable,
    SessionExists,
    SessionNotFound,
    StartFailed,
    StopTimedOut,
)
from gascity.screens.screen import Screen
from gascity.session.provider import CityContext, Delivery, Receipt, SessionProvider
from gascity.session.terminal import Terminal
from gascity.session.watch import SeenCallback, Watch


@dataclass(slots=True)
class FakeSession:
    """One session of a world, open to be looked at and changed under `world.changed`."""

    config: SessionConfig
    process: ProcessId
    created: float
    activity: float
    meta: dict[str, str]
    life: Life = field(default_factory=Alive)
    shown: list[str] = field(default_factory=list)
    received: list[str] = field(default_factory=list)
    keys: list[str] = field(default_factory=list)
    copied: list[tuple[str, str]] = field(default_factory=list)
    interrupts: int = 0
    woken: int = 0
    attached: int = 0
    reacts: Callable[[FakeSession, str], None] | None = None


class FakeTerminal:
    """Shows all that a session printed. Keys are noted, and told to what `reacts` to them."""

    def __init__(self, session: FakeSession) -> None:
        self._session = session

    def look(self, *, timeout: float) -> Screen:
        alive = isinstance(self._session.life, Alive)
        rows = tuple(self._session.shown)
        return Screen(rows, alive=alive, attached=self._session.attached)

    def press(self, keys: Sequence[str], *, timeout: float) -> None:
        for key in keys:
            self._session.keys.append(key)
            if self._session.reacts is not None:
                self._session.reacts(self._session, key)

    def paste(self, text: str, *, timeout: float) -> None:
        self._session.received.append(text)

    def wake(self, *, timeout: float) -> None:
        self._session.woken += 1


class FakeWorld:
    """What runs, and what goes wrong.

    The knobs: `unreachable` is why nothing answers (empty: everything does); `failing` maps a
    session name to the reason its start fails; `slow` maps one to the Event its start waits for;
    `stuck` names the sessions that survive being stopped. Set them at any time.
    """

    def __init__(self, now: Callable[[], float] = time.time) -> None:
        self.changed = threading.Condition(threading.RLock())
        self.sessions: dict[str, FakeSession] = {}
        self.unreachable = ""
        self.failing: dict[str, str] = {}
        self.slow: dict[str, threading.Event] = {}
        self.stuck: set[str] = set()
        self.starts: list[str] = []
        self.now = now
        self._wakers: list[Callable[[], None]] = []
        self._next_pid = 1000

    def provider(self, name: str = "fake") -> FakeProvider:
        """Return one more provider over this world."""
        return FakeProvider(CityContext(name, name, "", {}), self, name=name)

    def crash(self, name: str, *, code: int | None = None, signal: int | None = None) -> None:
        """Let a session's program end by itself. KeyError when there is none."""
        with self.changed:
            self.sessions[name].life = Exited(code=code, signal=signal)
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
            if name in self.sessions and isinstance(self.sessions[name].life, Alive):
                raise SessionExists(f'session "{name}" lives already')
            self._next_pid += 1
            process = ProcessId(self._next_pid, started=f"fake-{self._next_pid}")
            now = self.now()
            session = FakeSession(config, process, now, now, dict(config.meta))
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
        session = self.world.create(name, config)
        problem = self.world.failing.get(name, "")
        release = self.world.slow.get(name)
        if not problem and release is not None and not release.wait(timeout):
            problem = f"was not ready within {timeout:g} s"
        if not problem and isinstance(session.life, Exited):
            problem = str(session.life)
        if problem:
            self._forget(name, session)
            raise StartFailed(f'session "{name}" {problem}', output="\n".join(session.shown))
        if config.hints.nudge:
            self.nudge(name, config.hints.nudge, timeout=timeout)

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
        return not names or _program(session.config.command) in names

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
            return {name: _state(name, session) for name, session in self.world.sessions.items()}

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


def _program(command: str) -> str:
    words = shlex.split(command)
    return words[0].rpartition("/")[2] if words else ""


def _state(name: str, session: FakeSession) -> SessionState:
    wanted = session.config.hints.process_names
    return SessionState(
        name=name,
        life=session.life,
        process=session.process,
        created=session.created,
        last_activity=session.activity,
        attached=session.attached,
        meta=dict(session.meta),
        agent_alive=not wanted or _program(session.config.command) in wanted,
    )
