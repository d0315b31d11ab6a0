"""Getting a message into a session, and proof that it was taken.

Two kinds of programs give proof. One that reads whole lines has read them when its terminal holds
no more input. One that reads keys shows a prompt on the line of the cursor: when that line showed
the message and then is the bare prompt again, or when the program ended with new output below the
message, it was submitted. Anything less is `UNVERIFIED`.
"""

from __future__ import annotations

import contextlib
import os
import termios
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from gascity.session.provider import Delivery
from gascity.session.unread import unread
from gascity_tmux import keys
from gascity_tmux.panes import Pane
from gascity_tmux.view import View
from gascity_tmux.wire import command

SETTLE = 0.15  # seconds between a text and its Enter: a quick one is taken for part of the paste
TYPED = 1.0  # seconds for a text to show
PROOF = 1.0  # seconds for the proof to show
LONGEST_LINE = 4095  # bytes of one line that a terminal in line mode takes
QUIET = 3  # looks in a row that must find nothing unread
_GLANCE = 0.005


def deliver(view: View, pane: Pane, text: str, deadline: float) -> Delivery:
    """Paste a text into a pane, press Enter, and look for proof."""
    with _terminal(view, pane, deadline) as terminal:
        if terminal is not None and _reads_lines(terminal):
            return _to_lines(view, pane, text, terminal, deadline)
    return _to_keys(view, pane, text, deadline)


# --- a program that reads lines


def _to_lines(view: View, pane: Pane, text: str, terminal: int, deadline: float) -> Delivery:
    if any(len(line.encode()) > LONGEST_LINE for line in text.split("\n")):
        return Delivery.REFUSED  # the terminal would cut it off without a word
    enter = keys.keys_line(pane.id, ["Enter"])
    if not view.do(f"{_paste(pane, text)} ; {enter}" if text else enter, deadline):
        return Delivery.ABSENT
    until = min(deadline, time.monotonic() + PROOF)
    view.ask(command("display-message", "-p", "x"), deadline=deadline)  # tmux has written by then
    # A long text goes in piece by piece, and between two of them nothing is unread for a moment.
    empty = [False] * QUIET

    def is_read() -> bool:
        empty.append(unread(terminal) == 0)
        return all(empty[-QUIET:])

    return Delivery.SUBMITTED if _until(is_read, until) else Delivery.UNVERIFIED


@contextlib.contextmanager
def _terminal(view: View, pane: Pane, deadline: float) -> Iterator[int | None]:
    asked = command("display-message", "-p", "-t", pane.id, "#{pane_tty}")
    answered = view.ask(asked, deadline=deadline)
    path = answered[0].text if answered and answered[0].ok else ""
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_NOCTTY | os.O_NONBLOCK)
    except (OSError, ValueError):
        yield None
        return
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _reads_lines(terminal: int) -> bool:
    try:
        return bool(termios.tcgetattr(terminal)[3] & termios.ICANON)
    except termios.error:
        return False


# --- a program that reads keys


@dataclass(frozen=True, slots=True)
class _Look:
    rows: tuple[str, ...]
    cursor: int
    alive: bool

    @property
    def line(self) -> str:
        """The line the cursor is on."""
        return self.rows[self.cursor] if self.cursor < len(self.rows) else ""

    def below(self, row: int) -> list[str]:
        """Return what stands below a row."""
        return [text for text in self.rows[row + 1 :] if text]


def _to_keys(view: View, pane: Pane, text: str, deadline: float) -> Delivery:
    def look() -> _Look:
        return _look(view, pane, deadline)

    before = shown = look()
    if text:
        if not view.do(_paste(pane, text), deadline):
            return Delivery.ABSENT
        _until(lambda: look().line != before.line, min(deadline, time.monotonic() + TYPED))
        time.sleep(SETTLE)  # nothing tells when a program is done with a paste
        shown = look()
    if not view.do(keys.keys_line(pane.id, ["Enter"]), deadline):
        return Delivery.ABSENT
    if shown.line == before.line or not before.line:
        return Delivery.UNVERIFIED  # nothing to compare with

    def is_proven() -> bool:
        now = look()
        if now.alive:
            return now.line == before.line
        return shown.line in now.rows and now.below(now.rows.index(shown.line)) != shown.below(
            shown.cursor
        )

    proven = _until(is_proven, min(deadline, time.monotonic() + PROOF))
    return Delivery.SUBMITTED if proven else Delivery.UNVERIFIED


def _look(view: View, pane: Pane, deadline: float) -> _Look:
    place = command("display-message", "-p", "-t", pane.id, "#{cursor_y} #{pane_dead}")
    rows = command("capture-pane", "-p", "-t", pane.id)
    answered = view.ask(f"{place} ; {rows}", deadline=deadline)
    if len(answered) < 2 or not answered[1].ok:
        return _Look((), 0, alive=False)
    cursor, dead = answered[0].text.split()
    text = tuple(line.decode(errors="replace").rstrip() for line in answered[1].lines)
    return _Look(text, int(cursor), alive=dead == "0")


def _paste(pane: Pane, text: str) -> str:
    return keys.paste_line(pane.id, text, f"gc-{os.urandom(8).hex()}")


def _until(check: Callable[[], bool], until: float) -> bool:
    while not check():
        if time.monotonic() >= until:
            return False
        time.sleep(_GLANCE)  # nothing tells of a program that reads or writes
    return True
