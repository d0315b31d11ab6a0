"""Handing a message to a session, in the way its program can prove.

One whose input box is described by rules is looked at (`session.delivery`), one that reads whole
lines is asked what it has read (`lines`), and of anything else the line of the cursor is all there
is to go by (`session.unmarked`).
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Generic

from gascity.core.observed import BACKEND, PROMPT, STARTING
from gascity.screens.rules import Rules
from gascity.session.delivery import AGAIN, NEEDED, QUIET, Hold, deliver_to_box
from gascity.session.locks import SessionBusy, session_lock
from gascity.session.provider import CityContext
from gascity.session.receipts import Delivery, Receipt
from gascity.session.text import message
from gascity.session.tmux.contract import P, Tmux
from gascity.session.tmux.lines import deliver_lines
from gascity.session.tmux.problems import Lost
from gascity.session.tmux.terminal import TmuxTerminal
from gascity.session.unmarked import deliver_unmarked

TYPING = "somebody is typing there"


class Talker(Generic[P]):
    """Delivers messages to the sessions of one server."""

    def __init__(self, context: CityContext, tmux: Tmux[P]) -> None:
        self.context = context
        self._tmux = tmux

    def nudge(
        self,
        name: str,
        text: str,
        *,
        timeout: float,
        wait: bool,
        raw: bool = False,
        inside: bool = False,
    ) -> Receipt:
        """Deliver a text. `inside` says that the session's own start asks for it.

        Nobody else types at a session that is starting: a dialog may still come up in it.
        """
        begun = time.monotonic()
        deadline = begun + timeout
        while True:
            pane = self._tmux.find(name, deadline)
            if pane is None or not pane.alive:
                return Receipt(Delivery.ABSENT)
            try:
                stored = self._tmux.stored(pane, deadline)
            except Lost:  # nothing was typed yet: it can be asked again
                if time.monotonic() >= deadline:
                    raise
                continue
            if inside or STARTING not in stored:
                break
            if not wait or time.monotonic() + AGAIN + NEEDED >= deadline:
                return Receipt(Delivery.REFUSED, "it is still starting", message(text))
            time.sleep(AGAIN)  # nothing tells when it is over
        receipt = self._deliver(pane, stored, text, deadline, wait=wait, raw=raw)
        return replace(receipt, elapsed=time.monotonic() - begun)

    def _deliver(
        self,
        pane: P,
        stored: Mapping[str, str],
        text: str,
        deadline: float,
        *,
        wait: bool,
        raw: bool,
    ) -> Receipt:
        rules = self.context.screens.of(stored.get(BACKEND, ""), stored.get(PROMPT, ""))
        hold = partial(session_lock, self.context.state_dir, pane.name)
        receipt = None
        if not rules.backend:  # an agent of a known backend reads keys, or is not up yet
            receipt = self._without_rules(pane, message(text), rules, hold, deadline)
            while wait and _is_typing(receipt) and time.monotonic() + AGAIN + NEEDED < deadline:
                time.sleep(AGAIN)  # nothing tells when somebody is done
                receipt = self._without_rules(pane, message(text), rules, hold, deadline)
        return receipt or deliver_to_box(
            TmuxTerminal(self._tmux, pane),
            rules,
            text,
            hold=hold,
            deadline=deadline,
            wait=wait,
            raw=raw,
        )

    def _without_rules(
        self, pane: P, words: str, rules: Rules, hold: Hold, deadline: float
    ) -> Receipt | None:
        """Deliver to what reads lines, or to the line of the cursor; None where a box is known."""
        try:
            with hold(deadline - time.monotonic()):
                if deadline - time.monotonic() < NEEDED / 2:
                    return Receipt(Delivery.REFUSED, "there was no time left to prove it", words)
                terminal = TmuxTerminal(self._tmux, pane)
                screen = terminal.look(timeout=deadline - time.monotonic())
                if screen.attached and screen.quiet < QUIET:
                    return Receipt(Delivery.REFUSED, TYPING, words)
                receipt = deliver_lines(self._tmux, pane, words, deadline)
                if receipt is None and rules.box is None:
                    receipt = deliver_unmarked(terminal, words, deadline=deadline)
                return receipt
        except SessionBusy as problem:
            return Receipt(Delivery.REFUSED, problem.message, words)


def _is_typing(receipt: Receipt | None) -> bool:
    return receipt is not None and receipt.evidence == TYPING
