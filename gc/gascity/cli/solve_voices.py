"""What several agents say, on one terminal: who says it stands before each line.

Agents print whatever they like. Nothing that a terminal would act on gets through: sequences that
colour or move the cursor are removed, and any other control character is written out. Programs get
JSON lines instead, with all that was said, as it was said.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict

from gascity.cli.cells import padded, width
from gascity.cli.render import colour
from gascity.config.problems import visible
from gascity.screens.sequences import without_sequences
from gascity.worktrees.listening import Heard

_AGENTS = ("36", "35", "34", "32", "96", "95", "94", "92")  # red and yellow are for what is wrong
_WORDS = {"error": ("ERROR", "31"), "warning": ("WARNING", "33")}
_DIM = "2"


class Voices:
    """Prints what agents say to standard output. Raises BrokenPipeError when nobody reads it."""

    def __init__(self, agents: Sequence[str], *, as_json: bool, verbose: bool = False) -> None:
        self._as_json = as_json
        self._verbose = verbose
        self._room = max((width(visible(agent)) for agent in agents), default=0)
        self._colours = {
            agent: _AGENTS[number % len(_AGENTS)] for number, agent in enumerate(agents)
        }

    def say(self, heard: Heard) -> None:
        """Print what an agent said. It may be seen only after `flush`."""
        line = heard.line
        if self._as_json:
            _write_json({"agent": heard.agent, "stream": heard.stream, **asdict(line)})
        elif line.level != "debug" or self._verbose:
            self._write(heard.agent, "|", line.message, line.level)

    def tell(self, agent: str, text: str, **facts: object) -> None:
        """Print at once what became of an agent; `facts` are for programs."""
        if self._as_json:
            _write_json({"agent": agent, "event": "state", **facts, "why": text})
        else:
            self._write(agent, "*", text)
        self.flush()

    def flush(self) -> None:
        """Have all that was said seen."""
        sys.stdout.flush()

    def _write(self, agent: str, sign: str, text: str, level: str = "") -> None:
        name = f"{padded(visible(agent), self._room)}  {sign}"
        before = colour(name, self._colours[agent]) if agent in self._colours else name
        word = f" {colour(*_WORDS[level])}" if level in _WORDS else ""
        for line in _lines(text):
            shown = colour(line, _DIM) if line and level == "debug" else line
            sys.stdout.write(f"{before}{word}{' ' if shown else ''}{shown}\n")
            word = ""


def _lines(text: str) -> Iterator[str]:
    """Yield a text in lines that a terminal shows and does not act on: one at the least."""
    for line in without_sequences(text).rstrip("\r\n").split("\n"):
        for drawn in list(filter(None, line.split("\r"))) or [""]:
            yield visible(drawn.expandtabs())


def _write_json(document: Mapping[str, object]) -> None:
    sys.stdout.write(json.dumps(document, default=str) + "\n")
