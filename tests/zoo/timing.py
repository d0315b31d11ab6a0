"""Programs that take input at their own time: late, in bursts, now and then, or the second time."""

from __future__ import annotations

import termios
import time

from tests.zoo.box import Program
from tests.zoo.kit import Event, Key, Text

BURST = 0.12  # seconds after a burst in which Enter is a newline
LATE = 1.5  # seconds from the box to the first read


class TypedBurst(Program):
    """Knows no paste: what comes in a burst is taken for one, and Enter right after it as well."""

    bracketed = False

    def __init__(self) -> None:
        super().__init__()
        self._until = 0.0

    def handle(self, events: list[Event]) -> None:
        typed = sum(len(event.text) for event in events if isinstance(event, Text))
        # A program that was not given the processor must not take old input for new.
        if typed > 1 or (self._until and self.keyboard.pending()):
            self._until = time.monotonic() + BURST
        for number, event in enumerate(events):
            is_burst = time.monotonic() < self._until or number + 1 < len(events)
            newline = event is Key.ENTER and is_burst
            super().handle([Key.NEWLINE if newline else event])


class PasteBurst(Program):
    """Takes an Enter that follows a paste within a moment for the paste's last newline."""

    def __init__(self) -> None:
        super().__init__()
        self._until = 0.0

    def insert(self, event: Text) -> None:
        super().insert(event)
        if event.pasted:
            self._until = time.monotonic() + BURST

    def enter(self) -> None:
        if time.monotonic() < self._until:
            self.draft += "\n"
        else:
            super().enter()


class LateForgetful(Program):
    """Draws its box, takes the terminal over later, and throws away what came before.

    Until then the terminal shows what is typed all by itself: as if it stood in the box.
    """

    def __init__(self) -> None:
        super().__init__()
        self._ready = False

    def prepare(self) -> None:
        self.later(LATE, self._begin)

    def _begin(self) -> None:
        self._ready = True
        self.take_keys()

    def is_listening(self) -> bool:
        return self._ready


class LateKeeping(LateForgetful):
    """Draws its box and reads later, also what came before."""

    def prepare(self) -> None:
        self.take_keys()
        super().prepare()

    def _begin(self) -> None:
        self._ready = True


class LateFlushing(LateKeeping):
    """Draws its box, reads later, and only then throws away what came before."""

    def _begin(self) -> None:
        super()._begin()
        termios.tcflush(self.keyboard.descriptor, termios.TCIFLUSH)


class Sleeper(Program):
    """Reads nothing until its terminal changes its size; after each message again."""

    def __init__(self) -> None:
        super().__init__()
        self._awake = False

    def on_resize(self) -> None:
        self._awake = True

    def is_listening(self) -> bool:
        return self._awake

    def submit(self, text: str) -> None:
        super().submit(text)
        self._awake = False


class Deaf(Program):
    """Loses whatever is typed while it works."""

    work = 0.6

    def handle(self, events: list[Event]) -> None:
        if not self.working:
            super().handle(events)


class FirstEnter(Program):
    """Swallows the first Enter of every message."""

    def __init__(self) -> None:
        super().__init__()
        self._swallowed = False

    def enter(self) -> None:
        if self._swallowed:
            super().enter()
        self._swallowed = not self._swallowed and bool(self.draft)


class Flickering(FirstEnter):
    """Shows an empty box for a moment when it swallows an Enter."""

    def __init__(self) -> None:
        super().__init__()
        self._hidden = False

    def enter(self) -> None:
        super().enter()
        if self.draft:
            self._hidden = True
            self.later(0.06, self._show)

    def _show(self) -> None:
        self._hidden = False

    def drawn_draft(self) -> str:
        return "" if self._hidden else super().drawn_draft()


class Slow(Program):
    """Acts at once and shows it later."""

    lag = 0.3
