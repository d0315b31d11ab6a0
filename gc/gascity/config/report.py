"""Everything found wrong while a city is read, so that it can be told at once."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterable
from itertools import islice

from gascity.config.places import Path, Places
from gascity.config.problems import MOST_SHOWN, Problem, quoted
from gascity.config.source import Source

_LONGEST_WORD = 64  # nobody mistypes a longer one
_MOST_COMPARED = 500  # known words; comparing is slow
_MOST_LISTED = 20


class Report:
    """Collects problems and warnings of one city file. Finding the same twice counts once."""

    def __init__(self, source: Source, places: Places) -> None:
        self._source = source
        self._places = places
        self._problems: dict[Problem, None] = {}
        self._warnings: dict[str, None] = {}
        self._muted: set[Path] = set()
        self._sources: dict[str, None] = {}
        self.more = 0

    @property
    def count(self) -> int:
        """How many problems were found, shown or not."""
        return len(self._problems) + self.more

    @property
    def problems(self) -> tuple[Problem, ...]:
        """What was found so far, in the order of finding."""
        return tuple(self._problems)

    @property
    def warnings(self) -> tuple[str, ...]:
        """What is worth saying and stops nobody."""
        return tuple(self._warnings)

    @property
    def sources(self) -> tuple[str, ...]:
        """The files that were read or looked for, in that order; see `City.sources`."""
        return tuple(self._sources)

    def came_from(self, path: str) -> None:
        """Note that the file at this absolute path was read or looked for."""
        self._sources.setdefault(path)

    def mute(self, table: Path) -> None:
        """Take no more problems with `table`: what it lacks may be what was wrong before."""
        self._muted.add(table)

    def at(self, path: Path, message: str, hint: str = "") -> None:
        """Note a problem with the key at `path`, or with what it is missing from."""
        if any(path[:depth] in self._muted for depth in range(1, len(path) + 1)):
            return
        if len(self._problems) < MOST_SHOWN:
            self.add(self._source.problem(self._places.offset(path), message, hint))
        else:
            self.more += 1

    def unknown(self, path: Path, what: str, word: str, known: Collection[str]) -> None:
        """Note that there is no `what` called `word`, with the nearest there is, or all of them."""
        near = "" if self.count >= MOST_SHOWN else did_you_mean(word, known)
        hint = "" if near or len(known) > _MOST_LISTED else _there_are(known)
        self.at(path, f"unknown {what} {quoted(word)}{near}", hint)

    def add(self, problem: Problem) -> None:
        """Note a problem that has its place already."""
        self._problems.setdefault(problem)

    def warn(self, text: str) -> None:
        """Note a warning."""
        self._warnings.setdefault(text)


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Return `; did you mean "..."?` when a known word is close, else the empty string."""
    if len(word) > _LONGEST_WORD:
        return ""
    close = difflib.get_close_matches(word, list(islice(known, _MOST_COMPARED)), n=1, cutoff=0.6)
    return f"; did you mean {quoted(close[0])}?" if close else ""


def _there_are(known: Iterable[str]) -> str:
    words = sorted(known)
    if len(words) < 2:
        return f"there is {words[0]}" if words else "there are none"
    return f"there are {', '.join(words[:-1])} and {words[-1]}"
