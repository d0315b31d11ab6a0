"""A shell command of the city's author.

It gets the alert as one line of JSON on its standard input: never as arguments, which everybody on
the machine can read.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field

from gascity.patrol.notice import Notice
from gascity.patrol.sinks.program import Running, run_program

SHELL = "/bin/sh"


@dataclass(frozen=True, slots=True)
class Command:
    """The way through a command, which runs in the city's folder."""

    command: str
    root: str
    environ: Mapping[str, str] = field(repr=False)
    timeout: float
    running: Running = field(default_factory=Running, compare=False, repr=False)

    @property
    def name(self) -> str:
        """What it is called."""
        return "command"

    def send(self, notice: Notice) -> None:
        """Run the command; it must end with 0 in time. Raises SinkFailed."""
        run_program(
            [SHELL, "-c", self.command],
            json.dumps(notice.body()).encode() + b"\n",
            folder=self.root,
            environ=self.environ,
            timeout=self.timeout,
            running=self.running,
        )

    def close(self) -> None:
        """End what still runs of it."""
        self.running.end()
