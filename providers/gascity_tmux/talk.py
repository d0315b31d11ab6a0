"""Handing a message to a pane, in the way its program can prove.

One whose input box is described by rules is looked at (`session.delivery`), one that reads whole
lines is asked what it has read (`lines`), and of anything else the line of the cursor is all there
is to go by (`session.unmarked`).
"""

from __future__ import annotations

import time
from dataclasses import replace

from gascity.screens.rules import Rules
from gascity.session.delivery import NEEDED, Hold, deliver_to_box
from gascity.session.locks import SessionBusy
from gascity.session.provider import Delivery, Receipt
from gascity.session.text import message
from gascity.session.unmarked import deliver_unmarked
from gascity_tmux.lines import deliver_lines
from gascity_tmux.panes import Pane
from gascity_tmux.terminal import TmuxTerminal
from gascity_tmux.view import View


def deliver(
    view: View,
    pane: Pane,
    text: str,
    rules: Rules,
    *,
    hold: Hold,
    deadline: float,
    wait: bool,
    raw: bool,
) -> Receipt:
    """Deliver a text; `hold` is the session's lock."""
    begun = time.monotonic()
    terminal = TmuxTerminal(view, pane)
    receipt = None
    if not rules.backend:  # an agent of a known backend reads keys, or is not up yet
        receipt = _without_rules(view, pane, message(text), rules, hold, deadline)
    if receipt is None:
        receipt = deliver_to_box(
            terminal, rules, text, hold=hold, deadline=deadline, wait=wait, raw=raw
        )
    return replace(receipt, elapsed=time.monotonic() - begun)


def _without_rules(
    view: View, pane: Pane, words: str, rules: Rules, hold: Hold, deadline: float
) -> Receipt | None:
    """Deliver to what reads lines, or to the line of the cursor; None where a box is known."""
    try:
        with hold(deadline - time.monotonic()):
            if deadline - time.monotonic() < NEEDED / 2:
                return Receipt(Delivery.REFUSED, "there was no time left to prove it", words)
            receipt = deliver_lines(view, pane, words, deadline)
            if receipt is None and rules.box is None:
                receipt = deliver_unmarked(TmuxTerminal(view, pane), words, deadline=deadline)
            return receipt
    except SessionBusy as problem:
        return Receipt(Delivery.REFUSED, problem.message, words)
