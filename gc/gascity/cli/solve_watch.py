"""`gc solve status --watch`: the table, always as it is; for programs, a document a line.

It has the columns that `gc solve status` has on the same terminal, and a line for each agent. Where
not all have room, those that still work stand first, and how many are left out is said.
"""

from __future__ import annotations

import json
import os
import re
import select
import signal
import sys
import time
from collections.abc import Callable, Sequence

from gascity.cli import solve_shown
from gascity.cli.board import Board, terminal_size
from gascity.cli.canvas import Canvas, Killed, die_of, signals
from gascity.cli.cells import cut
from gascity.cli.following import look_at_the_reader
from gascity.cli.render import COLOURS, fitting, plain, wants_colour
from gascity.errors import Exit, UsageError
from gascity.worktrees.standing import Standing

PACE = 1.0  # seconds between two looks: nothing tells when somebody commits
_CODES = {"red": "31", "green": "32", "yellow": "33", "magenta": "35", "cyan": "36", "dim": "2"}
Look = Callable[[], Sequence[Standing]]


def watch(look: Look, *, as_json: bool) -> int:
    """Go on showing what `look` returns until all of it is over, or somebody presses `q`.

    Raises UsageError where the output is no terminal.
    """
    if as_json:
        return _watch_as_json(look)
    if not sys.stdout.isatty() or os.environ.get("TERM") == "dumb":
        raise UsageError(
            "--watch needs a terminal that it can draw on",
            hint="`gc solve status --watch --json` prints a document for each change",
        )
    look()  # what cannot be shown is told before the terminal is taken
    canvas = Canvas(sys.stdout.fileno())
    try:
        with signals() as ear:
            try:
                canvas.take()
                last = _draw_until_over(look, canvas, ear)
            finally:
                canvas.give_back()
    except Killed as end:
        die_of(end.number)
    if last:
        solve_shown.show(last)
    return Exit.OK


def _draw_until_over(look: Look, canvas: Canvas, ear: int) -> Sequence[Standing]:
    keys = canvas.keys
    while True:
        shown = look()
        columns, rows = terminal_size()
        canvas.draw(_lines(shown, columns, rows), columns, rows)
        if all(one.solve.ended for one in shown):
            return shown
        poll = select.poll()
        for descriptor in {ear, keys} - {-1}:
            poll.register(descriptor, select.POLLIN)
        heard = {descriptor for descriptor, _ in poll.poll(PACE * 1000)}
        if ear in heard:
            _obey(canvas, os.read(ear, 4096))
        if keys in heard:
            pressed = os.read(keys, 4096)
            keys = keys if pressed else -1  # nobody can press anything any more
            if b"q" in pressed.lower():
                return shown


def _obey(canvas: Canvas, numbers: bytes) -> None:
    if signal.SIGTSTP in numbers:
        canvas.pause()
    elif signal.SIGCONT in numbers:
        canvas.take()


def _lines(shown: Sequence[Standing], columns: int, room: int) -> list[str]:
    """Return the table in at most `room` lines of at most `columns` cells."""
    titles, rows = solve_shown.COLUMNS, solve_shown.rows(shown, time.time())
    numbers = fitting(titles, rows, solve_shown.SPARE, columns)
    if len(rows) >= room:  # with the titles above
        is_over = [part.over for one in shown for part in one.solve.parts]
        rows = [rows[number] for number in sorted(range(len(rows)), key=is_over.__getitem__)]
    whole = plain([titles[n] for n in numbers], [[row[n] for n in numbers] for row in rows])
    head, *lines = [cut(line, columns, "...") for line in whole.splitlines()]
    if wants_colour() and solve_shown.STATE in numbers:
        before = numbers.index(solve_shown.STATE)
        states = [row[solve_shown.STATE] for row in rows]
        lines = [_coloured(*each, before) for each in zip(lines, states, strict=True)]
    return Board([head], [[line] for line in lines]).within(room)


def _coloured(line: str, state: str, before: int) -> str:
    """Return a row with the colour of its state, which stands behind so many cells."""
    code = _CODES.get(COLOURS.get(state, ""), "")
    at = re.match(rf"(?:\S+(?: \S+)* {{2,}}){{{before}}}(?={state}(?: |$))", line)
    if at is None or not code:
        return line
    return f"{at[0]}\x1b[{code}m{state}\x1b[0m{line[at.end() + len(state) :]}"


def _watch_as_json(look: Look) -> int:
    last: object = None
    while True:
        shown = look()
        documents = [solve_shown.document(one) for one in shown]
        known = [{**one, "agents": None} for one in documents], [one.solve for one in shown]
        if known != last:  # the seconds that pass are no news
            last = known
            sys.stdout.write(json.dumps({"solves": documents}) + "\n")
            sys.stdout.flush()
        if all(one.solve.ended for one in shown):
            return Exit.OK
        look_at_the_reader()
        time.sleep(PACE)  # see PACE
