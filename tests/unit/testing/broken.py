"""Providers that each break one rule, named after what they do wrong."""

from __future__ import annotations

import os
import shutil
import signal
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

from gascity.core.model import SessionConfig, StartupHints
from gascity.core.observed import Alive, SessionState
from gascity.errors import ProviderUnavailable, SessionExists, SessionNotFound
from gascity.session.provider import CityContext
from gascity.session.receipts import Delivery, Receipt
from gascity.session.watch import SeenCallback, Watch
from gascity.testing.fake import FakeProvider, FakeSession, FakeWorld
from gascity_subprocess.provider import Provider


class ForgetfulProvider(FakeProvider):
    """Knows only what this instance started."""

    def __init__(self, context: CityContext, world: FakeWorld) -> None:
        super().__init__(context, world)
        self._mine: set[str] = set()

    def start(self, name: str, config: SessionConfig, *, timeout: float) -> None:
        super().start(name, config, timeout=timeout)
        self._mine.add(name)

    def observe(self, *, timeout: float) -> Mapping[str, SessionState]:
        states = super().observe(timeout=timeout)
        return {name: state for name, state in states.items() if name in self._mine}


class PrefixMatchingProvider(FakeProvider):
    """Takes the first session whose name begins with the one it is asked about, as tmux does."""

    def _find(self, name: str) -> FakeSession | None:
        self._reach()
        with self.world.changed:
            names = sorted(each for each in self.world.sessions if each.startswith(name))
            return self.world.sessions[names[0]] if names else None


class OptimisticProvider(FakeProvider):
    """Says that there is nothing when it cannot see."""

    def is_running(self, name: str, *, timeout: float) -> bool:
        try:
            return super().is_running(name, timeout=timeout)
        except ProviderUnavailable:
            return False

    def observe(self, *, timeout: float) -> Mapping[str, SessionState]:
        try:
            return super().observe(timeout=timeout)
        except ProviderUnavailable:
            return {}


class HoardingProvider(FakeProvider):
    """Keeps metadata for the next session of the same name."""

    kept: ClassVar[dict[str, dict[str, str]]] = {}

    def start(self, name: str, config: SessionConfig, *, timeout: float) -> None:
        meta = {**self.kept.get(name, {}), **config.meta}
        super().start(name, replace(config, meta=meta), timeout=timeout)

    def stop(self, name: str, *, grace: float, timeout: float) -> None:
        session = self._find(name)
        if session is not None:
            self.kept[name] = dict(session.meta)
        super().stop(name, grace=grace, timeout=timeout)


class TrimmingProvider(FakeProvider):
    """Loses the blanks and line ends around a value."""

    def get_meta(self, name: str, key: str, *, timeout: float) -> str | None:
        value = super().get_meta(name, key, timeout=timeout)
        return value and value.strip()


class NullingProvider(FakeProvider):
    """Takes the empty string for no value."""

    def get_meta(self, name: str, key: str, *, timeout: float) -> str | None:
        return super().get_meta(name, key, timeout=timeout) or None


class ReplacingProvider(FakeProvider):
    """Starts anew over a session that lives."""

    def start(self, name: str, config: SessionConfig, *, timeout: float) -> None:
        with self.world.changed:
            self.world.sessions.pop(name, None)
        super().start(name, config, timeout=timeout)


class LateMarkingProvider(FakeProvider):
    """Creates the session first and marks it afterwards."""

    looked: ClassVar[threading.Event] = threading.Event()

    def start(self, name: str, config: SessionConfig, *, timeout: float) -> None:
        self.looked.clear()
        super().start(name, replace(config, meta={}), timeout=timeout)
        self.looked.wait(5)
        self._known(name).meta.update(config.meta)

    def observe(self, *, timeout: float) -> Mapping[str, SessionState]:
        states = super().observe(timeout=timeout)
        if states:
            self.looked.set()
        return states


class LeavingProvider(FakeProvider):
    """Forgets a session without ending it, and denies it ever after."""

    def stop(self, name: str, *, grace: float, timeout: float) -> None:
        with self.world.changed:
            if name in self.world.sessions:
                self.world.sessions[f"ghost of {name}"] = self.world.sessions.pop(name)

    def observe(self, *, timeout: float) -> Mapping[str, SessionState]:
        states = super().observe(timeout=timeout)
        return {name: state for name, state in states.items() if not name.startswith("ghost")}


class BlinkingProvider(FakeProvider):
    """Sees what lives only: a crash looks as if there never was a session."""

    def observe(self, *, timeout: float) -> Mapping[str, SessionState]:
        states = super().observe(timeout=timeout)
        return {name: state for name, state in states.items() if state.life == Alive()}


class SleepyProvider(FakeProvider):
    """Never wakes who watches."""

    def watch(
        self,
        wake: Callable[[], None],
        *,
        seen: SeenCallback | None = None,
        interval: float = 1.0,
    ) -> Watch:
        return Watch()


class TirelessProvider(FakeProvider):
    """Wakes on after the watch was closed."""

    def watch(
        self,
        wake: Callable[[], None],
        *,
        seen: SeenCallback | None = None,
        interval: float = 1.0,
    ) -> Watch:
        super().watch(wake)
        return Watch()


class ShufflingProvider(FakeProvider):
    """Lists in no order."""

    def list_running(self, prefix: str, *, timeout: float) -> list[str]:
        return super().list_running(prefix, timeout=timeout)[::-1]


class BoastfulProvider(FakeProvider):
    """Calls everything delivered."""

    def nudge(
        self, name: str, text: str, *, timeout: float, wait: bool = False, raw: bool = False
    ) -> Receipt:
        super().nudge(name, text, timeout=timeout)
        return Receipt(Delivery.SUBMITTED)


class PoliteProvider(FakeProvider):
    """Shows an empty screen for a session that is not there."""

    def peek(self, name: str, lines: int, *, timeout: float, colours: bool = False) -> str:
        try:
            return super().peek(name, lines, timeout=timeout)
        except SessionNotFound:
            return ""


class JealousProvider(FakeProvider):
    """Ends its sessions when it goes."""

    def close(self) -> None:
        for name in list(self.world.sessions):
            self.stop(name, grace=0, timeout=1)


class ComplainingProvider(FakeProvider):
    """Makes an error of stopping what is not there."""

    def stop(self, name: str, *, grace: float, timeout: float) -> None:
        self._known(name)
        super().stop(name, grace=grace, timeout=timeout)


# --- over real processes


class LeakyProvider(Provider):
    """Adds the environment of whoever starts the session."""

    def start(self, name: str, config: SessionConfig, *, timeout: float) -> None:
        env = {**os.environ, **config.env}
        super().start(name, replace(config, env=env), timeout=timeout)


class HastyProvider(Provider):
    """Creates the session and skips every step around it."""

    def start(self, name: str, config: SessionConfig, *, timeout: float) -> None:
        super().start(name, replace(config, hints=StartupHints()), timeout=timeout)


class ShallowProvider(Provider):
    """Kills the session's own process and leaves its children."""

    def stop(self, name: str, *, grace: float, timeout: float) -> None:
        state = self.observe(timeout=timeout).get(name)
        if state is not None and state.process is not None and state.life == Alive():
            os.kill(state.process.pid, signal.SIGKILL)


class BrutalProvider(Provider):
    """Never asks before it forces."""

    def stop(self, name: str, *, grace: float, timeout: float) -> None:
        super().stop(name, grace=0.0, timeout=timeout)


class SlowProvider(Provider):
    """Waits for the whole grace although everything has ended."""

    def stop(self, name: str, *, grace: float, timeout: float) -> None:
        super().stop(name, grace=grace, timeout=timeout)
        threading.Event().wait(min(grace, 5.5))


class MumblingProvider(Provider):
    """Changes what it is told to say."""

    def nudge(
        self, name: str, text: str, *, timeout: float, wait: bool = False, raw: bool = False
    ) -> Receipt:
        return super().nudge(name, text.upper(), timeout=timeout)


class InterleavingProvider(Provider):
    """Hands a message over line by line."""

    def nudge(
        self, name: str, text: str, *, timeout: float, wait: bool = False, raw: bool = False
    ) -> Receipt:
        for line in text.split("\n"):
            super().nudge(name, line, timeout=timeout)
        return Receipt(Delivery.SUBMITTED)


class CarelessProvider(Provider):
    """Copies wherever it is told to."""

    def copy_to(self, name: str, src: str, rel_dst: str, *, timeout: float) -> None:
        kept = self._find(name, timeout=timeout)
        if kept is not None and Path(src).exists():
            target = Path(kept.work_dir, rel_dst)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(src, target)


class CountlessProvider(Provider):
    """Shows one line more than asked for."""

    def peek(self, name: str, lines: int, *, timeout: float, colours: bool = False) -> str:
        return super().peek(name, lines + 1 if lines > 0 else lines, timeout=timeout)


class ApproximateProvider(Provider):
    """Finds a program by a part of its name."""

    def process_alive(self, name: str, names: Sequence[str], *, timeout: float) -> bool:
        if not names:
            return super().process_alive(name, names, timeout=timeout)
        return any("gcprobe".startswith(each) for each in names)


class RacingProvider(FakeProvider):
    """Looks whether the name is free, and takes it a moment later."""

    met: ClassVar[threading.Barrier] = threading.Barrier(2)

    def start(self, name: str, config: SessionConfig, *, timeout: float) -> None:
        if self.is_running(name, timeout=timeout):
            raise SessionExists(f"session {name} lives")
        try:
            self.met.wait(2)
        except threading.BrokenBarrierError:
            self.met.reset()
        with self.world.changed:
            self.world.sessions.pop(name, None)
        super().start(name, config, timeout=timeout)
