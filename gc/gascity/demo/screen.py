"""What the demo agent shows, on a terminal and on a pipe.

On a terminal what is over disappears: the dialog once answered, the busy line once done. On a
pipe every line stays, since nothing written can be taken back.
"""

from __future__ import annotations

import shutil
import sys
import unicodedata
from collections.abc import Sequence

PROMPT = "> "
BUSY = "✻ working… (esc to interrupt)"
CURSOR = "❯"  # noqa: RUF001  the mark real agents use


class Screen:
    """Writes to standard output and flushes at once."""

    def __init__(self, *, is_terminal: bool) -> None:
        self._is_terminal = is_terminal
        if is_terminal:
            self.write("\x1b[?2004h")

    def close(self) -> None:
        """Switch bracketed paste off again."""
        if self._is_terminal:
            self.write("\x1b[?2004l")

    def write(self, text: str) -> None:
        """Show text as it is."""
        sys.stdout.write(text)
        sys.stdout.flush()

    def say(self, text: str) -> None:
        """Show lines, and an empty one after them."""
        self.write(text + "\n\n")

    def prompt(self) -> None:
        """Show that a message may be typed."""
        self.write(PROMPT)

    def echo(self, text: str) -> None:
        """Show what is being typed; a pipe has no echo."""
        if self._is_terminal:
            self.write(text.replace("\n", "\n  "))

    def take_back(self, text: str) -> None:
        """Remove characters that `echo` showed, the last ones of the line."""
        width = sum(2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in text)
        if self._is_terminal:
            self.write("\b" * width + " " * width + "\b" * width)

    def submitted(self, message: str) -> None:
        """Go to the next line after a message; a pipe, which had no echo, shows it now."""
        self.write("\n" if self._is_terminal else message + "\n")

    def begin_work(self) -> None:
        """Show that the agent is busy."""
        self.write(BUSY if self._is_terminal else BUSY + "\n")

    def end_work(self) -> None:
        """Take the busy line away where that is possible."""
        if self._is_terminal:
            self.write("\r\x1b[K")

    def dialog(self, folder: str, options: Sequence[str], chosen: int) -> int:
        """Show a question with its options; return how many lines it takes."""
        width = shutil.get_terminal_size().columns - 2
        shown = folder if len(folder) <= width else "…" + folder[-width + 1 :]
        marks = [CURSOR if number == chosen else " " for number in range(len(options))]
        choices = [
            f"{mark} {number}. {option}"
            for number, (mark, option) in enumerate(zip(marks, options, strict=True), start=1)
        ]
        lines = ["Do you trust the files in this folder?", shown, "", *choices, ""]
        lines.append("Enter to confirm · Esc to cancel")
        self.write("\n".join(lines) + "\n")
        return len(lines)

    def erase_lines(self, count: int) -> None:
        """Take the last lines away where that is possible."""
        if self._is_terminal:
            self.write(f"\x1b[{count}A\r\x1b[J")
