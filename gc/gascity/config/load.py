"""`city.toml` in, `City` out; or every problem there is with it, each with its place."""

from __future__ import annotations

import os
from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING

from gascity.config.document import Document, read_document
from gascity.config.problems import ConfigProblems, Problem
from gascity.config.prune import prune
from gascity.config.report import Report
from gascity.config.resolve import Auto, Locality, resolve
from gascity.core.model import City

if TYPE_CHECKING:  # pydantic is imported only where a city is read
    from gascity.config.schema import CityFile


def load_city(
    path: Path,
    *,
    known_providers: Collection[str],
    auto_provider: Auto,
    session_provider: str = "",
    is_local: Locality = lambda _: True,
) -> City:
    """Return the city that the file at `path` declares, fully resolved.

    Raises ConfigProblems with everything that is wrong, and nothing else. `known_providers` are
    the session providers there are; `auto_provider` is the one `auto` stands for, or finds it out;
    `session_provider`, if given, stands above what `[session]` says; `is_local` tells whether a
    provider's sessions run on this machine. Reads the file and what it points to; starts, creates
    and changes nothing.
    """
    path = Path(os.path.abspath(path))
    document = _document(path)
    report = document.report()
    report.came_from(str(path))
    file = _validated(document, report)
    city = resolve(
        file,
        os.path.realpath(path.parent),  # one city, one id, whichever link it is reached by
        report,
        known_providers=known_providers,
        auto_provider=auto_provider,
        session_provider=session_provider,
        is_local=is_local,
    )
    if report.count:
        raise ConfigProblems(report.problems, report.more, report.sources)
    return city


def refusal(path: Path, at: tuple[str, ...], message: str, hint: str) -> ConfigProblems:
    """Return what is wrong with the key `at` of a good city file, for a reason of the caller's.

    A file that cannot be read any more is refused as a whole.
    """
    path = Path(os.path.abspath(path))
    try:
        report = _document(path).report()
    except ConfigProblems:
        return ConfigProblems([Problem(path.name, 0, 0, message, hint=hint)], 0, [str(path)])
    report.at(at, message, hint)
    return ConfigProblems(report.problems, report.more, [str(path)])


def _document(path: Path) -> Document:
    """Return the city file as TOML. Raises ConfigProblems."""
    try:
        return read_document(
            path, path.name or str(path), if_empty="`gc init` writes one to begin with"
        )
    except ConfigProblems as found:
        raise ConfigProblems(found.problems, found.more, [str(path)]) from None


def _validated(document: Document, report: Report) -> CityFile:
    """Return the file, without what is misshapen: that is reported, and the rest still checked.

    Raises ConfigProblems when so much is missing that going on would only confuse.
    """
    from gascity.config.schema import KEYS, validate  # noqa: PLC0415  pydantic: a tenth of a second

    found = validate(document.content)
    if not isinstance(found, list):
        return found
    document.tell(found, KEYS, report)
    faulty = [error.loc for error in found]
    rest = validate(document.content) if prune(document.content, faulty) else found
    if isinstance(rest, list):
        raise ConfigProblems(report.problems, report.more, report.sources)
    for path in faulty:
        report.mute(path[:2])
    return rest
