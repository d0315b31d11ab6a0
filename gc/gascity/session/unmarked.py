"""Getting words into a program whose screen nobody described.

Such a program shows a prompt on the line of the cursor, if anything. When that line showed the
words and then is the bare prompt again, or when the program ended with new output below them, they
were submitted. Anything less is `UNVERIFIED`.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from gascity.errors import ProviderUnavailable
from gascity.screens.screen import Screen
from gascity.session.receipts import Delivery, Receipt
from gascity.session.terminal import Terminal

SETTLE = 0.15  # seconds between a text and its Enter: a quick one is taken for part of the paste
TYPED = 1.0  # seconds for a text to show
PROOF = 1.0  # seconds for the proof to show
_GLANCE = 0.005


def deliver_unmarked(terminal: Terminal, text: str, *, deadline: float) -> Receipt:
    """Paste a text, press Enter, and look for proof on the line of the cursor.

    Raises ProviderUnavailable only when nothing was typed.
    """
    before = terminal.look(timeout=_left(deadline))
    if not before.alive:
        return Receipt(Delivery.ABSENT, "its program has ended")
    try:
        return _type(terminal, text, before, deadline)
    except ProviderUnavailable as problem:  # it may have arrived
        return Receipt(Delivery.UNVERIFIED, problem.message, text)


def _type(terminal: Terminal, text: str, before: Screen, deadline: float) -> Receipt:
    def look() -> Screen:
        return terminal.look(timeout=_left(deadline))

    shown = before
    if text:
        terminal.paste(text, timeout=_left(deadline))
        typed_by = min(deadline, time.monotonic() + TYPED)
        _until(lambda: _line(look()) != _line(before), typed_by)
        time.sleep(SETTLE)  # nothing tells when a program is done with a paste
        shown = look()
    terminal.press(["Enter"], timeout=_left(deadline))
    if _line(shown) == _line(before) or not _line(before):
        return Receipt(Delivery.UNVERIFIED, "it shows no prompt that could prove it", text, 1)

    def is_proven() -> bool:
        now = look()
        if now.alive:
            return _line(now) == _line(before)
        line = _line(shown)
        return line in now.rows and _below(now, now.rows.index(line)) != _below(shown, _row(shown))

    if _until(is_proven, min(deadline, time.monotonic() + PROOF)):
        return Receipt(Delivery.SUBMITTED, "its prompt is empty again", text, 1)
    return Receipt(Delivery.UNVERIFIED, "its prompt did not become empty again", text, 1)


def _line(screen: Screen) -> str:
    row = _row(screen)
    return screen.rows[row] if row < len(screen.rows) else ""


def _row(screen: Screen) -> int:
    return screen.cursor[0] if screen.cursor is not None else len(screen.rows)


def _below(screen: Screen, row: int) -> list[str]:
    return [text for text in screen.rows[row + 1 :] if text]


def _left(deadline: float) -> float:
    return max(deadline - time.monotonic(), 0.1)


def _until(check: Callable[[], bool], until: float) -> bool:
    while not check():
        if time.monotonic() >= until:
            return False
        time.sleep(_GLANCE)  # nothing tells of a program that reads or writes
    return True
