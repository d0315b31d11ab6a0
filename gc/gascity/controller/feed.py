"""Events as they are written, for those who follow over the controller's socket.

The loop only rings: it says that there is something new, which costs it nothing and waits for
nobody. Each follower has the thread of its connection, which reads what is new from the journal by
number and sends it. One who reads slowly is therefore sent the rest later, none is sent an event
twice or misses one, and nothing piles up in memory. What was let go meanwhile is told as gone.
Others may write to the journal, too, as `gc bus post` does: while somebody follows, it is watched.
"""

from __future__ import annotations

import contextlib
import os
import select
import socket
import threading
from collections.abc import Iterator
from datetime import UTC, datetime

from gascity import jsonrpc
from gascity.errors import GascityError, UsageError
from gascity.journal.events import Entry, Wanted
from gascity.journal.lookout import Lookout
from gascity.journal.store import Journal

METHOD = "events"
MOVES = "moves"
MOST = 100  # followers at a time
UNTOLD = 100  # events that are not for a follower, after which it is told how far nothing was
PATIENCE = 5.0  # for the journal; only this follower waits


_LISTS = ("types", "agents", "pools", "projects", "tasks", "runs")


def asked_for(after: int, wanted: Wanted) -> dict[str, object]:
    """Return what a follower asks for who wants these; `since` is no part of it."""
    lists = {key: list(getattr(wanted, key)) for key in _LISTS}
    return {"after": after, **lists, "messages": wanted.messages}


def document(entry: Entry) -> dict[str, object]:
    """Return an event as programs get it."""
    moment = datetime.fromtimestamp(entry.at, UTC)
    return {
        "number": entry.number,
        "at": moment.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        "type": entry.type,
        "agent": entry.agent,
        "session": entry.session,
        "run": entry.run,
        "message": entry.message,
        "detail": entry.detail,
        "project": entry.project,
        "task": entry.task,
    }


class Feed:
    """The followers of one controller. `ring` and `close` are safe from any thread."""

    def __init__(self, journal: str) -> None:
        self._journal = journal
        self._lock = threading.Lock()
        self._bells: set[int] = set()
        self._readers: set[int] = set()
        self._lookout = Lookout(journal, self._ring_readers)
        self._closed = False

    def ring(self, _number: int = 0) -> None:
        """Tell the followers that events have been written, or that an agent stands otherwise."""
        with self._lock:
            for bell in self._bells:
                _pull(bell)

    def _ring_readers(self) -> None:
        with self._lock:
            for bell in self._readers:
                _pull(bell)

    def close(self) -> None:
        """Send every follower what there is, and hang up."""
        self._closed = True
        self.ring()

    def serve(self, connection: socket.socket, asked: jsonrpc.Request) -> None:
        """Send events until the follower hangs up; this is the thread of its connection.

        Raises OSError when the connection breaks.
        """
        try:
            after, wanted = _read(asked.params)
            with self._lookout, self._bell(reads=True) as bell:
                journal = Journal(self._journal, patience=PATIENCE)
                try:
                    connection.sendall(jsonrpc.result(asked.id, {"after": after}))
                    self._follow(connection, bell, journal, after, wanted)
                finally:
                    journal.close()
        except GascityError as problem:
            _refuse(connection, asked, problem)

    def serve_moves(self, connection: socket.socket, asked: jsonrpc.Request) -> None:
        """Send a note whenever the status may be another, until the follower hangs up.

        A note carries nothing: whoever gets it asks. Raises OSError when the connection breaks.
        """
        try:
            with self._bell() as bell:
                connection.sendall(jsonrpc.result(asked.id, {}))
                while not self._closed and _rang(bell, connection):
                    connection.sendall(jsonrpc.request("moved", {}, None))
        except GascityError as problem:
            _refuse(connection, asked, problem)

    def _follow(
        self,
        connection: socket.socket,
        bell: int,
        journal: Journal,
        sent: int,
        wanted: Wanted,
    ) -> None:
        known = sent
        while True:
            closed = self._closed
            sent, known = _send(connection, journal, sent, known, wanted)
            if closed or not _rang(bell, connection):
                return

    @contextlib.contextmanager
    def _bell(self, *, reads: bool = False) -> Iterator[int]:
        """Yield a descriptor that can be read once something has happened.

        With `reads` also when it may be in the journal alone.
        """
        ear, hand = os.pipe()
        os.set_blocking(hand, False)
        try:
            with self._lock:
                if len(self._bells) >= MOST:
                    raise GascityError(f"{MOST} follow the events of this city already")
                self._bells.add(hand)
                if reads:
                    self._readers.add(hand)
            yield ear
        finally:
            with self._lock:
                self._bells.discard(hand)
                self._readers.discard(hand)
                os.close(hand)
            os.close(ear)


def _rang(bell: int, connection: socket.socket) -> bool:
    """Wait for the bell; tell whether it rang before the follower hung up."""
    poll = select.poll()
    poll.register(bell, select.POLLIN)
    poll.register(connection, select.POLLIN)  # a follower says nothing more: this is its end
    if connection.fileno() in dict(poll.poll()):
        return False
    os.read(bell, 65536)
    return True


def _refuse(connection: socket.socket, asked: jsonrpc.Request, problem: GascityError) -> None:
    data = {"exit": int(problem.exit_code), "hint": problem.hint}
    connection.sendall(jsonrpc.error(asked.id, jsonrpc.FAILED, problem.message, data))


def _send(
    connection: socket.socket, journal: Journal, sent: int, known: int, wanted: Wanted
) -> tuple[int, int]:
    """Send all that is new; return up to which number all is sent, and what the follower knows.

    It knows the last event it got, and now and then it is told how far nothing was for it: should
    this controller end, it need not ask what became of all that.
    """
    for page in journal.events.every(sent, wanted):
        lines = [jsonrpc.request("event", document(entry), None) for entry in page.entries]
        if page.misses:
            gone = {"after": page.after, "first": page.first}
            lines.insert(0, jsonrpc.request("gone", gone, None))
        if page.anew:
            lines.insert(0, jsonrpc.request("anew", {}, None))
        sent = page.upto
        known = page.entries[-1].number if page.entries else min(known, sent)
        if sent - known >= UNTOLD:
            lines.append(jsonrpc.request("upto", {"number": sent}, None))
            known = sent
        if lines:
            connection.sendall(b"".join(lines))
    return sent, known


def _pull(bell: int) -> None:
    with contextlib.suppress(BlockingIOError):  # it rings already
        os.write(bell, b"!")


def _read(params: jsonrpc.Params) -> tuple[int, Wanted]:
    after = params.get("after", 0)
    if not isinstance(after, int) or isinstance(after, bool) or after < 0:
        raise UsageError("`after` must be the number of an event")
    messages = params.get("messages")
    if messages is not None and not isinstance(messages, bool):
        raise UsageError("`messages` must be true, false or null")
    types, agents, pools, projects, tasks, runs = (_names(params, key) for key in _LISTS)
    return after, Wanted(types, agents, pools, None, projects, tasks, runs, messages)


def _names(params: jsonrpc.Params, key: str) -> tuple[str, ...]:
    names = params.get(key, [])
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise UsageError(f"`{key}` must be a list of names")
    return tuple(names)
