"""Programs that must not be typed at, or that put something in the way of a message."""

from __future__ import annotations

import sys
import time

from tests.zoo.box import GLYPH, Program
from tests.zoo.kit import Text

PERMISSION = (
    "Run this command?",
    "  rm -rf build",
    "",
    "Do you want to proceed?",
    f"{GLYPH} 1. Yes",
    "  2. No",
    "",
    "Esc to cancel",
)
TRUST = (
    "Do you trust this folder?",
    "",
    f"{GLYPH} 1. No, exit",
    "  2. Yes, I trust it",
    "",
    "Enter to confirm",
)


class LateDialog(Program):
    """Draws its box first and a dialog over it a moment later, with a dangerous default."""

    def prepare(self) -> None:
        super().prepare()
        self.later(0.5, self._ask)

    def _ask(self) -> None:
        self.modal = TRUST


class PasteDialog(Program):
    """Puts a dialog up at the very moment at which a text comes in."""

    def insert(self, event: Text) -> None:
        super().insert(event)
        self.modal = TRUST


class Limit(Program):
    """Has used up its limit, and asks what to do about that."""

    def prepare(self) -> None:
        super().prepare()
        self.modal = (
            "You've hit your limit · resets 3pm",
            "",
            "What do you want to do?",
            f"{GLYPH} 1. Stop and wait",
            "  2. Buy more",
        )


class LimitedBox(Program):
    """Has used up its limit, and says so above its box."""

    opening = ("Welcome to the zoo", "", f"{GLYPH} hello", "", "You've hit your limit · resets 3pm")


class Login(Program):
    """Nobody is logged in."""

    def prepare(self) -> None:
        super().prepare()
        self.modal = ("Please log in", "", "Paste your code here:", "")


class Draft(Program):
    """Somebody's half-typed message stands in the box."""

    def prepare(self) -> None:
        super().prepare()
        self.draft = "half a thought of a per"


class Crash(Program):
    """Ends on Enter, without having taken the message."""

    def enter(self) -> None:
        if self.draft:
            sys.exit(3)


class Permission(Program):
    """Takes a message and asks for a permission at once."""

    def submit(self, text: str) -> None:
        super().submit(text)
        self.modal = PERMISSION


class SlowPermission(Permission):
    """Asks for a permission before it shows that: a second Enter would grant it."""

    lag = 0.3


class Stalling(Permission):
    """Stands still when it has shown a text, reads all keys after that, and then asks."""

    def insert(self, event: Text) -> None:
        super().insert(event)
        self.later(0.1, self._stall)

    def _stall(self) -> None:
        time.sleep(2.0)  # it is what this program does


class Doubtful(Program):
    """Takes every other message; the rest stays behind a dialog that Enter puts up."""

    def __init__(self) -> None:
        super().__init__()
        self._takes = True

    def enter(self) -> None:
        if not self.draft:
            return
        if self._takes:
            super().enter()
        else:
            self.modal = TRUST
        self._takes = not self._takes


class Menu(Program):
    """Opens a menu beneath its box on Enter, too long for the box to be known by; sends nothing."""

    def __init__(self) -> None:
        super().__init__()
        self._is_open = False

    def enter(self) -> None:
        self._is_open = bool(self.draft)

    def footer(self) -> list[str]:
        menu = [f"  + entry {number}" for number in range(9)]
        return menu if self._is_open else super().footer()


class Overtaken(Program):
    """A person types some words right before a text comes in."""

    def insert(self, event: Text) -> None:
        if event.pasted:
            self.draft += "wait, do not "
        super().insert(event)
