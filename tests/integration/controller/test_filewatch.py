"""The thread that tells of changed files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from gascity.controller import filewatch
from gascity.controller.filewatch import FileWatch
from gascity.controller.messages import Changed, Message
from gascity.controller.sources import Watched, signed, watched
from gascity.testing.eventually import eventually

heard: list[str] = []


class Attentive(Watched):
    """Notes every path that is told."""

    def matters(self, path: str) -> bool:
        heard.append(path)
        return Watched.matters(self, path)


def attentive(sources: Sequence[str], root: str) -> Watched:
    place = watched(sources, root)
    return Attentive(place.folders, place.paths, place.listed)


class Watching:
    """A folder whose file is watched, and what was told."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.file = root / "city.toml"
        self.file.write_text("one")
        self.posted: list[Message] = []
        self.watch = FileWatch(str(root), self.posted.append)

    def begin(self) -> None:
        self.watch.expect([str(self.file)], signed([str(self.file)]))
        marker = self.root / "marker"
        eventually(lambda: marker.write_text("x") and str(marker) in heard)  # it listens
        heard.clear()


@pytest.fixture
def watching(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Watching]:
    monkeypatch.setattr(filewatch, "watched", attentive)
    heard.clear()
    made = Watching(tmp_path.resolve())
    yield made
    made.watch.close()


def test_what_is_no_source_wakes_nobody(watching: Watching) -> None:
    (watching.root / ".gc").mkdir()
    watching.begin()
    for number in range(50):
        (watching.root / ".gc" / f"{number}.db").write_text("x")
        (watching.root / f"{number}.txt").write_text("x")
    eventually(lambda: str(watching.root / "49.txt") in heard)
    watching.file.write_text("two")
    eventually(lambda: watching.posted)

    assert watching.posted == [Changed()]
    assert not [path for path in heard if "/.gc/" in path]


def test_a_change_between_the_reading_and_the_watch_is_told(watching: Watching) -> None:
    before = signed([str(watching.file)])
    watching.file.write_text("something else")
    watching.watch.expect([str(watching.file)], before)
    eventually(lambda: watching.posted)

    assert watching.posted == [Changed()]


def test_a_closed_watch_ends_its_thread(watching: Watching) -> None:
    watching.begin()
    watching.watch.close()
    thread = watching.watch._thread
    assert thread is not None
    thread.join(10)

    assert not thread.is_alive()
