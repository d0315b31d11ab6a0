"""The status on a terminal: symbols and colours, in exactly as many columns as there are.

Drawn without a library: loading one takes longer than the rest of the command. Columns go before
rows do: where the terminal is narrow, the process, the provider, the restarts and the time are left
out in this order, and the reason is cut. What a person should do is never cut.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from gascity.cli import overview
from gascity.cli.cells import cut, padded, squeezed, width, wrapped
from gascity.cli.overview import Agent
from gascity.cli.render import wants_colour

SYMBOLS = {
    "blocked": "✕x",
    "quarantined": "✕x",
    "waiting": "◆!",
    "auth": "◆!",
    "limited": "◔~",
    "backoff": "◔~",
    "lost": "??",
    "unknown": "??",
    "pending": "◔~",
    "starting": "◐%",
    "draining": "◐%",
    "ending": "◐%",
    "working": "●*",
    "ready": "○o",
    "idle": "○o",
    "stopped": "·-",
    "suspended": "·-",
}
"""What stands before each state: in a locale that can show it, and elsewhere."""

_CODES = {
    "blocked": "31",
    "quarantined": "31",
    "waiting": "33",
    "auth": "33",
    "limited": "33",
    "backoff": "33",
    "lost": "31",
    "unknown": "35",
    "pending": "33",
    "starting": "36",
    "draining": "36",
    "ending": "36",
    "working": "32",
    "ready": "32",
    "idle": "32",
    "stopped": "2",
    "suspended": "2",
}
GAP = "  "
STEADY = {"STATE": 13, "SINCE": 7}  # cells at least, so that columns stand still
SOME = 8  # cells of a reason beside a time, if it is worth anything
NARROW = 12  # cells to which a name may be squeezed
SPARED = (("PROVIDER", 50), ("PID", 50), ("RESTARTS", 16), ("SINCE", 11))
"""The columns that are left out where the reason has less than so many cells, in this order."""


@dataclass(frozen=True, slots=True)
class Style:
    """What the terminal can show."""

    colours: bool = True
    symbols: bool = True

    @property
    def dots(self) -> str:
        """What stands where a text was cut."""
        return "…" if self.symbols else "..."

    def paint(self, text: str, code: str) -> str:
        """Return the text in a colour, where there are any."""
        return f"\x1b[{code}m{text}\x1b[0m" if code and self.colours else text

    @classmethod
    def of_this_terminal(cls) -> Style:
        """Return what the terminal and the locale of this process can show."""
        return cls(colours=wants_colour(), symbols=_shows_symbols(os.environ, sys.stdout.encoding))


@dataclass(frozen=True, slots=True)
class Board:
    """Lines that fit: those above the agents, those of each agent, and those below."""

    head: list[str] = field(default_factory=list)
    agents: list[list[str]] = field(default_factory=list)
    foot: list[str] = field(default_factory=list)

    def lines(self) -> list[str]:
        """Return all of them."""
        return [*self.head, *(line for lines in self.agents for line in lines), *self.foot]

    def within(self, rows: int) -> list[str]:
        """Return at most `rows` lines; how many agents are left out is said in the last."""
        whole = self.lines()
        if len(whole) <= rows:
            return whole
        shown = self.head[: max(rows - 1, 0)]
        count = 0
        for lines in self.agents:
            if len(shown) + len(lines) >= rows:
                break
            shown, count = [*shown, *lines], count + 1
        left = len(self.agents) - count
        rest = f"... and {left} more" if left else "..."
        return [*shown, rest][:rows] if rows > 0 else []


def drawn(
    document: Mapping[str, object], columns: int, now: float, style: Style, note: str = ""
) -> Board:
    """Return the status in at most `columns` cells a line; `note` goes into the headline."""
    agents = overview.agents_of(document)
    told = overview.headline(document) + (f"; {note}" if note else "")
    head = list(wrapped(told, columns, GAP))
    head = [style.paint(line, "1") for line in head]
    for trouble in overview.troubles(document):
        head += [style.paint(line, "31") for line in wrapped(trouble, columns, GAP)]
    foot = [line for text in overview.strangers(document) for line in wrapped(text, columns, GAP)]
    if not agents:
        return Board(head, [], foot)
    table = _Table(agents, columns, now, style)
    return Board([*head, table.header()], [table.lines(agent) for agent in agents], foot)


class _Table:
    """The columns that fit, and the lines of each agent in them."""

    def __init__(self, agents: Sequence[Agent], columns: int, now: float, style: Style) -> None:
        self._columns, self._now, self._style = columns, now, style
        cells = [self._cells(agent) for agent in agents]
        rooms = {
            title: max(len(title), STEADY.get(title, 0), *(width(row[title]) for row in cells))
            for title in cells[0]
        }
        reason, name = rooms.pop("REASON"), rooms["AGENT"]
        rooms["AGENT"] = min(name, max(columns // 4, NARROW))
        for title, least in SPARED:
            if self._left(rooms) < least:
                del rooms[title]
        rooms["AGENT"] += max(min(self._left(rooms) - reason, name - rooms["AGENT"]), 0)
        self._rooms = rooms
        self._reason = max(self._left(rooms), 0)

    def _left(self, rooms: Mapping[str, int]) -> int:
        return self._columns - sum(room + len(GAP) for room in rooms.values())

    def header(self) -> str:
        """Return the line above the table."""
        titles = GAP.join(padded(title, room) for title, room in self._rooms.items())
        whole = f"{titles}{GAP}REASON"
        return self._style.paint(cut(whole, self._columns, self._style.dots), "1")

    def lines(self, agent: Agent) -> list[str]:
        """Return the row of an agent and, where a person is needed, what to do below it."""
        state, dots = str(agent["state"]), self._style.dots
        cells = self._cells(agent)
        parts = []
        for title, room in self._rooms.items():
            fitting = squeezed if title == "AGENT" else cut
            parts.append(padded(fitting(cells[title], room, dots), room))
        row = cut(GAP.join([*parts, self._why(agent, cells["REASON"])]), self._columns, dots)
        code = _CODES.get(state, "")
        room = min(self._rooms["STATE"], self._columns)
        row = self._style.paint(row[:room], code) + row[room:].rstrip()
        return [row, *self._next(agent)]

    def _why(self, agent: Agent, whole: str) -> str:
        """Return the reason in the room it has; a time to come is cut last."""
        tail = overview.until(agent, self._now)
        room = self._reason - len(tail) - 1
        if not tail or room < SOME or width(whole) <= self._reason:
            return cut(whole, self._reason, self._style.dots)
        return f"{cut(overview.one_line(agent['reason']), room, self._style.dots)} {tail}"

    def _next(self, agent: Agent) -> Iterator[str]:
        step = overview.next_step(agent)
        if step and agent["state"] in overview.NEEDS_YOU:
            arrow = "→" if self._style.symbols else "->"
            indent = " " * 4
            for line in wrapped(f"{arrow} {step}", self._columns - len(indent), GAP):
                yield indent + line

    def _cells(self, agent: Agent) -> dict[str, str]:
        """Return what there is to show, in the order of the columns."""
        state = overview.one_line(agent["state"])
        symbol = SYMBOLS.get(state, "??")[0 if self._style.symbols else 1]
        attached = agent.get("attached")
        marks = [f"@{attached}"] if attached else []
        marks += ["~"] if agent.get("drift") else []
        return {
            "STATE": f"{symbol} {state}",
            "AGENT": " ".join([overview.one_line(agent["name"]), *marks]),
            "SINCE": overview.since(agent, self._now),
            "RESTARTS": str(agent["restarts"]),
            "PID": overview.pid(agent),
            "PROVIDER": overview.one_line(agent["provider"]),
            "REASON": overview.reason(agent, self._now),
        }


def terminal_size() -> tuple[int, int]:
    """Return the columns and rows of the terminal; what is usual where it does not tell."""
    try:
        columns, rows = os.get_terminal_size(sys.stdout.fileno())
    except (OSError, ValueError):
        columns, rows = 0, 0
    told = os.environ.get("COLUMNS", "")
    return columns or (int(told) if told.isascii() and told.isdigit() else 0) or 80, rows or 24


def _shows_symbols(env: Mapping[str, str], encoding: str) -> bool:
    """Tell whether the locale can show more than ASCII.

    Python takes `C` for UTF-8 and says so to itself in LC_CTYPE: that is no promise of the
    terminal's.
    """
    charset, language = env.get("LC_CTYPE", ""), env.get("LANG", "")
    plain = ("", "C", "POSIX")
    made_up = charset in ("C.UTF-8", "C.utf8") and language in plain
    locale = env.get("LC_ALL") or ("C" if made_up else charset or language)
    if locale in plain:
        return False
    try:
        "".join(SYMBOLS.values()).encode(encoding)
    except (UnicodeEncodeError, LookupError):
        return False
    return True
