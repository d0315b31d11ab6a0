"""A note on the desktop of the machine: notify-send on Linux, osascript on macOS.

Arguments are seen by everybody on the machine, so the screen of an agent never goes there. What
goes there may come from one: it is data for both programs, never markup or a script.
"""

from __future__ import annotations

import html
import os
import shutil
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from gascity.core.alerts import Severity
from gascity.patrol.notice import Notice, NoticeKind, NotTaken, SinkFailed
from gascity.patrol.sinks.program import Running, printable, run_program

LONGEST = 500  # characters; a desktop shows fewer
MAC = "darwin"
_URGENCY = {Severity.INFO: "low", Severity.WARNING: "normal", Severity.CRITICAL: "critical"}
_SCRIPT = (
    "on run argv",
    "display notification (item 2 of argv) with title (item 1 of argv)",
    "end run",
)


@dataclass(frozen=True, slots=True)
class Desktop:
    """The way to whoever sits at this machine."""

    environ: Mapping[str, str] = field(repr=False)
    timeout: float
    platform: str = sys.platform
    running: Running = field(default_factory=Running, compare=False, repr=False)

    @property
    def name(self) -> str:
        """What it is called."""
        return "desktop"

    def send(self, notice: Notice) -> None:
        """Show the notice. Raises SinkFailed, as where there is no desktop to talk to."""
        words = self._mac(notice) if self.platform == MAC else self._linux(notice)
        program = shutil.which(words[0], path=self.environ.get("PATH", os.defpath))
        if program is None:
            raise NotTaken(f"{words[0]} is not installed here")
        try:
            run_program(
                [program, *words[1:]],
                b"",
                folder="/",
                environ=self.environ,
                timeout=self.timeout,
                running=self.running,
            )
        except NotTaken as problem:
            raise NotTaken(f"{words[0]} {problem.message}") from problem
        except SinkFailed as problem:
            raise SinkFailed(f"{words[0]} {problem.message}") from problem

    def close(self) -> None:
        """End what still runs of it."""
        self.running.end()

    def _linux(self, notice: Notice) -> Sequence[str]:
        urgency = "low" if notice.kind is NoticeKind.RESOLVED else _URGENCY[notice.severity]
        body = html.escape(_clean(notice.text), quote=False)
        # The heading stands first, as it is: it is no markup, and begins with a letter.
        return ["notify-send", "--app-name=gc", f"--urgency={urgency}", "--", _title(notice), body]

    def _mac(self, notice: Notice) -> Sequence[str]:
        script = [word for line in _SCRIPT for word in ("-e", line)]
        return ["osascript", *script, _title(notice), _clean(notice.text)]


def _title(notice: Notice) -> str:
    return _clean(notice.title)


def _clean(text: str) -> str:
    """Return a text that can be an argument."""
    return printable(text, LONGEST).encode("utf-8", "replace").decode()
