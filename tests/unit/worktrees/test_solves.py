"""Where attempts are written down: whole and held from the first moment, or not there."""

from __future__ import annotations

import os
import threading
from dataclasses import replace
from pathlib import Path

import pytest
from tests.unit.worktrees.test_record import SOLVE

from gascity.errors import GascityError, NotFound
from gascity.runs.places import Home
from gascity.worktrees import solves
from gascity.worktrees.place import SolveHeld, SolvePlace
from gascity.worktrees.record import Solve


def made(home: Home, least: int = 1) -> tuple[SolvePlace, int]:
    def record(number: int) -> Solve:
        return replace(SOLVE, attempt=number)

    return solves.create(home, "p", "1", least, record, b"the issue")


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(str(tmp_path / "home"))


def test_a_new_attempt_is_there_as_a_whole_and_held(home: Home) -> None:
    place, descriptor = made(home)

    assert place.read() == SOLVE
    assert Path(place.path, "issue.md").read_bytes() == b"the issue"
    assert place.is_held()
    with pytest.raises(SolveHeld):
        place.hold()
    os.close(descriptor)
    assert not place.is_held()


def test_who_is_about_to_let_go_of_what_is_over_is_waited_for(home: Home) -> None:
    place, descriptor = made(home)
    place.change(lambda now: replace(now, ended="2026-03-01T15:04:05Z"))
    held: list[int] = []
    waits = threading.Thread(target=lambda: held.append(place.hold()))
    waits.start()
    waits.join(3.0)  # longer than who is at work is waited for

    assert waits.is_alive()
    os.close(descriptor)
    waits.join()
    os.close(held[0])


def test_attempts_are_numbered_from_what_is_free(home: Home) -> None:
    found = [made(home), made(home), made(home, 7), made(home)]
    for _, descriptor in found:
        os.close(descriptor)

    assert [place.attempt for place, _ in found] == [1, 2, 7, 8]
    assert [place.attempt for place in solves.places(home)] == [1, 2, 7, 8]


def test_many_at_once_get_a_number_each(home: Home) -> None:
    found: list[tuple[SolvePlace, int]] = []
    threads = [threading.Thread(target=lambda: found.append(made(home))) for _ in range(10)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for _, descriptor in found:
        os.close(descriptor)

    assert sorted(place.attempt for place, _ in found) == list(range(1, 11))
    assert all(place.read().attempt == place.attempt for place, _ in found)


def test_changes_of_many_are_not_lost(home: Home) -> None:
    place, descriptor = made(home)

    def add() -> None:
        place.change(lambda now: replace(now, number=now.number + 1))

    threads = [threading.Thread(target=add) for _ in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    os.close(descriptor)

    assert place.read().number == SOLVE.number + 20


def test_what_is_removed_leaves_no_folder(home: Home) -> None:
    places = [made(home) for _ in range(2)]
    for place, descriptor in places:
        os.close(descriptor)
        place.remove()

    assert os.listdir(home.path) == []
    with pytest.raises(NotFound):
        places[0][0].change(lambda now: now)


def test_what_a_killed_one_left_is_swept_and_a_living_one_left_alone(home: Home) -> None:
    place, descriptor = made(home)
    os.close(descriptor)
    folder = Path(place.path).parent
    for name in ("dead", "young"):
        (folder / f".new-{name}").mkdir()
        (folder / f".new-{name}" / ".solver.lock").touch()  # who made it is about to lock it
    (folder / ".new-dead" / ".solver.lock").write_text("\n")
    place.remove()
    solves.sweep(home)

    assert os.listdir(folder) == [".new-young"]


def test_a_place_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "home").write_text("a file")

    with pytest.raises(GascityError, match="nothing can be kept in "):
        made(Home(str(tmp_path / "home")))
