"""The backends that have hooks, by name."""

from __future__ import annotations

from gascity.hooks.claude import CLAUDE
from gascity.hooks.codex import CODEX
from gascity.hooks.gemini import GEMINI
from gascity.hooks.hooked import Hooked

_ALL = {each.name: each for each in (CLAUDE, CODEX, GEMINI)}
NAMES = tuple(sorted(_ALL))


def hooked(backend: str) -> Hooked | None:
    """Return what is known of a backend's hooks; None for one that has none."""
    return _ALL.get(backend)
