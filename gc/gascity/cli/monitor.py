"""`gc health` and `gc metrics`: for monitors, which ask again and again and wait for nobody."""

from __future__ import annotations

import contextlib
import json
import os
import sys
import tempfile
import time
from typing import TYPE_CHECKING, Annotated

import typer

from gascity import __version__
from gascity.cli import render
from gascity.cli.city import Here
from gascity.cli.options import AsJson, not_empty
from gascity.core.spans import span
from gascity.errors import ConfigError, Exit, GascityError, NotRunning, RemoteError, Unanswered

if TYPE_CHECKING:
    from gascity.patrol.health import Finding, Health
    from gascity.patrol.metrics import Counted

STANDARD_OUTPUT = "-"
PATIENCE = 10.0  # seconds for a controller to answer
_COLOURS = {"critical": "31", "warning": "33"}


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command()(health)
    app.command()(metrics)


def health(context: typer.Context, as_json: AsJson = False) -> int:
    """Tell whether the city is well: 0 when it is, 1 when somebody should look."""
    found = _health(context.obj)
    if as_json:
        typer.echo(json.dumps(found.document(), indent=2))
    else:
        _print(found)
    return Exit.OK if found.healthy else Exit.FAILED


def metrics(
    context: typer.Context,
    output: Annotated[
        str,
        typer.Option(
            "-o",
            "--output",
            metavar="FILE",
            callback=not_empty,
            help="Write them there, all or nothing; `-` prints them.",
            show_default=False,
        ),
    ] = STANDARD_OUTPUT,
) -> int:
    """Print numbers about the city for Prometheus."""
    from gascity.cli.alone import status_without_controller
    from gascity.patrol import metrics as measuring

    here: Here = context.obj
    document: object = None
    with contextlib.suppress(NotRunning, Unanswered):
        document = here.ask("status", {}, timeout=PATIENCE)
    answers = isinstance(document, dict)
    status = document if isinstance(document, dict) else status_without_controller(here)
    counted = _counted(os.path.join(here.state, "city.db"))
    text = measuring.metrics(status, counted, answers=answers, version=__version__)
    if output == STANDARD_OUTPUT:
        sys.stdout.write(text)
    else:
        _replace(output, text)
    return Exit.OK


def _health(here: Here) -> Health:
    from gascity.patrol.health import health as judged
    from gascity.patrol.health import unanswered

    try:
        document = here.ask("status", {}, timeout=PATIENCE)
    except NotRunning:
        from gascity.cli.alone import status_without_controller

        document = status_without_controller(here)
    except (Unanswered, RemoteError) as problem:
        return unanswered(_name(here), problem.message)
    return judged(document if isinstance(document, dict) else {}, time.time())


def _name(here: Here) -> str:
    """Return the name of a city whose controller does not tell it."""
    try:
        return here.load().name
    except ConfigError:
        return os.path.basename(os.path.dirname(here.city_file))


def _print(found: Health) -> None:
    """Print a line for how it is, one for each problem, and one for each note."""
    count = len(found.problems)
    bad = f"degraded, {count} problem{'' if count == 1 else 's'}"
    sys.stdout.write(f"{found.city}: {'healthy' if found.healthy else bad}\n")
    for finding in found.problems:
        since = finding.since
        lasts = "" if since is None else f" (for {span(time.time() - since)})"
        sys.stdout.write(_line(finding, finding.severity, lasts))
    for finding in found.notes:
        sys.stdout.write(_line(finding, "note"))


def _line(finding: Finding, word: str, lasts: str = "") -> str:
    from gascity.config.problems import visible

    said = visible(" ".join(finding.text.split()))
    return f"{render.colour(word.ljust(8), _COLOURS.get(word, '2'))}  {said}{lasts}\n"


def _counted(path: str) -> Counted | None:
    """Return what the journal has counted; None, and a warning, where it cannot be read."""
    from gascity.patrol.metrics import Counted

    if not os.path.exists(path):
        return Counted()
    from gascity.journal.store import Journal

    try:
        journal = Journal(path, patience=PATIENCE)
        try:
            log, nudges = journal.events, journal.nudges
            return Counted(log.totals(), nudges.counts(), log.newest_at(), _size(path))
        finally:
            journal.close()
    except GascityError as problem:
        sys.stderr.write(f"warning: {problem.message}\n")
        return None


def _size(path: str) -> int:
    """Return how many bytes the journal and its log take."""
    size = 0
    for each in (path, f"{path}-wal"):
        with contextlib.suppress(OSError):
            size += os.stat(each).st_size
    return size


def _replace(path: str, text: str) -> None:
    """Put a text into a file that others may read, so that nobody ever reads a part of it.

    Its name while it is written ends otherwise: whoever collects `*.prom` does not take it. Links
    are followed; what is no regular file, such as a device, is left as it is.
    """
    target = os.path.realpath(path)
    folder, name = os.path.split(target)
    made = ""
    try:
        if os.path.exists(path) and not os.path.isfile(path):
            what = "it is a folder" if os.path.isdir(path) else "it is no regular file"
            raise GascityError(
                f"{path} cannot be written: {what}", hint="`--output -` is standard output"
            )
        descriptor, made = tempfile.mkstemp(prefix=f".{name}.", suffix=".tmp", dir=folder)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
            os.fchmod(file.fileno(), 0o644)
        os.replace(made, target)
    except OSError as problem:
        if made:
            with contextlib.suppress(OSError):
                os.unlink(made)
        raise GascityError(f"{path} cannot be written: {problem.strerror or problem}") from problem
