"""Who speaks on which bus: the defaults of `gc bus`, so that an agent need only say its words.

A run is told by its environment where the bus is and what it works on, wherever it works; an agent
of a city by the variables of its session. Everybody else means the nearest city, or, where there
is none, what belongs to no city. Light: agents post often.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from gascity.cli.city import Here
from gascity.config.find import CITY_FILE
from gascity.errors import GascityError, NotFound
from gascity.journal import where
from gascity.journal.message import LARGEST
from gascity.journal.trouble import AWAY

NOWHERE = "default"  # the project of what belongs to no city


@dataclass(frozen=True, slots=True)
class Speaker:
    """The bus in the file `journal`, and whose words go there if nobody says otherwise.

    `city` is the folder of the city whose bus it is, or "".
    """

    journal: str
    city: str
    project: str
    task: str
    run: str
    author: str
    named: bool

    def prepare(self) -> None:
        """Make the folder that the journal lies in. Raises GascityError."""
        if self.named:
            return
        if self.city:
            from gascity.controller.place import Place

            Place(self.city).prepare()
            return
        folder = os.path.dirname(self.journal)
        try:
            os.makedirs(folder, mode=0o700, exist_ok=True)
        except OSError as problem:
            told = f"the folder {folder} cannot be made: {problem.strerror}"
            raise GascityError(told, hint="XDG_STATE_HOME says where it is") from problem

    @contextlib.contextmanager
    def explained(self) -> Iterator[None]:
        """Say that it was the run's environment that named a file which is no journal."""
        try:
            yield
        except GascityError as problem:
            if self.named and problem.hint == AWAY:
                told = f"{where.VARIABLE} names no journal: {problem.message}"
                raise GascityError(told, hint=where.HINT) from problem
            raise


def speaker(here: Here, environment: Mapping[str, str]) -> Speaker:
    """Return who speaks, and where. Raises GascityError for a bus that cannot be one."""
    named = "" if here.given else where.named(environment)
    journal = named or _nearest(here, environment)
    city = os.path.dirname(os.path.dirname(os.path.realpath(journal)))
    city = city if where.in_a_city(journal) else ""
    in_a_run = bool(environment.get("JRUN_ID"))
    return Speaker(
        journal,
        city,
        environment.get("JRUN_PROJECT_ID", "") or (_name(city) if city else NOWHERE),
        environment.get("JRUN_TASK_ID", ""),
        environment.get("JRUN_ID" if in_a_run else "GC_RUN", ""),
        "" if in_a_run else environment.get("GC_AGENT", ""),
        bool(named),
    )


def post(
    who: Speaker,
    kind: str,
    text: str,
    *,
    project: str | None = None,
    task: str | None = None,
    run: str | None = None,
) -> int:
    """Put a message on the bus; `-` stands for standard input. Return its number."""
    from gascity.config.keeping import kept
    from gascity.journal.bus import Bus

    said = sys.stdin.buffer.read(LARGEST + 1) if text == "-" else os.fsencode(text)
    who.prepare()
    with who.explained(), Bus(who.journal, kept=kept) as bus:
        return bus.post(
            kind,
            said,
            project=who.project if project is None else project,
            task=who.task if task is None else task,
            run=who.run if run is None else run,
            author=who.author,
        )


def _nearest(here: Here, environment: Mapping[str, str]) -> str:
    own = environment.get("GC_CITY_PATH", "")
    if own and not here.given:
        return _journal_of(own)
    try:
        return os.path.join(here.state, where.FILE)
    except NotFound:
        if here.given:
            raise
    return os.path.join(where.home(environment), where.FILE)


def _journal_of(city: str) -> str:
    """Return the journal of an agent's own city, also while its file is gone.

    Raises NotFound where there is no such city: nobody would read what is posted elsewhere.
    """
    state = os.path.join(city, ".gc")
    if os.path.isdir(state):
        return os.path.join(state, where.FILE)
    try:
        return os.path.join(Here(city).state, where.FILE)
    except NotFound as problem:
        told = f"GC_CITY_PATH names {city!a}, and there is no city"
        raise NotFound(
            told, hint="unset it to speak on the bus of the folder you are in"
        ) from problem


def _name(city: str) -> str:
    """Return what a city is called, also while its file is broken: then as its folder."""
    import tomllib

    with contextlib.suppress(OSError, ValueError, AttributeError):
        with open(os.path.join(city, CITY_FILE), "rb") as file:
            name = tomllib.load(file).get("workspace", {}).get("name")
        if isinstance(name, str) and name:
            return name
    return os.path.basename(city)
