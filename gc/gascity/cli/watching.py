"""`gc status --watch`: the table, always as it is; for programs, a document a line.

Nothing is done between two moves but telling the time that passes, once a second.
"""

from __future__ import annotations

import json
import os
import select
import signal
import sys
import time
from typing import NoReturn

from gascity.cli.board import Style, drawn, terminal_size
from gascity.cli.canvas import Canvas, Killed, die_of, signals
from gascity.cli.city import Here
from gascity.cli.pushed import Document, Pushed
from gascity.errors import Exit, UsageError

SECOND = 1.0


def watch(here: Here) -> int:
    """Show the status until `q` is pressed; return the exit code.

    Raises UsageError where the output is no terminal.
    """
    if not sys.stdout.isatty() or os.environ.get("TERM") == "dumb":
        raise UsageError(
            "--watch needs a terminal that it can draw on",
            hint="`gc status --watch --json` prints a document for each change",
        )
    pushed = Pushed(here)
    canvas = Canvas(sys.stdout.fileno())
    try:
        with signals() as ear:
            try:
                canvas.take()
                _Watch(pushed, canvas, ear).run()
            finally:
                canvas.give_back()
    except Killed as end:
        die_of(end.number)
    finally:
        pushed.close()
    return Exit.OK


class _Watch:
    """The picture of one city on one terminal."""

    def __init__(self, pushed: Pushed, canvas: Canvas, ear: int) -> None:
        self._pushed = pushed
        self._canvas = canvas
        self._ear = ear
        self._keys = canvas.keys
        self._style = Style.of_this_terminal()

    def run(self) -> None:
        """Draw, wait, and draw again, until somebody wants no more."""
        while True:
            self._pushed.refresh()
            self._draw()
            heard = self._wait()
            if self._pushed.fileno() in heard:
                self._pushed.hear()
            if self._ear in heard:
                self._obey(os.read(self._ear, 4096))
            if self._keys in heard and self._is_the_end(os.read(self._keys, 4096)):
                return

    def _obey(self, signals: bytes) -> None:
        if signal.SIGTSTP in signals:
            self._canvas.pause()
        elif signal.SIGCONT in signals:  # whoever had the terminal meanwhile left it their way
            self._canvas.take()

    def _draw(self) -> None:
        columns, rows = terminal_size()
        pushed, now = self._pushed, time.time()
        board = drawn(pushed.document, columns, now, self._style, pushed.note)
        self._canvas.draw(board.within(rows), columns, rows)

    def _wait(self) -> set[int]:
        """Wait until something can be read, or the times shown are old; return what can be."""
        poll = select.poll()
        for descriptor in {self._ear, self._keys, self._pushed.fileno()} - {-1}:
            poll.register(descriptor, select.POLLIN)
        patience = min(self._pushed.patience(), SECOND)
        return {descriptor for descriptor, _ in poll.poll(patience * 1000 + 1)}

    def _is_the_end(self, pressed: bytes) -> bool:
        if not pressed:  # nobody can press anything any more
            self._keys = -1
        return b"q" in pressed.lower()


def watch_as_json(here: Here) -> NoReturn:
    """Print a document a line, now and at each change, until the reader leaves."""
    pushed = Pushed(here)
    last: Document = {}
    while True:
        pushed.refresh()
        if pushed.document != last:
            last = pushed.document
            sys.stdout.write(json.dumps(last) + "\n")
            sys.stdout.flush()
        poll = select.poll()
        poll.register(sys.stdout.fileno(), 0)  # only the end of whoever reads
        if pushed.fileno() >= 0:
            poll.register(pushed.fileno(), select.POLLIN)
        heard = {descriptor for descriptor, _ in poll.poll(pushed.patience() * 1000 + 1)}
        if sys.stdout.fileno() in heard:
            raise BrokenPipeError
        if heard:
            pushed.hear()
