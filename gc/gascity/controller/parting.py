"""What sessions show before they are ended: the page is cleared with them."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Mapping, Sequence

from gascity.core.concealing import conceal_rows
from gascity.errors import GascityError
from gascity.screens.screen import Screen
from gascity.session.provider import SessionProvider

KEPT_LINES = 200
PATIENCE = 2.0  # seconds for a screen: somebody waits for the end that comes after it


def last_words(provider: SessionProvider, names: Sequence[str]) -> dict[str, str]:
    """Return what several sessions show, as far as that is to be had soon."""
    until = time.monotonic() + PATIENCE
    shown: Mapping[str, Screen] = {}
    with contextlib.suppress(GascityError):
        shown = provider.screens(names, timeout=PATIENCE)
    words = {name: "\n".join(screen.rows) for name, screen in shown.items()}
    for name in names:
        if name not in words and time.monotonic() < until:
            with contextlib.suppress(GascityError):
                words[name] = provider.peek(name, KEPT_LINES, timeout=PATIENCE)
    return words


def harmless(text: str, secrets: Sequence[str]) -> str:
    """Return a last screen as it is kept: without secrets, and without blank lines at its end."""
    return "\n".join(conceal_rows(text.rstrip().split("\n"), secrets)) + "\n"
