"""Text for people: tables with rich on a terminal, plain columns everywhere else.

rich costs as much time to import as the rest of a command, so it is only loaded where its output
can be seen.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Mapping, Sequence

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
    "unknown": "magenta",
    "critical": "red",
    "warning": "yellow",
    "info": "dim",
    "pending": "yellow",
    "sending": "cyan",
    "submitted": "green",
    "unverified": "red",
    "expired": "red",
    "cancelled": "dim",
    "suspended": "dim",
    "stopped": "dim",
}


def table(columns: Sequence[str], rows: Sequence[Sequence[str]], *, state: int = -1) -> None:
    """Print a table; the column numbered `state` is coloured by its word."""
    if not _on_a_terminal():
        sys.stdout.write(plain(columns, rows))
        return
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    shown = Table(box=None, pad_edge=False, header_style="bold")
    for column in columns:
        shown.add_column(column, overflow="fold")
    for row in rows:
        shown.add_row(
            *(
                Text(cell, style=COLOURS.get(cell, "") if number == state else "")
                for number, cell in enumerate(row)
            )
        )
    Console().print(shown)


def plain(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return the table as aligned columns, nothing after the last cell."""
    lines = [list(columns), *([_one_line(cell) for cell in row] for row in rows)]
    widths = [max(len(line[number]) for line in lines) for number in range(len(columns))]
    return "".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        + "\n"
        for line in lines
    )


def status_rows(document: Mapping[str, object]) -> tuple[str, list[list[str]]]:
    """Return the headline and the table of a status document."""
    controller = document["controller"]
    agents = document["agents"]
    if not isinstance(controller, dict) or not isinstance(agents, list):
        raise TypeError("not a status document")
    running = f"controller {controller['pid']}" if controller["running"] else "no controller runs"
    down = ("starting", "stopped", "suspended", "backoff", "quarantined", "unknown", "blocked")
    up = sum(1 for agent in agents if agent["state"] not in down)
    headline = f"{document['city']}: {up} of {len(agents)} agents up, {running}"
    return headline, [_status_row(agent) for agent in agents]


def troubles(document: Mapping[str, object]) -> str:
    """Return a line for each trouble of the controller: an older city, a lost journal."""
    controller = document["controller"]
    if not isinstance(controller, dict):
        return ""
    said = {
        "config_problem": "the city file is refused, an older city runs",
        "journal_problem": "what happens is not written down",
    }
    lines = [
        f"{words}: {_one_line(controller[key])}\n"
        for key, words in said.items()
        if controller.get(key)
    ]
    return "".join(lines)


def strangers(document: Mapping[str, object]) -> str:
    """Return the line that names sessions which look like ours and are not, if there are any."""
    found = document.get("foreign")
    names = [str(one["session"]) for one in found] if isinstance(found, list) else []
    if not names:
        return ""
    shown = ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")
    return f"not made by this city, and left alone: {shown}\n"


STATUS_COLUMNS = ("AGENT", "STATE", "PID", "SINCE", "RESTARTS", "PROVIDER", "REASON")
STATE_COLUMN = 1


def _status_row(agent: Mapping[str, object]) -> list[str]:
    since, next_at = agent["since"], agent["next_at"]
    reason = str(agent["reason"])
    if isinstance(next_at, int | float):
        reason = f"{reason} (in {ago(next_at - time.time())})".strip()
    return [
        str(agent["name"]),
        str(agent["state"]),
        "-" if agent["pid"] is None else str(agent["pid"]),
        ago(time.time() - since) if isinstance(since, int | float) else "-",
        str(agent["restarts"]),
        str(agent["provider"]),
        reason,
    ]


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
