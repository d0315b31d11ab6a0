"""Events as they are written, for those who follow over the controller's socket.

The loop only rings: it says that there is something new, which costs it nothing and waits for
nobody. Each follower has the thread of its connection, which reads what is new from the journal by
number and sends it. One who reads slowly is therefore sent the rest later, none is sent an event
twice or misses one, and nothing piles up in memory. What was let go meanwhile is told as gone.
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
from gascity.journal.store import Journal

METHOD = "events"
MOVES = "moves"
MOST = 100  # followers at a time
PATIENCE = 5.0  # for the journal; only this follower waits


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
    }


class Feed:
    """The followers of one controller. `ring` and `close` are safe from any thread."""

    def __init__(self, journal: str) -> None:
        self._journal = journal
        self._lock = threading.Lock()
        self._bells: set[int] = set()
        self._closed = False

    def ring(self, _number: int = 0) -> None:
        """Tell the followers that events have been written, or that an agent stands otherwise."""
        with self._lock:
            for bell in self._bells:
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
            with self._bell() as bell:
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
        while True:
            closed = self._closed
            sent = _send(connection, journal, sent, wanted)
            if closed or not _rang(bell, connection):
                return

    @contextlib.contextmanager
    def _bell(self) -> Iterator[int]:
        """Yield a descriptor that can be read once something has happened."""
        ear, hand = os.pipe()
        os.set_blocking(hand, False)
        try:
            with self._lock:
                if len(self._bells) >= MOST:
                    raise GascityError(f"{MOST} follow the events of this city already")
                self._bells.add(hand)
            yield ear
        finally:
            with self._lock:
                self._bells.discard(hand)
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


def _send(connection: socket.socket, journal: Journal, sent: int, wanted: Wanted) -> int:
    """Send all that is new; return the number up to which all is sent."""
    for page in journal.events.every(sent, wanted):
        lines = [jsonrpc.request("event", document(entry), None) for entry in page.entries]
        if page.misses:
            gone = {"after": page.after, "first": page.first}
            lines.insert(0, jsonrpc.request("gone", gone, None))
        if page.anew:
            lines.insert(0, jsonrpc.request("anew", {}, None))
        if lines:
            connection.sendall(b"".join(lines))
        sent = page.upto
    return sent


def _pull(bell: int) -> None:
    with contextlib.suppress(BlockingIOError):  # it rings already
        os.write(bell, b"!")


def _read(params: jsonrpc.Params) -> tuple[int, Wanted]:
    after = params.get("after", 0)
    if not isinstance(after, int) or isinstance(after, bool) or after < 0:
        raise UsageError("`after` must be the number of an event")
    types, agents, pools = (_names(params, key) for key in ("types", "agents", "pools"))
    return after, Wanted(types, agents, pools)


def _names(params: jsonrpc.Params, key: str) -> tuple[str, ...]:
    names = params.get(key, [])
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise UsageError(f"`{key}` must be a list of names")
    return tuple(names)
