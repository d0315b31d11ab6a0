"""Getting a message into a program that reads whole lines.

It gives its own proof: it has read them when its terminal holds no more input.
"""

from __future__ import annotations

import time

from gascity.errors import ProviderUnavailable
from gascity.session.receipts import Delivery, Receipt
from gascity.session.tmux import keys
from gascity.session.tmux.contract import P, Tmux
from gascity.session.tmux.problems import Gone
from gascity.session.tmux.terminal import tty_of
from gascity.session.tmux.wire import command

PROOF = 1.0  # seconds for the proof to show
LONGEST_LINE = 4095  # bytes of one line that a terminal in line mode takes
QUIET = 3  # looks in a row that must find nothing unread
_GLANCE = 0.005


def deliver_lines(tmux: Tmux[P], pane: P, text: str, deadline: float) -> Receipt | None:
    """Paste a text and press Enter; None, and nothing done, where no lines are read.

    Raises ProviderUnavailable only when nothing was typed.
    """
    tty = tty_of(tmux, pane, deadline)
    reads_lines, _ = tmux.input_of(tty, deadline)
    if not reads_lines:
        return None
    if any(len(line.encode()) > LONGEST_LINE for line in text.split("\n")):
        # The terminal would cut it off without a word.
        why = f"it reads lines, and none of more than {LONGEST_LINE} bytes"
        return Receipt(Delivery.REFUSED, why, text)
    try:
        return _type(tmux, pane, text, tty, deadline)
    except Gone:
        return Receipt(Delivery.ABSENT)
    except ProviderUnavailable as problem:  # it may have arrived
        return Receipt(Delivery.UNVERIFIED, problem.message, text)


def _type(tmux: Tmux[P], pane: P, text: str, tty: str, deadline: float) -> Receipt:
    enter = keys.keys_line(pane.id, ["Enter"])
    paste = keys.paste_line(pane.id, text, keys.new_buffer())
    if not tmux.do(f"{paste} ; {enter}" if text else enter, deadline, of=pane):
        return Receipt(Delivery.ABSENT)
    # When it answers this, it has written that.
    tmux.ask(command("display-message", "-p", "x"), deadline=deadline, of=pane)
    if (
        _is_read(tmux, tty, min(deadline, time.monotonic() + PROOF))
        # Looked at it was by its path, which may be another's since its program ended.
        and tty_of(tmux, pane, deadline) == tty
    ):
        return Receipt(Delivery.SUBMITTED, "its program read it", text, attempts=1)
    return Receipt(Delivery.UNVERIFIED, "its program did not read it in time", text, attempts=1)


def _is_read(tmux: Tmux[P], tty: str, until: float) -> bool:
    # A long text goes in piece by piece, and between two of them nothing is unread for a moment.
    empty = [False] * QUIET
    while True:
        _, unread = tmux.input_of(tty, until)
        empty.append(unread is False)
        if all(empty[-QUIET:]):
            return True
        if time.monotonic() >= until:
            return False
        time.sleep(_GLANCE)  # nothing tells of a program that reads
