"""A session's terminal: what it shows, and hands on its keyboard.

What delivery and dialogs are built on, so that they are the same wherever a terminal lives.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from gascity.screens.screen import Screen


class Terminal(Protocol):
    """One session's terminal. Every call ends within `timeout`, or raises ProviderUnavailable.

    A session that is gone shows a screen that is not `alive`; keys for it are lost.
    """

    def look(self, *, timeout: float) -> Screen:
        """Return what it shows at this moment."""

    def press(self, keys: Sequence[str], *, timeout: float) -> None:
        """Press named keys (`Enter`, `Down`) or single characters, in order."""

    def paste(self, text: str, *, timeout: float) -> None:
        """Paste a text, marked as a paste where the program asked for that."""

    def wake(self, *, timeout: float) -> None:
        """Have the program look at its terminal again, as after a change of its size."""
