"""`city.toml` in, `City` out; or every problem there is with it, each with its place."""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING

from gascity.config.files import Unreadable, read_text
from gascity.config.places import Places, scan
from gascity.config.problems import MOST_SHOWN, ConfigProblems, Problem, visible
from gascity.config.prune import prune
from gascity.config.report import Report
from gascity.config.resolve import resolve
from gascity.config.sentences import sentence
from gascity.config.source import Source
from gascity.core.model import City

if TYPE_CHECKING:  # pydantic is imported only where a city is read
    from gascity.config.schema import CityFile

_PLACE = re.compile(r" \(at (?:line (?P<line>\d+), column (?P<column>\d+)|end of document)\)$")
_LONGEST_MESSAGE = 200


def load_city(
    path: Path,
    *,
    known_providers: Collection[str],
    auto_provider: str,
    session_provider: str = "",
) -> City:
    """Return the city that the file at `path` declares, fully resolved.

    Raises ConfigProblems with everything that is wrong, and nothing else. `known_providers` are
    the session providers there are; `auto_provider` is the one `auto` stands for;
    `session_provider`, if given, stands above what `[session]` says. Reads the file and what it
    points to; starts, creates and changes nothing.
    """
    path = Path(os.path.abspath(path))
    shown = path.name or str(path)
    try:
        text = read_text(path, shown)
    except Unreadable as error:
        raise ConfigProblems([error.problem]) from None
    if not text.strip():
        hint = "`gc init` writes one to begin with"
        raise ConfigProblems([Problem(shown, 0, 0, "is empty", hint=hint)])
    places = scan(text)
    source = Source(shown, text, places.secrets)
    if places.limit is not None:
        raise ConfigProblems([source.problem(places.limit.offset, places.limit.message)])
    report = Report(source, places)
    file = _validated(_parsed(source), report, places)
    city = resolve(
        file,
        os.path.realpath(path.parent),  # one city, one id, whichever link it is reached by
        report,
        known_providers=known_providers,
        auto_provider=auto_provider,
        session_provider=session_provider,
    )
    if report.count:
        raise ConfigProblems(report.problems, report.more)
    return city


def _parsed(source: Source) -> dict[str, object]:
    """Return the document. Raises ConfigProblems with the first place that is not TOML."""
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


def _validated(document: dict[str, object], report: Report, places: Places) -> CityFile:
    """Return the file, without what is misshapen: that is reported, and the rest still checked.

    Raises ConfigProblems when so much is missing that going on would only confuse.
    """
    from gascity.config.schema import KEYS, validate  # noqa: PLC0415  pydantic: a tenth of a second

    found = validate(document)
    if not isinstance(found, list):
        return found
    found.sort(key=lambda error: places.offset(error.loc))
    for error in found:
        if report.count >= MOST_SHOWN:
            report.more += 1
        else:
            fault = sentence(error, KEYS)
            report.at(fault.path, fault.message, fault.hint)
    rest = validate(document) if prune(document, [error.loc for error in found]) else found
    if isinstance(rest, list):
        raise ConfigProblems(report.problems, report.more)
    for error in found:
        report.mute(error.loc[:2])
    return rest


def _longest_number(text: str) -> int:
    numbers = re.finditer(r"[0-9][0-9_]*+", text)
    return max(numbers, key=lambda found: found.end() - found.start()).start()
