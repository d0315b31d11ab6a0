"""The start sequence, the same for every provider.

Commands before, files, the session itself, commands after, readiness, the first nudge. `bring_up`
knows the order, the time limit and what is fatal; a `Target` knows how each step is done where
the session lives. A session that does not need any of it is created, and that is all.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from gascity import awake
from gascity.core.model import SessionConfig
from gascity.core.observed import NUDGED, READY, Exited, Life
from gascity.errors import ProviderError, SessionNotFound, StartFailed
from gascity.session.readiness import Stand
from gascity.session.receipts import Delivery, Receipt

LONGEST_WAIT = 60.0  # seconds for the prompt to appear
NUDGE_WAIT = 20.0
LAST_STEPS = 5.0  # seconds for looking at a session that is there, and noting how it is
LINES = 120  # of output, in which the prompt is looked for
_FIRST_PAUSE, _LONGEST_PAUSE = 0.02, 0.2


@dataclass(frozen=True, slots=True)
class Ran:
    """What became of a command: its status (None: killed when time was up) and its last output."""

    status: int | None
    output: str


class Target(Protocol):
    """Where one session is being brought up. Every call ends within its `timeout`."""

    def make_work_dir(self) -> None:
        """Make the work folder unless it is there."""

    def place(self, src: str, rel_dst: str, *, overwrite: bool) -> None:
        """Copy a file, or a folder's content, into the work folder."""

    def run(self, command: str, *, timeout: float) -> Ran:
        """Run a command in a shell, in the work folder, with the session's environment."""

    def run_script(self, path: str, *, timeout: float) -> Ran:
        """Run a script file in the same way."""

    def create(self, *, timeout: float) -> None:
        """Create the session. Raises SessionExists or StartFailed."""

    def life(self, *, timeout: float) -> Life:
        """Tell whether the session's program runs; one that is gone has Exited."""

    def peek(self, lines: int, *, timeout: float) -> str:
        """Return the last lines it showed."""

    def stand(self, *, timeout: float) -> Stand:
        """Look how far it is, and do what its screen asks for before it can be ready."""

    def nudge(self, text: str, *, wait: bool, timeout: float) -> Receipt:
        """Hand over a message, as soon as it can be taken if it may wait."""

    def set_meta(self, key: str, value: str, *, timeout: float) -> None:
        """Store a value with the session."""

    def discard(self, *, timeout: float) -> None:
        """End the session with all its processes and forget it."""


def bring_up(
    name: str,
    config: SessionConfig,
    target: Target,
    *,
    timeout: float,
    now: Callable[[], float] = awake.seconds,
    sleep: Callable[[float], None] = time.sleep,
) -> None:
    """Start a session and return when it is ready.

    Raises StartFailed, with the last output, when a command fails, a file cannot be placed, or
    the program ends before it is ready; nothing is left running then. A program that lives but
    never shows its prompt counts as started, with `GC_READY` = "timeout", also where that is seen
    a few seconds too late. Time in which the whole machine stood still is not counted.
    """
    _Start(name, config, target, now() + timeout, now, sleep).run()


class _Start:
    def __init__(
        self,
        name: str,
        config: SessionConfig,
        target: Target,
        deadline: float,
        now: Callable[[], float],
        sleep: Callable[[float], None],
    ) -> None:
        self._name = name
        self._config = config
        self._hints = config.hints
        self._target = target
        self._deadline = deadline
        self._now = now
        self._sleep = sleep

    def run(self) -> None:
        self._before()
        self._target.create(timeout=self._left())
        try:
            self._after()
        except SessionNotFound as problem:
            raise StartFailed(f"session {self._name} was stopped while it started") from problem
        except StartFailed:
            self._target.discard(timeout=self._at_least())
            raise

    def _before(self) -> None:
        try:
            self._target.make_work_dir()
        except OSError as problem:
            raise StartFailed(
                f"the work folder of {self._name} cannot be made: {problem}"
            ) from problem
        for command in self._hints.pre_start:
            self._check("pre_start", command, self._target.run(command, timeout=self._left()))
        if self._hints.overlay_dir:
            self._place("overlay_dir", self._hints.overlay_dir, "", overwrite=False)
        for entry in self._hints.copy_files:
            self._place("copy_files", entry.src, entry.rel_dst, overwrite=True)

    def _after(self) -> None:
        hints = self._hints
        for command in hints.session_setup:
            self._check("session_setup", command, self._target.run(command, timeout=self._left()))
        script = hints.session_setup_script
        if script:
            ran = self._target.run_script(script, timeout=self._left())
            self._check("session_setup_script", script, ran)
        ready = True
        if hints.ready_prompt_prefix or hints.ready_delay_ms:
            ready = self._await_readiness()
            self._target.set_meta(READY, "yes" if ready else "timeout", timeout=self._at_least())
        if hints.nudge:
            self._check_alive()
            self._greet(hints.nudge, wait=ready)
        if hints != type(hints)():
            self._check_alive()

    def _await_readiness(self) -> bool:
        """Wait until it is ready, or for the delay where that cannot be told; False when not."""
        began = self._now()
        longest = min(LONGEST_WAIT, self._left() * 0.9)  # the steps that follow need time too
        pause = _FIRST_PAUSE
        while True:
            self._check_alive()
            stand = self._target.stand(timeout=self._at_least())
            if stand in (Stand.READY, Stand.STUCK):
                return stand is Stand.READY
            blind = stand is Stand.UNKNOWN
            delay = self._hints.ready_delay_ms / 1000
            until = began + (min(delay, longest) if blind else longest)
            if self._now() >= until:
                return blind
            self._sleep(max(0.0, min(pause, until - self._now())))
            pause = min(pause * 1.3, _LONGEST_PAUSE)

    def _greet(self, text: str, *, wait: bool) -> None:
        """Deliver the first message; what became of it is kept, for who can deliver it later."""
        limit = min(self._left() * 0.9, NUDGE_WAIT)
        receipt = self._target.nudge(text, wait=wait, timeout=limit)
        if receipt.delivery is not Delivery.SUBMITTED:
            said = f"{receipt.delivery}: {receipt.evidence}"
            self._target.set_meta(NUDGED, said, timeout=self._at_least())

    def _check_alive(self) -> None:
        life = self._target.life(timeout=self._at_least())
        if isinstance(life, Exited):
            output = self._target.peek(LINES, timeout=self._at_least())
            raise StartFailed(f"session {self._name} {life} before it was ready", output=output)

    def _check(self, step: str, command: str, ran: Ran) -> None:
        if ran.status == 0:
            return
        how = "was ended when time was up" if ran.status is None else f"failed ({ran.status})"
        last = f": {ran.output.splitlines()[-1]}" if ran.output else ""
        raise StartFailed(
            f"{step} of {self._name} {how}: `{_short(command)}`{last}", output=ran.output
        )

    def _place(self, step: str, src: str, rel_dst: str, *, overwrite: bool) -> None:
        try:
            self._target.place(src, rel_dst, overwrite=overwrite)
        except (OSError, ProviderError) as problem:
            raise StartFailed(f"{step} of {self._name}: {problem}") from problem

    def _at_least(self) -> float:
        """Return what is left for a session that is there: too late is no reason to lose it."""
        return max(self._left(), LAST_STEPS)

    def _left(self) -> float:
        return max(self._deadline - self._now(), 0.001)


def _short(command: str) -> str:
    line = " ".join(command.split())
    return line if len(line) <= 60 else f"{line[:57]}..."
