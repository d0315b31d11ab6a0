"""An agent's pane as a terminal: what it shows, and hands on its keyboard."""

from __future__ import annotations

import contextlib
import fcntl
import struct
import termios
import time
from collections.abc import Callable, Sequence
from dataclasses import replace

from gascity.screens.screen import Screen
from gascity.session.unread import unread
from gascity_tmux import keys, lines, screen, styled
from gascity_tmux.connection import Gone, Lost
from gascity_tmux.panes import Pane, by_name
from gascity_tmux.view import View
from gascity_tmux.wire import Block, command

GONE = Screen((), alive=False)
_WINK = 0.05  # seconds for a program to see that its terminal changed its size
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


class TmuxTerminal:
    """The terminal of one pane; see the contract."""

    def __init__(self, view: View, pane: Pane) -> None:
        self._view = view
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
        answered = self._view.ask(*_questions(self._pane, "-e"), deadline=deadline, of=self._pane)
        seen = _screen(answered, styled.read_rows)
        if not seen.attached:
            return seen
        clients = command("list-clients", "-t", self._pane.session, "-F", "#{client_activity}")
        return _with_quiet(seen, self._view.ask(clients, deadline=deadline, of=self._pane))

    def press(self, keys_: Sequence[str], *, timeout: float) -> None:
        """Press keys."""
        self._do(keys.keys_line(self._pane.id, list(keys_)), timeout)

    def paste(self, text: str, *, timeout: float) -> None:
        """Paste a text."""
        self._do(keys.paste_line(self._pane.id, text, keys.new_buffer()), timeout)

    def wake(self, *, timeout: float) -> None:
        """Make the terminal a row smaller for a moment: some programs look only then.

        tmux is not told, so that nobody else sees it.
        """
        with (
            contextlib.suppress(OSError, Lost),
            lines.opened(self._view, self._pane, time.monotonic() + timeout) as terminal,
        ):
            if terminal is None:
                return
            size = fcntl.ioctl(terminal, termios.TIOCGWINSZ, bytes(8))
            height, *rest = struct.unpack("HHHH", size)
            smaller = struct.pack("HHHH", max(height - 1, 1), *rest)
            fcntl.ioctl(terminal, termios.TIOCSWINSZ, smaller)
            time.sleep(_WINK)  # it has to notice
            fcntl.ioctl(terminal, termios.TIOCSWINSZ, size)

    def _do(self, line: str, timeout: float) -> None:
        with contextlib.suppress(Lost):  # what is gone takes no keys
            self._view.do(line, time.monotonic() + timeout, of=self._pane)


Rows = tuple[str, ...]


def _questions(pane: Pane, *options: str) -> tuple[str, str]:
    return (
        command("display-message", "-p", "-t", pane.id, _FORMAT),
        command("capture-pane", "-p", *options, "-t", pane.id),
    )


def _screen(
    answered: Sequence[Block], read_rows: Callable[[Sequence[bytes]], tuple[Rows, Rows]]
) -> Screen:
    """Return the screen in an answer; one that is gone when the pane is."""
    if len(answered) < 2 or not (answered[0].ok and answered[1].ok):
        return GONE
    fields = answered[0].text.split("|", len(_FIELDS) - 1)
    if len(fields) < len(_FIELDS):
        return GONE
    row, column, dead, mode, attached, drawn, tty, title = fields
    rows, typed = read_rows(answered[1].lines)
    reads_lines, unread_ = _input(tty)
    return Screen(
        rows,
        title=title,
        cursor=(int(row or 0), int(column or 0)),
        alive=dead != "1",
        attached=int(attached or 0),
        scrolled=mode not in ("", "0"),
        drawn_at=float(drawn) if drawn else None,
        reads_lines=reads_lines,
        unread=unread_,
        typed=typed,
    )


def _input(path: str) -> tuple[bool, bool]:
    """Tell whether a terminal hands on whole lines, and whether it holds some input."""
    with lines.opened_path(path) as terminal:
        if terminal is None:
            return False, False
        return lines.reads_lines(terminal), bool(unread(terminal))


def look_at(
    view: View, names: Sequence[str], since: float | None, deadline: float
) -> dict[str, Screen]:
    """Return what several sessions show: one round trip to find them, one for their screens."""
    wanted = set(names)
    found = [
        pane
        for pane in by_name(view.list(deadline)).values()
        # tmux counts whole seconds.
        if pane.name in wanted and (since is None or pane.activity >= since - 1)
    ]
    asked = [question for pane in found for question in _questions(pane)]
    answered = view.ask(*asked, deadline=deadline, of=found[0]) if asked else ()
    return {
        pane.name: _screen(answered[2 * number : 2 * number + 2], _plain_rows)
        for number, pane in enumerate(found)
    }


def _plain_rows(lines: Sequence[bytes]) -> tuple[Rows, Rows]:
    return tuple(screen.trimmed(lines)), ()


def _with_quiet(seen: Screen, answered: Sequence[Block]) -> Screen:
    times = [
        float(line) for block in answered if block.ok for line in block.lines if line.isdigit()
    ]
    return replace(seen, quiet=max(time.time() - max(times, default=0.0), 0.0))
