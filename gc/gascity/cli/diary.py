"""Events one under another, as a person reads them: names aligned, a heading where a day begins.

A line in a pipe is read alone, by `grep` perhaps: there each has its date, and no headings come
between. Nothing is folded or left out.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date, datetime

from gascity.cli.cells import width
from gascity.cli.telling import told
from gascity.config.problems import visible

WIDEST = 24  # cells that names are aligned to; a longer one moves its own line alone


class Diary:
    """The lines of one reading. `today` needs no heading: its reader knows the day."""

    def __init__(self, *, headings: bool, today: date | None = None) -> None:
        self._headings = headings
        self._day = today
        self._room = 0

    def expect(self, names: Iterable[str]) -> None:
        """Leave room for these names in all lines to come."""
        rooms = [width(visible(name)) for name in names]
        self._room = max([self._room, *(room for room in rooms if room <= WIDEST)])

    def entry(self, at: datetime, kind: str, agent: str, message: str, session: str = "") -> str:
        """Return the line of an event, or two where a day begins; with their ends."""
        self.expect([agent])
        moment = at.strftime("%H:%M:%S" if self._headings else "%Y-%m-%d %H:%M:%S")
        line = told(moment, kind, agent, message, session=session, room=self._room)
        if not self._headings or at.date() == self._day:
            return f"{line}\n"
        self._day = at.date()
        return f"{at.strftime('%A, %Y-%m-%d')}\n{line}\n"
