"""Getting a message into a program that reads whole lines.

It gives its own proof: it has read them when its terminal holds no more input.
"""

from __future__ import annotations

import contextlib
import os
import termios
import time
from collections.abc import Iterator

from gascity.errors import ProviderUnavailable
from gascity.session.provider import Delivery, Receipt
from gascity.session.unread import unread
from gascity_tmux import keys
from gascity_tmux.connection import Gone
from gascity_tmux.panes import Pane
from gascity_tmux.view import View
from gascity_tmux.wire import command

PROOF = 1.0  # seconds for the proof to show
LONGEST_LINE = 4095  # bytes of one line that a terminal in line mode takes
QUIET = 3  # looks in a row that must find nothing unread
_GLANCE = 0.005


def deliver_lines(view: View, pane: Pane, text: str, deadline: float) -> Receipt | None:
    """Paste a text and press Enter; None, and nothing done, where no lines are read.

    Raises ProviderUnavailable only when nothing was typed.
    """
    with opened(view, pane, deadline) as terminal:
        if terminal is None or not reads_lines(terminal):
            return None
        if any(len(line.encode()) > LONGEST_LINE for line in text.split("\n")):
            # The terminal would cut it off without a word.
            why = f"it reads lines, and none of more than {LONGEST_LINE} bytes"
            return Receipt(Delivery.REFUSED, why, text)
        try:
            return _type(view, pane, text, terminal, deadline)
        except Gone:
            return Receipt(Delivery.ABSENT)
        except ProviderUnavailable as problem:  # it may have arrived
            return Receipt(Delivery.UNVERIFIED, problem.message, text)


def _type(view: View, pane: Pane, text: str, terminal: int, deadline: float) -> Receipt:
    enter = keys.keys_line(pane.id, ["Enter"])
    paste = keys.paste_line(pane.id, text, keys.new_buffer())
    if not view.do(f"{paste} ; {enter}" if text else enter, deadline, of=pane):
        return Receipt(Delivery.ABSENT)
    view.ask(
        command("display-message", "-p", "x"), deadline=deadline, of=pane
    )  # tmux wrote by then
    if _is_read(terminal, min(deadline, time.monotonic() + PROOF)):
        return Receipt(Delivery.SUBMITTED, "its program read it", text, attempts=1)
    return Receipt(Delivery.UNVERIFIED, "its program did not read it in time", text, attempts=1)


def _is_read(terminal: int, until: float) -> bool:
    # A long text goes in piece by piece, and between two of them nothing is unread for a moment.
    empty = [False] * QUIET
    while True:
        empty.append(unread(terminal) == 0)
        if all(empty[-QUIET:]):
            return True
        if time.monotonic() >= until:
            return False
        time.sleep(_GLANCE)  # nothing tells of a program that reads


@contextlib.contextmanager
def opened(view: View, pane: Pane, deadline: float) -> Iterator[int | None]:
    """Open the terminal of a pane, beside its program; None when that cannot be."""
    asked = command("display-message", "-p", "-t", pane.id, "#{pane_tty}")
    answered = view.ask(asked, deadline=deadline, of=pane)
    with opened_path(answered[0].text if answered and answered[0].ok else "") as terminal:
        yield terminal


@contextlib.contextmanager
def opened_path(path: str) -> Iterator[int | None]:
    """Open a terminal whose place is known; None when that cannot be."""
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_NOCTTY | os.O_NONBLOCK)
    except (OSError, ValueError):
        yield None
        return
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def reads_lines(terminal: int) -> bool:
    """Tell whether a terminal hands on whole lines, and shows what is typed by itself."""
    try:
        return bool(termios.tcgetattr(terminal)[3] & termios.ICANON)
    except termios.error:
        return False
