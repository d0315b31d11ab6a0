"""A TOML file of the city on its way in: read, scanned, parsed, and its faults told with places.

`city.toml` and the files in `screens/` both come this way.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path as FilePath

from gascity.config.files import Unreadable, read_text
from gascity.config.places import Places, scan
from gascity.config.problems import MOST_SHOWN, ConfigProblems, Problem, visible
from gascity.config.report import Report
from gascity.config.sentences import RawError, sentence
from gascity.config.source import Source

_PLACE = re.compile(r" \(at (?:line (?P<line>\d+), column (?P<column>\d+)|end of document)\)$")
_LONGEST_MESSAGE = 200


@dataclass(frozen=True, slots=True)
class Document:
    """A file that is TOML: its content, and where everything in it stands."""

    source: Source
    places: Places
    content: dict[str, object]

    def report(self) -> Report:
        """Return an empty report on this file."""
        return Report(self.source, self.places)

    def tell(
        self, errors: Sequence[RawError], keys: Mapping[str, tuple[str, ...]], report: Report
    ) -> None:
        """Report what the schema refused, in the order of the file; `keys` are all there are."""
        for error in sorted(errors, key=lambda error: self.places.offset(error.loc)):
            if report.count >= MOST_SHOWN:
                report.more += 1
            else:
                fault = sentence(error, keys)
                report.at(fault.path, fault.message, fault.hint)


def read_document(path: FilePath, shown: str, if_empty: str, *, secrets: bool = True) -> Document:
    """Return the file at `path`, called `shown` in messages.

    Raises ConfigProblems with the one thing that keeps it from being read. `if_empty` is the hint
    for a file without any content. `secrets` says that the values of some keys must not be shown.
    """
    try:
        text = read_text(path, shown)
    except Unreadable as error:
        raise ConfigProblems([error.problem]) from None
    if not text.strip():
        raise ConfigProblems([Problem(shown, 0, 0, "is empty", hint=if_empty)])
    places = scan(text)
    source = Source(shown, text, places.secrets if secrets else None)
    if places.limit is not None:
        raise ConfigProblems([source.problem(places.limit.offset, places.limit.message)])
    return Document(source, places, _parsed(source))


def _parsed(source: Source) -> dict[str, object]:
    """Return the content. Raises ConfigProblems with the first place that is not TOML."""
    try:
        return tomllib.loads(source.text)
    except RecursionError:
        raise ConfigProblems([source.problem(0, "nested too deep to be read")]) from None
    except tomllib.TOMLDecodeError as error:
        said = str(error)
        place = _PLACE.search(said)
        offset = len(source.text.rstrip("\n"))
        if place and place["line"]:
            offset = source.lines.offset(int(place["line"]), int(place["column"]))
        message = visible(said[: place.start()] if place else said)[:_LONGEST_MESSAGE]
        message = f"this is not TOML: {message[:1].lower()}{message[1:]}"
        raise ConfigProblems([source.problem(offset, message)]) from None
    except ValueError:  # an integer of more digits than Python reads
        offset = _longest_number(source.text)
        raise ConfigProblems([source.problem(offset, "an integer of more than 64 bits")]) from None


def _longest_number(text: str) -> int:
    numbers = re.finditer(r"[0-9][0-9_]*+", text)
    return max(numbers, key=lambda found: found.end() - found.start()).start()
