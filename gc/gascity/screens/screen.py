"""A terminal's screen as a value."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Screen:
    """What one terminal shows at one moment: its rows as they stand there, without blank ends.

    `title` is what the program wrote over its window. `cursor` is (row, column) from 0, or None
    when nobody knows. `attached` counts the people who look at it; `quiet` is for how many seconds
    none of them pressed a key. `typed` holds the same rows without what is written faint: a hint
    in an empty input box is faint, what a person typed is not. `scrolled` says that somebody
    scrolled back, so that keys would not reach the program; `reads_lines` that the program takes
    whole lines, or has not begun to take keys, so that the terminal itself shows what is typed;
    `unread` that keys wait for it which it has not read. `drawn_at` is when something was last
    drawn, in seconds since the epoch.
    """

    rows: tuple[str, ...]
    title: str = ""
    cursor: tuple[int, int] | None = None
    alive: bool = True
    attached: int = 0
    quiet: float = float("inf")
    scrolled: bool = False
    drawn_at: float | None = None
    reads_lines: bool = False
    unread: bool = False
    typed: tuple[str, ...] = field(default=(), compare=False)

    @classmethod
    def of(cls, text: str, title: str = "") -> Screen:
        """Return a screen from a text, such as a saved one."""
        rows = [row.rstrip(" \t\r") for row in text.split("\n")]
        while rows and not rows[-1]:
            rows.pop()
        return cls(tuple(rows), title)

    @property
    def text(self) -> str:
        """All of it."""
        return "\n".join(self.rows)

    def bottom(self, count: int) -> tuple[str, ...]:
        """Return the last `count` rows that are not empty."""
        return tuple(row for row in self.rows if row)[-count:]
