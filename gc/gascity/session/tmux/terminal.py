"""An agent's pane as a terminal: what it shows, and hands on its keyboard."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Generic

from gascity.screens.screen import Screen
from gascity.session.tmux import keys, screen, styled
from gascity.session.tmux.contract import P, Tmux
from gascity.session.tmux.problems import Gone, Lost
from gascity.session.tmux.wire import Block, command

GONE = Screen((), alive=False)
_FIELDS = (
    "cursor_y",
    "cursor_x",
    "pane_dead",
    "pane_in_mode",
    "session_attached",
    "window_activity",
    "pane_tty",
    "pane_title",  # the last, because it may hold anything
)
_FORMAT = "|".join(f"#{{{field}}}" for field in _FIELDS)


class TmuxTerminal(Generic[P]):
    """The terminal of one pane; see the contract."""

    def __init__(self, tmux: Tmux[P], pane: P) -> None:
        self._tmux = tmux
        self._pane = pane

    def look(self, *, timeout: float) -> Screen:
        """Return what the pane shows, and how long nobody who is attached has typed."""
        deadline = time.monotonic() + timeout
        while True:
            try:
                return self._look(deadline)
            except Gone:
                return GONE
            except Lost:  # with a connection that others use too: that tells nothing of the pane
                if time.monotonic() >= deadline:
                    raise

    def _look(self, deadline: float) -> Screen:
        asked = _questions(self._pane.id, "-e")
        answered = self._tmux.ask(*asked, deadline=deadline, of=self._pane)
        seen = _screen(self._tmux, answered, styled.read_rows, deadline)
        if not seen.attached:
            return seen
        clients = command("list-clients", "-t", self._pane.session, "-F", "#{client_activity}")
        return _with_quiet(seen, self._tmux.ask(clients, deadline=deadline, of=self._pane))

    def press(self, keys_: Sequence[str], *, timeout: float) -> None:
        """Press keys."""
        self._do(keys.keys_line(self._pane.id, list(keys_)), timeout)

    def paste(self, text: str, *, timeout: float) -> None:
        """Paste a text."""
        self._do(keys.paste_line(self._pane.id, text, keys.new_buffer()), timeout)

    def wake(self, *, timeout: float) -> None:
        """Make the terminal a row smaller for a moment: some programs look only then."""
        deadline = time.monotonic() + timeout
        with contextlib.suppress(Lost):
            self._tmux.wink(tty_of(self._tmux, self._pane, deadline), deadline)

    def _do(self, line: str, timeout: float) -> None:
        with contextlib.suppress(Lost):  # what is gone takes no keys
            self._tmux.do(line, time.monotonic() + timeout, of=self._pane)


def look_at(tmux: Tmux[P], panes: Sequence[P], deadline: float) -> dict[str, Screen]:
    """Return what several panes of one server show, by the names of their sessions."""
    asked = [question for pane in panes for question in _questions(pane.id)]
    answered = tmux.ask(*asked, deadline=deadline, of=panes[0]) if asked else ()
    return {
        pane.name: _screen(tmux, answered[2 * number : 2 * number + 2], _plain_rows, deadline)
        for number, pane in enumerate(panes)
    }


def tty_of(tmux: Tmux[P], pane: P, deadline: float) -> str:
    """Return the path of a pane's terminal; empty when it is closed.

    The path of a closed one may be that of another by now.
    """
    asked = command("display-message", "-p", "-t", pane.id, "#{?pane_dead,,#{pane_tty}}")
    answered = tmux.ask(asked, deadline=deadline, of=pane)
    return answered[0].text if answered and answered[0].ok else ""


Rows = tuple[str, ...]


def _questions(pane: str, *options: str) -> tuple[str, str]:
    return (
        command("display-message", "-p", "-t", pane, _FORMAT),
        command("capture-pane", "-p", *options, "-t", pane),
    )


def _screen(
    tmux: Tmux[P],
    answered: Sequence[Block],
    read_rows: Callable[[Sequence[bytes]], tuple[Rows, Rows]],
    deadline: float,
) -> Screen:
    """Return the screen in an answer; one that is gone when the pane is."""
    if len(answered) < 2 or not (answered[0].ok and answered[1].ok):
        return GONE
    fields = answered[0].text.split("|", len(_FIELDS) - 1)
    if len(fields) < len(_FIELDS):
        return GONE
    row, column, dead, mode, attached, drawn, tty, title = fields
    rows, typed = read_rows(answered[1].lines)
    reads_lines, unread = tmux.input_of(tty, deadline) if dead != "1" else (False, None)
    return Screen(
        rows,
        title=title,
        cursor=(int(row or 0), int(column or 0)),
        alive=dead != "1",
        attached=int(attached or 0),
        scrolled=mode not in ("", "0"),
        drawn_at=float(drawn) if drawn else None,
        reads_lines=reads_lines,
        unread=bool(unread),
        typed=typed,
    )


def _plain_rows(lines: Sequence[bytes]) -> tuple[Rows, Rows]:
    return tuple(screen.trimmed(lines)), ()


def _with_quiet(seen: Screen, answered: Sequence[Block]) -> Screen:
    times = [
        float(line) for block in answered if block.ok for line in block.lines if line.isdigit()
    ]
    return replace(seen, quiet=max(time.time() - max(times, default=0.0), 0.0))
