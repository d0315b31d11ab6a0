"""Text for people: tables with rich on a terminal, plain columns everywhere else.

rich costs as much time to import as the rest of a command, so it is only loaded where its output
can be seen.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from gascity.cli.cells import padded, width

COLOURS = {
    "ready": "green",
    "working": "green",
    "idle": "green",
    "starting": "cyan",
    "draining": "cyan",
    "waiting": "yellow",
    "backoff": "yellow",
    "limited": "yellow",
    "auth": "yellow",
    "blocked": "red",
    "quarantined": "red",
    "lost": "red",
    "ending": "cyan",
    "unknown": "magenta",
    "critical": "red",
    "warning": "yellow",
    "info": "dim",
    "pending": "yellow",
    "sending": "cyan",
    "submitted": "green",
    "running": "green",
    "completed": "dim",
    "failed": "red",
    "unverified": "red",
    "expired": "red",
    "cancelled": "dim",
    "suspended": "dim",
    "stopped": "dim",
}


LEAST = 16  # cells for a last column that is not whole


def table(
    columns: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    state: int = -1,
    spare: Sequence[str] = (),
) -> None:
    """Print a table; the column numbered `state` is coloured by its word.

    With columns to spare, only the last is broken into lines, so that what stands in the first can
    be copied; where a terminal is too narrow for that, they are left out, in this order.
    """
    if not _on_a_terminal():
        sys.stdout.write(plain(columns, rows))
        return
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console()
    numbers = fitting(columns, rows, spare, console.width) if spare else range(len(columns))
    shown = Table(box=None, pad_edge=False, header_style="bold")
    for number in numbers:
        is_whole = bool(spare) and number < len(columns) - 1 and len(numbers) > 1
        shown.add_column(columns[number], overflow="fold", no_wrap=is_whole)
    for row in rows:
        shown.add_row(
            *(
                Text(row[number], style=COLOURS.get(row[number], "") if number == state else "")
                for number in numbers
            )
        )
    console.print(shown)


def fitting(
    columns: Sequence[str], rows: Sequence[Sequence[str]], spare: Sequence[str], room: int
) -> list[int]:
    """Return the numbers of the columns that fit: all, or without some, the first at the least."""
    widths = [
        max(width(cell) for cell in (columns[number], *(row[number] for row in rows)))
        for number in range(len(columns))
    ]
    last = len(columns) - 1
    numbers = list(range(len(columns)))
    for name in (*spare, columns[last], *columns[1:]):
        needed = [min(widths[n], LEAST) if n == last else widths[n] for n in numbers]
        if sum(needed) + 2 * (len(needed) - 1) <= room:
            break
        if columns.index(name) in numbers:
            numbers.remove(columns.index(name))
    return numbers


def plain(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return the table as aligned columns, nothing after the last cell."""
    lines = [list(columns), *([_one_line(cell) for cell in row] for row in rows)]
    rooms = [max(width(line[number]) for line in lines) for number in range(len(columns))]
    return "".join(
        "  ".join(padded(cell, room) for cell, room in zip(line, rooms, strict=True)).rstrip()
        + "\n"
        for line in lines
    )


def ago(seconds: float) -> str:
    """Return a duration in at most two units: `3s`, `5m`, `2h 5m`, `3d 4h`."""
    whole = max(0, round(seconds))
    if whole < 60:
        return f"{whole}s"
    minutes, hours, days = whole // 60, whole // 3600, whole // 86400
    if hours == 0:
        return f"{minutes}m"
    if days == 0:
        return f"{hours}h {minutes % 60}m"
    return f"{days}d {hours % 24}h"


def colour(text: str, code: str) -> str:
    """Return the text in a colour where colours are wanted."""
    return f"\x1b[{code}m{text}\x1b[0m" if _on_a_terminal() and wants_colour() else text


def wants_colour() -> bool:
    """Tell whether the user lets us colour."""
    return not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def _on_a_terminal() -> bool:
    return sys.stdout.isatty()


def _one_line(text: str) -> str:
    return " ".join(text.split())
