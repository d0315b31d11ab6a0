"""Who is told what: the words of tmux, and ends that are certain."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from gascity.core.observed import SessionState

HUB = "hub"  # the word for what was told to the hub, which is told of every end


class Listeners:
    """Hands on what is said to those in `words` and `ends`; safe from any thread.

    While `is_asking` it is found out which program ended: what the hub is told then is not news,
    because `told` follows, with what ended or with nothing.
    """

    def __init__(self) -> None:
        self.words: set[Callable[[str], None]] = set()
        self.ends: set[Callable[[Mapping[str, SessionState], float], None]] = set()
        self.is_asking = False

    def hear(self, word: str) -> None:
        """Pass on a word."""
        if word == HUB and self.is_asking:
            return
        for listener in tuple(self.words):
            listener(word)

    def told(self, ended: Mapping[str, SessionState], at: float) -> None:
        """Pass on what is certain to have ended; nothing: something may have."""
        self.is_asking = False
        for listener in tuple(self.ends):
            listener(ended, at)
