"""Reading the city again while it runs: all of it is taken, or nothing.

A change of a file makes a worker read the city; the loop compares and takes it. A city that cannot
be read, or not be taken without a new controller, leaves the one before in force, and a person is
told once for each report. One reading at a time; what changes meanwhile makes another.
"""

from __future__ import annotations

import os
import threading
import time
import traceback
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, fields, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from gascity.config.agreement import PARALLEL
from gascity.config.load import refusal
from gascity.config.problems import ConfigProblems, Problem
from gascity.controller.alarms import Alarms
from gascity.controller.chronicle import Chronicle
from gascity.controller.filewatch import FileWatch
from gascity.controller.messages import Changed, OfFiles, Reloaded, Unwatched
from gascity.controller.parts import needed
from gascity.controller.sources import UNSETTLED, signed
from gascity.controller.workers import Workers
from gascity.core.actions import Event, EventType
from gascity.core.alerts import Alert, Severity
from gascity.core.changes import Changes, changes, keeping
from gascity.core.model import City, declared
from gascity.errors import GascityError
from gascity.session.provider import SessionProvider

if TYPE_CHECKING:
    from gascity.controller.loop import Controller

SETTLED = 0.1  # a file that changed less long ago may be one that is being written ...
SECOND_LOOK = 0.3  # ... and one that seems broken may be, too
LOOKS = 10
RECENT = 10  # outcomes kept for those who asked
RESTART = "restart the controller for that: `gc stop`, then `gc start`"

# The providers there are, each with its settings that stay as they are (None: all of them).
IsOpen = Mapping[str, frozenset[str] | None]
_NEWS = tuple(field.name for field in fields(Changes))


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a city comes from: its file, how it is read, and how providers for it are opened.

    Both may raise GascityError. `read_since` is when the city was read with which a controller
    begins.
    """

    path: str
    read: Callable[[], City]
    open: Callable[[City, str], SessionProvider]
    read_since: float


class Reloads:
    """The readings of one controller's city. Used by the loop's thread, but for the reading."""

    def __init__(
        self,
        origin: Origin | None,
        controller: Controller,
        chronicle: Chronicle,
        alarms: Alarms,
    ) -> None:
        self.problem = ""
        self._origin = origin
        self._controller = controller
        self._chronicle = chronicle
        self._alarms = alarms
        self._count = 0
        self._recent: deque[tuple[int, dict[str, object]]] = deque(maxlen=RECENT)
        self._workers = Workers(few=1)
        self._told = ""
        self._last: tuple[float, str, Changes] | None = None
        self._reading = False
        self._again = False
        self._checking = False
        self._ended = origin is None
        self._sources = controller.city.sources
        self._signs = signed(self._sources, read_since=origin.read_since if origin else None)
        self._watch = FileWatch(controller.city.root, controller.post)

    @property
    def is_reading(self) -> bool:
        """Whether the city is being read: it may need what the present one does not."""
        return self._reading

    def begin(self) -> None:
        """Notice changes from now on."""
        if not self._ended:
            self._watch.expect(self._sources, self._signs)

    def close(self) -> None:
        """Read nothing more."""
        self._ended = True
        self._watch.close()

    def patrol(self) -> None:
        """Have a look at the files, in case that nobody told of a change."""
        if not (self._ended or self._reading or self._checking):
            self._checking = True
            self._watch.retry()
            self._workers.submit(self._check)

    def hear(self, message: OfFiles) -> None:
        """Take what is told of the files."""
        match message:
            case Changed():
                self._read()
            case Unwatched(""):
                self._alarms.settle("files")
            case Unwatched(why):
                every = f"every {self._controller.city.daemon.patrol_interval:g} s"
                text = f"the files of the city cannot be watched, but are looked at {every}: {why}"
                self._alarms.alarm(Alert("files", "", text, severity=Severity.WARNING))
            case Reloaded():
                self._take(message)

    def ask(self) -> Callable[[], dict[str, object] | None]:
        """Have the city read; what is returned gives the outcome, or None for not yet.

        Raises GascityError when nothing is read any more.
        """
        if self._ended:
            raise GascityError("the city is not read again: it is being stopped")
        first = self._count + 1
        wanted = first + self._reading  # what is being read may be older than the question
        self._read()

        def outcome() -> dict[str, object] | None:
            if self._count < wanted:
                return None
            since = [document for number, document in self._recent if number >= first]
            news = [document for document in since if any(map(document.get, _NEWS))]
            return news[-1] if news and since[-1]["accepted"] else since[-1]

        return outcome

    def _read(self) -> None:
        self._again = self._reading
        if self._ended or self._reading or self._origin is None:
            return
        self._reading = True
        controller = self._controller
        is_open = {name: provider.lasting for name, provider in controller.providers.items()}
        job = partial(read_settled, self._origin, controller.city, is_open)
        self._workers.submit(partial(self._told_of, job, self._origin))

    def _told_of(self, job: Callable[[], Reloaded], origin: Origin) -> None:
        """Read the city and tell the loop, whatever happens: until it hears, it reads no other."""
        nothing = _as_problems(origin, "it could not be read", "")
        read = Reloaded(nothing, self._sources, self._signs, {})
        try:
            read = job()
        except Exception as problem:  # noqa: BLE001  nothing of it is foreseen
            traceback.print_exc()
            said = _as_problems(origin, f"{type(problem).__name__}: {problem}", "")
            read = replace(read, city=said)
            read = replace(read, signs=signed(read.sources))  # or it would be read without end
        finally:
            self._controller.post(read)

    def _check(self) -> None:
        try:
            if signed(self._sources) != self._signs:
                self._controller.post(Changed())
        finally:
            self._checking = False

    def _take(self, read: Reloaded) -> None:
        self._reading = False
        if self._ended:
            _close(read.opened)
            return
        if isinstance(read.city, ConfigProblems):
            document = self._reject(read.city)
        else:
            document = self._accept(read.city, read.opened)
        self._count += 1
        self._recent.append((self._count, document))
        self._sources, self._signs = read.sources, read.signs
        self._watch.expect(read.sources, read.signs)
        if self._again:
            self._read()

    def _accept(self, city: City, opened: Mapping[str, SessionProvider]) -> dict[str, object]:
        controller = self._controller
        found = changes(controller.city, city)
        if city != controller.city or opened:
            controller.take_city(keeping(controller.city, city), opened)
        message = f"it can be used again: {found}" if self.problem else str(found)
        if found or self.problem:
            event = Event(EventType.CITY_RELOADED, message=message, detail="\n".join(city.warnings))
            self._chronicle.record([event])
            self._last = controller.now(), message, found
        elif self._last is not None:
            at, last, found = self._last
            message = f"already read {max(controller.now() - at, 0):.0f} s ago: {last}"
        self.problem = self._told = ""
        self._alarms.settle("city")
        return _document(message, found, (), city.warnings)

    def _reject(self, problems: ConfigProblems) -> dict[str, object]:
        self.problem = _first_line(problems)
        if problems.message != self._told:
            self._told = problems.message
            text = f"the city file was refused, and the city before it stays: {self.problem}"
            event = Event(EventType.CITY_REJECTED, message=self.problem, detail=problems.message)
            self._chronicle.record([event])
            self._alarms.alarm(Alert("city", "", text, problems.message, Severity.WARNING))
        return _document(self.problem, Changes(), problems.problems, ())


def read_settled(origin: Origin, current: City, is_open: IsOpen) -> Reloaded:
    """Read the city once nobody is writing it; what is wrong with it must be so twice."""
    pause = threading.Event()
    before = ""
    for _ in range(LOOKS):
        began = time.time()
        found = _guarded(origin, lambda: _read(origin, current, is_open))
        sources = _sources(found, current)
        signs = signed(sources, read_since=began - SETTLED)
        said = found.message if isinstance(found, ConfigProblems) else ""
        if said == before and UNSETTLED not in signs.values():
            break
        before = said
        pause.wait(SECOND_LOOK)
    if isinstance(found, ConfigProblems):
        return Reloaded(found, sources, signs, {})
    city, opened = found, dict[str, SessionProvider]()
    found = _guarded(origin, lambda: _open(origin, city, is_open, opened))
    if isinstance(found, ConfigProblems):
        _close(opened)
        sources = tuple(dict.fromkeys((*sources, *_sources(found, current))))
        return Reloaded(found, sources, signed(sources, read_since=began - SETTLED), {})
    return Reloaded(city, sources, signs, opened)


def _guarded(origin: Origin, step: Callable[[], City]) -> City | ConfigProblems:
    """Return what a step gives, or why it cannot: a reading always ends."""
    try:
        return step()
    except ConfigProblems as problems:
        return problems
    except GascityError as problem:
        return _as_problems(origin, problem.message, problem.hint)
    except Exception as problem:  # noqa: BLE001  or the city would never be read again
        return _as_problems(origin, f"{type(problem).__name__}: {problem}", "")


def _read(origin: Origin, current: City, is_open: IsOpen) -> City:
    city = origin.read()
    _refuse(origin, current, city, is_open)
    return city


def _open(origin: Origin, city: City, is_open: IsOpen, opened: dict[str, SessionProvider]) -> City:
    for name in sorted(needed(city) - is_open.keys()):
        opened[name] = origin.open(city, name)
    return city


def _sources(found: City | ConfigProblems, current: City) -> tuple[str, ...]:
    """Return the files to watch: of a city that is refused, also those of the one in force."""
    if isinstance(found, ConfigProblems):
        return tuple(dict.fromkeys((*found.sources, *current.sources)))
    return found.sources


def _refuse(origin: Origin, current: City, city: City, is_open: IsOpen) -> None:
    """Raise ConfigProblems for what cannot be changed under the sessions that there are."""
    path = Path(origin.path)
    if city.name != current.name:
        message = f'the city is called "{current.name}" while its controller runs'
        raise refusal(path, ("workspace", "name"), message, RESTART)
    if any(declared(current.desired)) and not any(declared(city.desired)):
        message = "it declares no agents any more, while the city has some"
        raise _as_problems(origin, message, "`gc stop` ends them all")
    if city.desired.city_id != current.desired.city_id:
        raise _as_problems(origin, f"the city is in another folder now: {city.root}", RESTART)
    for name, lasting in sorted(is_open.items()):
        before = current.provider_settings.get(name, {})
        now = city.provider_settings.get(name, {})
        changed = [key for key in {**before, **now} if before.get(key) != now.get(key)]
        if lasting is None and changed:
            message = f"the settings of {name} stay as they are while the controller runs"
            raise refusal(path, ("session", name), message, RESTART)
        for key in changed:
            if key in {*(lasting or ()), PARALLEL}:
                message = f"the {key} of {name} stays as it is while the controller runs"
                raise refusal(path, ("session", name, key), message, RESTART)


def _as_problems(origin: Origin, message: str, hint: str) -> ConfigProblems:
    file = os.path.basename(origin.path)
    return ConfigProblems([Problem(file, 0, 0, message, hint=hint)], 0, [origin.path])


def _first_line(found: ConfigProblems) -> str:
    more = len(found.problems) + found.more - 1
    return found.message.partition("\n")[0] + (f" (and {more} more)" if more > 0 else "")


def _document(
    message: str, found: Changes, problems: tuple[Problem, ...], warnings: tuple[str, ...]
) -> dict[str, object]:
    """Return what `gc reload --json` prints. Its keys are a promise to scripts."""
    return {
        "accepted": not problems,
        "message": message,
        **{key: list(names) for key, names in asdict(found).items()},
        "problems": [asdict(problem) for problem in problems],
        "warnings": list(warnings),
    }


def _close(opened: Mapping[str, SessionProvider]) -> None:
    for provider in opened.values():
        try:
            provider.close()
        except Exception:  # noqa: BLE001  a provider is foreign code, and nobody needs this one
            traceback.print_exc()
