"""What a pane shows: its screen now, and the lines that scrolled away before."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from gascity.errors import SessionNotFound
from gascity.session.tmux.contract import P, Tmux
from gascity.session.tmux.problems import Lost
from gascity.session.tmux.wire import command


def peek(tmux: Tmux[P], name: str, lines: int, deadline: float, *, colours: bool = False) -> str:
    """Return the last lines of a session, all of them when `lines` is not positive.

    A line that was wrapped is one line. Raises SessionNotFound.
    """
    return _read(
        tmux, name, deadline, lambda pane: _last(tmux, pane, lines, deadline, colours=colours)
    )


def now(tmux: Tmux[P], name: str, deadline: float) -> str:
    """Return what a session shows at this moment, without what scrolled away, wrapped lines joined.

    Raises SessionNotFound.
    """

    def screen(pane: P) -> str:
        asked = command("capture-pane", "-p", "-J", "-t", pane.id)
        answered = tmux.ask(asked, deadline=deadline, of=pane)
        return "\n".join(trimmed(answered[0].lines)) if answered and answered[0].ok else ""

    return _read(tmux, name, deadline, screen)


def last(pane: str, count: int) -> str:
    """Return the command that reads the screen with that many lines above it."""
    return command("capture-pane", "-p", "-J", "-t", pane, "-S", f"-{count}")


def trimmed(raw: Sequence[bytes]) -> list[str]:
    """Return rows without blank ends, and without the empty ones below the last."""
    lines = [line.decode(errors="replace").rstrip(" \t\r") for line in raw]
    while lines and not lines[-1]:
        lines.pop()
    return lines


def _read(tmux: Tmux[P], name: str, deadline: float, read: Callable[[P], str | None]) -> str:
    """Return what a session shows; the server may end while it is asked."""
    while (found := tmux.find(name, deadline)) is not None:
        try:
            shown = read(found)
        except Lost:
            if time.monotonic() >= deadline:
                raise
        else:
            if shown is not None:
                return shown
            if time.monotonic() >= deadline:
                break
    raise SessionNotFound(f"there is no session {name}")


def _last(tmux: Tmux[P], pane: P, count: int, deadline: float, *, colours: bool) -> str | None:
    """Return the last lines of a pane; None when there is no such pane."""
    style = ["-e"] if colours else []
    more = command("display-message", "-p", "-t", pane.id, "#{history_size}")
    lines: list[str] = []
    # First what is enough for short lines; if that was too little, everything.
    for begin in ([f"-{count}"] if count > 0 else []) + ["-"]:
        asked = command("capture-pane", "-p", "-J", *style, "-t", pane.id, "-S", begin)
        answered = tmux.ask(asked, more, deadline=deadline, of=pane)
        if len(answered) < 2 or not answered[0].ok:
            return None
        lines = trimmed(answered[0].lines)
        above = int(answered[1].text or 0) if answered[1].ok else 0
        if count > 0 and (count <= len(lines) or above <= count):
            break
    return "\n".join(lines[-count:] if count > 0 else lines)
