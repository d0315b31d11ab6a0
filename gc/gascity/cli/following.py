"""Following the events of a journal, or the messages in it, whether or not a controller runs.

A controller tells what it writes. Without one the journal's file is watched, until there is one
again. Whoever tells, each event is known by its number, and one that was shown is never shown
again: what was missed in between is read from the journal.
"""

from __future__ import annotations

import contextlib
import os
import select
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, NoReturn

from gascity.asking import Listener
from gascity.controller.feed import METHOD, asked_for, document
from gascity.errors import GascityError, RemoteError, Unanswered, Unreachable
from gascity.journal.lookout import changes
from gascity.journal.store import Journal
from gascity.journal.where import in_a_city
from gascity.jsonrpc import Request

if TYPE_CHECKING:
    from gascity.journal.events import Wanted

TIMEOUT = 10.0  # for the controller to say that it will tell
PATIENCE = 5.0  # for a journal that somebody is changing
NOBODY = "no controller runs"


class Follower:
    """Shows every event above a number, until it is interrupted."""

    def __init__(
        self,
        journal: str,
        wanted: Wanted,
        after: int,
        show: Callable[[Mapping[str, object]], None],
    ) -> None:
        self._wanted = wanted
        self._after = after
        self._known = (0, "")  # an event that was there, and its time: another journal has others
        self._show = show
        self._path = os.path.realpath(journal)
        self._socket = os.path.join(os.path.dirname(self._path), "controller.sock")
        self._why = NOBODY
        self._said = not in_a_city(self._path)  # elsewhere no controller is to be expected

    def run(self) -> NoReturn:
        """Follow for ever. Raises BrokenPipeError when nobody reads any more."""
        sys.stdout.flush()
        while True:
            listener = self._listener() or self._watch()
            try:
                self._listen(listener)
            finally:
                listener.close()

    # --- with a controller

    def _listener(self) -> Listener | None:
        self._why = NOBODY
        if not os.path.exists(self._socket):
            return None
        asked = asked_for(self._after, self._wanted)
        try:
            return Listener(self._socket, METHOD, asked, timeout=TIMEOUT)
        except (RemoteError, Unanswered):  # it is too old to tell, or too many follow already
            self._why = "the controller does not tell"
            return None
        except Unreachable:
            return None

    def _listen(self, listener: Listener) -> None:
        """Show what the controller tells, until it is gone."""
        poll = select.poll()
        poll.register(listener, select.POLLIN)
        _mind_the_reader(poll)
        while True:
            heard = [] if listener.pending else poll.poll()
            if any(descriptor != listener.fileno() for descriptor, _ in heard):
                raise BrokenPipeError
            try:
                notes = listener.hear()
            except GascityError:
                return
            for note in notes:
                self._take(note)
            sys.stdout.flush()

    def _take(self, note: Request) -> None:
        match note.method, note.params:
            case "event", {"number": int(number), "at": str(), **_rest} if number > self._after:
                self._show(note.params)
                self._after, self._known = number, (number, str(note.params["at"]))
            case "upto", {"number": int(number)}:
                self._after = max(self._after, number)
            case "gone", {"after": int(after), "first": int(first)}:
                self._miss(after, first)
            case "anew", _:
                self._begin_anew()
            case _:  # what a newer controller tells besides
                pass

    # --- without one

    def _watch(self) -> Listener:
        """Show what comes into the journal, until a controller tells; return who listens to it."""
        if not self._said:
            self._said = True
            _say(f"{self._why}: the journal is watched until one does")
        with contextlib.ExitStack() as stack:
            journal: Journal | None = None
            file = 0
            for _ in changes(os.path.dirname(self._path), threading.Event()):
                look_at_the_reader()
                there = _identity(self._path)
                if there != file:
                    stack.close()
                    file = there
                    journal = stack.enter_context(_opened(self._path)) if there else None
                    if journal is not None and self._is_another(journal):
                        self._begin_anew()
                if journal is not None:
                    self._catch_up(journal)
                if listener := self._listener():
                    return listener
        raise AssertionError("a watch never ends of itself")

    def _catch_up(self, journal: Journal) -> None:
        for page in journal.events.every(self._after, self._wanted):
            if page.anew:
                self._begin_anew()
            if page.misses:
                self._miss(page.after, page.first)
            for entry in page.entries:
                self._show(document(entry))
            self._after = page.upto
        sys.stdout.flush()
        if self._known[0] != self._after:
            self._known = (self._after, _moment(journal, self._after))

    def _is_another(self, journal: Journal) -> bool:
        """Tell whether this is not the journal that was read so far, as well as can be known.

        It may have numbers as high as that one had.
        """
        number, known = self._known
        found = _moment(journal, number)
        return bool(known and found and found != known)

    # --- what is lost

    def _miss(self, after: int, first: int) -> None:
        _say(gone(after, first))
        self._after = first - 1

    def _begin_anew(self) -> None:
        _say("this is another journal: its events are shown from the first on")
        self._after, self._known = 0, (0, "")


def gone(after: int, first: int) -> str:
    """Return what to tell of events that were let go before they were read."""
    return f"events {after + 1} to {first - 1} are no longer kept"


@contextlib.contextmanager
def _opened(path: str) -> Iterator[Journal]:
    journal = Journal(path, patience=PATIENCE)
    try:
        yield journal
    finally:
        journal.close()


def _moment(journal: Journal, number: int) -> str:
    """Return when an event happened, as programs get it; empty when it is not there."""
    for entry in journal.events.page(number - 1, limit=1).entries:
        if entry.number == number:
            return str(document(entry)["at"])
    return ""


def _identity(path: str) -> int:
    """Return what tells the file at a path from another that takes its place; 0 for no file."""
    try:
        return os.stat(path).st_ino
    except FileNotFoundError:
        return 0


def _mind_the_reader(poll: select.poll) -> None:
    """Have the end of whoever reads our output noticed, even while there is nothing to print."""
    with contextlib.suppress(OSError, ValueError):  # an output that is no file has no reader
        poll.register(sys.stdout.fileno(), 0)


def look_at_the_reader() -> None:
    """Raise BrokenPipeError when whoever reads our output is gone."""
    poll = select.poll()
    _mind_the_reader(poll)
    if poll.poll(0):
        raise BrokenPipeError


def _say(text: str) -> None:
    sys.stderr.write(text + "\n")
    sys.stderr.flush()
