"""Events pushed over the controller's socket: each once, in order, and nobody is held up."""

from __future__ import annotations

import contextlib
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from gascity import asking, jsonrpc, unixsocket
from gascity.controller.control import ControlSocket
from gascity.controller.feed import METHOD, MOST, MOVES, UNTOLD, Feed
from gascity.controller.messages import Asked
from gascity.core.actions import Event, EventType
from gascity.core.memory import Memory
from gascity.errors import GascityError, RemoteError, Unanswered
from gascity.journal.bus import Bus
from gascity.journal.message import LARGEST
from gascity.journal.store import Journal
from gascity.testing.eventually import eventually

STARTED = Event(EventType.SESSION_STARTED, "mayor", "s", "r", "wanted")


@dataclass
class Office:
    """A journal, and a socket where it can be followed."""

    journal: Journal
    feed: Feed
    socket: str

    def write(self, count: int = 1, event: Event = STARTED) -> None:
        self.journal.write([(1.0, event)] * count, Memory())

    def follow(self, after: int = 0, **more: object) -> asking.Listener:
        return asking.Listener(self.socket, METHOD, {"after": after, **more}, timeout=20)


@pytest.fixture
def office(tmp_path: Path) -> Iterator[Office]:
    path = str(tmp_path / "city.db")
    feed = Feed(path)
    journal = Journal(path, written=feed.ring)
    streams = {METHOD: feed.serve, MOVES: feed.serve_moves}
    control = ControlSocket(str(tmp_path / "s"), _answer, streams)
    yield Office(journal, feed, str(tmp_path / "s"))
    feed.close()
    control.close()
    journal.close()


def _answer(asked: Asked) -> None:
    asked.answer({"method": asked.method})


def hear(listener: asking.Listener, count: int) -> list[int]:
    """Return the numbers of the next events, which must be so many."""
    numbers: list[int] = []
    while len(numbers) < count:
        notes = listener.hear()
        assert {note.method for note in notes} <= {"event"}
        numbers += [int(str(note.params["number"])) for note in notes]
    return numbers


def followers() -> int:
    return sum(thread.name == "control-client" for thread in threading.enumerate())


def test_what_was_written_comes_first_and_then_what_is_written(office: Office) -> None:
    office.write(3)
    with contextlib.closing(office.follow(after=1)) as listener:
        assert hear(listener, 2) == [2, 3]
        office.write(2)
        assert hear(listener, 2) == [4, 5]


def test_an_event_comes_with_all_there_is_of_it(office: Office) -> None:
    office.write(1, Event(EventType.DIALOG_FAILED, "a", "s", "r", "two\nlines 東京", "detail"))
    with contextlib.closing(office.follow()) as listener:
        (note,) = listener.hear()

    assert note.params == {
        "number": 1,
        "at": "1970-01-01T00:00:01.000Z",
        "type": "dialog.failed",
        "agent": "a",
        "session": "s",
        "run": "r",
        "message": "two\nlines 東京",
        "detail": "detail",
        "project": "",
        "task": "",
    }


def test_only_what_is_wanted_comes(office: Office) -> None:
    with contextlib.closing(office.follow(types=["agent."], pools=["crew"])) as listener:
        for kind in (EventType.AGENT_HELD, EventType.SESSION_STARTED):
            for name in ("crew-1", "crew", "crew-2"):
                office.write(1, Event(kind, name))

        assert hear(listener, 2) == [1, 3]


def test_what_another_process_posts_comes_as_well(office: Office, tmp_path: Path) -> None:
    post = "import sys; from gascity.journal.bus import Bus; Bus(sys.argv[1]).post('INFO', 'x')"
    with contextlib.closing(office.follow()) as listener:
        office.write(1)
        assert hear(listener, 1) == [1]

        for number in (2, 3):
            path = str(tmp_path / "city.db")
            subprocess.run([sys.executable, "-c", post, path], check=True)
            assert hear(listener, 1) == [number]

    eventually(lambda: not lookouts())


def lookouts() -> int:
    return sum(thread.name == "lookout" for thread in threading.enumerate())


def test_a_large_message_comes_whole(office: Office, tmp_path: Path) -> None:
    with (
        contextlib.closing(office.follow(messages=True)) as listener,
        Bus(str(tmp_path / "city.db")) as bus,
    ):
        for body in ("\0" * LARGEST, "👋" * (LARGEST // 4)):
            bus.post("INFO", body)
            notes: list[jsonrpc.Request] = []
            while not notes:
                notes = listener.hear()
            assert [note.params["message"] for note in notes] == [body]


@pytest.mark.parametrize(
    ("wanted", "numbers"),
    [
        ({"messages": True}, [1, 2, 4]),
        ({"messages": False}, [3]),
        ({"messages": None}, [1, 2, 3, 4]),
        ({"projects": ["p"]}, [1, 2]),
        ({"projects": ["p"], "tasks": ["t"]}, [2]),
        ({"runs": ["r"]}, [3, 4]),
        ({"runs": ["r"], "messages": True}, [4]),
        ({"types": ["FACT"]}, [2]),
    ],
)
def test_only_the_messages_that_are_wanted_come(
    office: Office, tmp_path: Path, wanted: dict[str, object], numbers: list[int]
) -> None:
    with contextlib.closing(office.follow(0, **wanted)) as listener:
        with Bus(str(tmp_path / "city.db")) as bus:
            bus.post("INFO", "1", project="p")
            bus.post("FACT", "2", project="p", task="t")
            office.write(1)
            bus.post("INFO", "4", run="r")

        assert hear(listener, len(numbers)) == numbers


def test_who_wants_little_is_told_now_and_then_how_far_nothing_was_for_it(office: Office) -> None:
    """Should the controller end, what was let go meanwhile is nothing that it missed."""
    with contextlib.closing(office.follow(messages=True)) as listener:
        for _ in range(UNTOLD):
            office.write(1)
        notes = listener.hear()

    assert [(note.method, note.params) for note in notes] == [("upto", {"number": UNTOLD})]


def test_one_who_does_not_read_holds_nobody_up_and_gets_the_rest_later(office: Office) -> None:
    """Far more than a socket holds is written while nobody reads: the writer does not notice."""
    big = Event(EventType.SESSION_STARTED, detail="x" * 10_000)
    with (
        contextlib.closing(office.follow()) as slow,
        contextlib.closing(office.follow()) as quick,
    ):
        for _ in range(200):
            office.write(5, big)
        assert hear(quick, 1000) == list(range(1, 1001))

        assert hear(slow, 1000) == list(range(1, 1001))


def test_one_who_was_too_slow_is_told_what_is_gone(office: Office) -> None:
    office.write(5)
    office.journal.trim(1000.0, 1.0, 100)
    office.write(1)

    with contextlib.closing(office.follow(after=2)) as listener:
        notes = listener.hear()

    assert [(note.method, note.params.get("first")) for note in notes] == [
        ("gone", 6),
        ("event", None),
    ]


def test_a_number_from_another_journal_is_told_and_all_is_sent(office: Office) -> None:
    office.write(2)

    with contextlib.closing(office.follow(after=700)) as listener:
        notes = listener.hear()

    assert [note.method for note in notes] == ["anew", "event", "event"]


def test_a_follower_that_dies_leaves_nothing_behind(office: Office) -> None:
    """Also one that no event is for: its end is noticed without writing to it."""
    before = followers()
    for _ in range(20):
        office.follow(agents=["nobody"]).close()

    eventually(lambda: followers() <= before and not office.feed._bells)
    office.write(1)
    assert not office.feed._bells


def test_no_more_than_so_many_follow_and_the_others_are_told(office: Office) -> None:
    with contextlib.ExitStack() as stack:
        for _ in range(MOST):
            stack.enter_context(contextlib.closing(office.follow()))

        with pytest.raises(RemoteError, match=f"{MOST} follow the events"):
            office.follow()


@pytest.mark.parametrize(
    "params",
    [
        {"after": -1},
        {"after": "x"},
        {"after": True},
        {"types": "x"},
        {"agents": [1]},
        {"projects": [1]},
        {"messages": 1},
    ],
)
def test_nonsense_is_answered_with_an_error(office: Office, params: dict[str, object]) -> None:
    with pytest.raises(RemoteError, match="must be"):
        asking.Listener(office.socket, METHOD, params, timeout=20)


def test_other_questions_are_answered_on_the_same_connection_before(office: Office) -> None:
    with unixsocket.connect(office.socket, timeout=20) as raw:
        raw.sendall(jsonrpc.request("ping", {}, 1) + jsonrpc.request(METHOD, {"after": 0}, 2))
        lines = raw.makefile("rb")

        assert b'"method":"ping"' in lines.readline()
        assert b'"after":0' in lines.readline()
        lines.close()


def test_the_end_of_the_controller_comes_after_its_last_event(office: Office) -> None:
    with contextlib.closing(office.follow()) as listener:
        office.write(1, Event(EventType.CONTROLLER_STOPPED))
        office.feed.close()

        assert hear(listener, 1) == [1]
        with pytest.raises(Unanswered, match="hung up"):
            listener.hear()


def test_a_journal_that_breaks_ends_the_following_with_an_error(office: Office) -> None:
    with contextlib.closing(office.follow()) as listener:
        office.write(1)
        assert hear(listener, 1) == [1]
        office.journal._db.execute("UPDATE event SET at = 'noon'")
        office.journal._db.execute(
            "INSERT INTO event SELECT 2, at, '', '', '', '', '', '', '', '' FROM event"
        )
        office.feed.ring(2)

        with pytest.raises(RemoteError, match="cannot be used"):
            listener.hear()


def test_nobody_there_is_told_from_nobody_answering(tmp_path: Path) -> None:
    with pytest.raises(GascityError, match="nobody listens"):
        asking.Listener(str(tmp_path / "none"), METHOD, {}, timeout=1)
    with socket.socket(socket.AF_UNIX) as mute:
        mute.bind(str(tmp_path / "mute"))
        mute.listen(1)
        with pytest.raises(Unanswered, match="in time"):
            asking.Listener(str(tmp_path / "mute"), METHOD, {}, timeout=0.1)


def test_who_waits_for_moves_is_told_that_there_was_one_and_nothing_else(office: Office) -> None:
    with contextlib.closing(asking.Listener(office.socket, MOVES, {}, timeout=20)) as listener:
        eventually(lambda: office.feed._bells)
        office.feed.ring()
        first = listener.hear()
        office.write()
        second = listener.hear()

    assert {(note.method, *note.params) for note in (*first, *second)} == {("moved",)}
    eventually(lambda: not office.feed._bells)


def hear_moves(listener: asking.Listener) -> None:
    """Hear of moves for ever: one may come with the end, or none."""
    while True:
        assert {note.method for note in listener.hear()} == {"moved"}


def test_who_waits_for_moves_hears_the_end(office: Office) -> None:
    with contextlib.closing(asking.Listener(office.socket, MOVES, {}, timeout=20)) as listener:
        eventually(lambda: office.feed._bells)
        office.feed.close()

        with pytest.raises(Unanswered):
            hear_moves(listener)


def test_too_many_who_wait_for_moves_are_refused(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gascity.controller.feed.MOST", 0)

    with pytest.raises(RemoteError, match="follow the events of this city already"):
        asking.Listener(office.socket, MOVES, {}, timeout=20)
