"""What a pane shows: its screen now, and the lines that scrolled away before."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from gascity_tmux.wire import Block, command

Ask = Callable[[str], Sequence[Block]]


def now(pane: str) -> str:
    """Return the command that reads the screen as it is, wrapped lines joined."""
    return command("capture-pane", "-p", "-J", "-t", pane)


def read(answered: Sequence[Block]) -> str:
    """Return the text of a screen, without blank ends of lines and the empty rest below."""
    lines = answered[0].lines if answered and answered[0].ok else ()
    return "\n".join(trimmed(lines))


def last(pane: str, count: int) -> str:
    """Return the command that reads the screen with that many lines above it."""
    return command("capture-pane", "-p", "-J", "-t", pane, "-S", f"-{count}")


def last_lines(ask: Ask, pane: str, count: int, *, colours: bool = False) -> str | None:
    """Return the last lines of a pane, all of them when `count` is not positive.

    None when there is no such pane. A line that was wrapped is one line.
    """
    style = ["-e"] if colours else []
    lines: list[str] = []
    # First what is enough for short lines; if that was too little, everything.
    for begin in ([f"-{count}"] if count > 0 else []) + ["-"]:
        asked = command("capture-pane", "-p", "-J", *style, "-t", pane, "-S", begin)
        more = command("display-message", "-p", "-t", pane, "#{history_size}")
        answered = ask(f"{asked} ; {more}")
        if len(answered) < 2 or not answered[0].ok:
            return None
        lines = trimmed(answered[0].lines)
        if count > 0 and (count <= len(lines) or int(answered[1].text or 0) <= count):
            break
    return "\n".join(lines[-count:] if count > 0 else lines)


def trimmed(raw: Sequence[bytes]) -> list[str]:
    """Return rows without blank ends, and without the empty ones below the last."""
    lines = [line.decode(errors="replace").rstrip(" \t\r") for line in raw]
    while lines and not lines[-1]:
        lines.pop()
    return lines
