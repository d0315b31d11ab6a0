"""A dialog's terminal, looked at and touched with care.

Holds all that forbids a key: a person who is attached, the input box, a screen that does not show
the dialog any more. A key is pressed on what the last look showed, never on less.
"""

from __future__ import annotations

from collections.abc import Callable

from gascity.screens.classify import classify, has_ended
from gascity.screens.options import Options, read_options
from gascity.screens.rules import Region, Rule, Rules
from gascity.screens.screen import Screen
from gascity.session.terminal import Terminal

GLANCE = 0.05  # seconds between two looks while something is awaited
TWICE = 0.1  # seconds between two looks that count as two
DRAWN = 1.0  # a dialog is readable by then
_CALL = 5.0  # limit of one call to the terminal


class Over(Exception):
    """It goes no further. The message is the evidence."""


class Guarded:
    """One dialog at one terminal: looks and keys, with all that forbids a key."""

    def __init__(
        self,
        terminal: Terminal,
        rules: Rules,
        rule: Rule,
        deadline: float,
        pause: Callable[[float], None],
        now: Callable[[], float],
    ) -> None:
        self._terminal = terminal
        self._rules = rules
        self._rule = rule
        self._deadline = deadline
        self._pause = pause
        self.now = now
        self.presses = 0
        self.before = self.screen = terminal.look(timeout=self._limit())

    def look(self) -> Screen:
        """Return what it shows now, which is what the next key is pressed on."""
        self.screen = self._terminal.look(timeout=self._limit())
        return self.screen

    def wait(self, seconds: float) -> None:
        """Let time pass; raise when there is no such time left."""
        if self.now() + seconds > self._deadline:
            raise Over("the time was over before the dialog was answered")
        self._pause(seconds)

    def press(self, key: str) -> None:
        """Press one key on what the last look showed; raise when that forbids it."""
        self.allow()
        self.presses += 1
        self._terminal.press([key], timeout=self._limit())

    def allow(self) -> None:
        """Raise, with the reason, when the last look forbids to press a key."""
        if self.screen.attached:
            raise Over("a person is attached")
        if self.screen.scrolled:
            raise Over("the terminal is scrolled back, keys would not reach the program")
        reading = classify(self.screen, self._rules)
        if reading.has_box:
            raise Over("the input box is on the screen")
        if reading.rule != self._rule.name:
            shown = f'"{reading.evidence}"' if reading.evidence else "nothing that a rule knows"
            raise Over(f"the dialog is not on the screen; it shows {shown}")

    def holds(self) -> bool:
        """Whether the dialog may still be there; who scrolled back, hides it."""
        reading = classify(self.screen, self._rules)
        return self.screen.scrolled or (reading.rule == self._rule.name and not reading.has_box)

    def options(self) -> Options | None:
        """Return the options that the last look showed.

        A menu above all that proves the dialog is not the dialog's, but quoted.
        """
        options = read_options(self.screen)
        if options is None or self._rule.region is Region.TITLE:
            return options
        rows = self.screen.rows[: options.end]
        proven = any(pattern.search(row) for pattern in self._rule.match for row in rows)
        return options if proven else None

    def steady(self) -> Options | None:
        """Return the options once two looks in a row show the same; None when there are none."""
        self.allow()
        end = self.now() + DRAWN
        last = self.options()
        while True:
            self.wait(TWICE)
            rows = self.screen.rows
            self.look()
            options = self.options()
            if options == last and (options is not None or rows == self.screen.rows):
                self.allow()
                if options is not None or self.now() >= end:
                    return options
            elif self.now() >= end + DRAWN:
                raise Over("the screen does not come to rest")
            last = options

    def gone(self, within: float) -> bool:
        """Look until two looks in a row show something else; an empty screen is being drawn."""
        end = min(self.now() + within, self._deadline)
        while True:
            self.look()
            if not self.holds():
                self._pause(TWICE)
                self.look()
                if not self.holds() and (any(self.screen.rows) or has_ended(self.screen)):
                    return True
            if self.now() >= end:
                return not self.holds()
            self._pause(GLANCE)

    def _limit(self) -> float:
        return min(_CALL, max(0.1, self._deadline - self.now()))
