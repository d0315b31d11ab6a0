"""`gc bus follow`: every message once, whatever becomes of the controller and of old messages."""

from __future__ import annotations

import os
import signal
import subprocess
import time

import pytest
from tests.cli.conftest import GC, LIMIT, City
from tests.cli.test_follow_events import WAITING, Follower, kept, kill, write

from gascity.journal.bus import Bus
from gascity.journal.store import Journal
from gascity.testing.eventually import eventually


def follower(city: City, *words: str) -> Follower:
    return Follower(city, *words, command=("bus", "follow", "--json"))


def post(city: City, *bodies: str, kind: str = "INFO", **about: str) -> None:
    city.state.mkdir(exist_ok=True)
    with Bus(str(city.state / "city.db")) as bus:
        for body in bodies:
            bus.post(kind, body, **about)


def bodies(follower: Follower) -> list[object]:
    return [message["body"] for message in follower.events]


def test_what_others_post_is_pushed_by_the_controller(city: City) -> None:
    city.start()
    city.ok("bus", "post", "--type", "FACT", "zero")
    ear = follower(city, "--type", "FACT", "--project", "town")
    eventually(lambda: bodies(ear) == ["zero"], within=LIMIT)

    city.ok("bus", "post", "--type", "FACT", "one")
    city.ok("bus", "post", "not this one")
    city.ok("bus", "post", "--type", "FACT", "--project", "other", "nor this one")
    city.ok("bus", "post", "--type", "FACT", "two\nlines")

    eventually(lambda: bodies(ear) == ["zero", "one", "two\nlines"], within=LIMIT)
    assert ear.end() == 130
    assert ear.complaints == []


def connected(ear: Follower) -> bool:
    """Tell whether the follower has a socket, which can only lead to a controller."""
    folder = f"/proc/{ear.process.pid}/fd"
    return any(os.readlink(f"{folder}/{fd}").startswith("socket") for fd in os.listdir(folder))


def test_nothing_is_lost_or_doubled_across_the_ends_of_controllers(city: City) -> None:
    ear = follower(city, "-n", "0")
    eventually(ear.waits, within=LIMIT)
    told = 0
    for _ in range(2):
        post(city, *map(str, range(told, told + 10)))
        pid = city.start()
        eventually(lambda: connected(ear), within=LIMIT)
        post(city, *map(str, range(told + 10, told + 20)))
        kill(pid)
        post(city, *map(str, range(told + 20, told + 30)))
        told += 30
        eventually(lambda: bodies(ear) == list(map(str, range(told))), within=LIMIT)  # noqa: B023  within the round

    assert ear.waits()
    assert ear.end() == 130


def test_nothing_is_lost_across_trimming(city: City) -> None:
    """Old messages are let go all the time: what a follower was shown is not missed."""
    ear = follower(city)
    eventually(ear.waits, within=LIMIT)
    journal_path = str(city.state / "city.db")
    for n in range(10):
        post(city, f"a{n}", f"b{n}", f"c{n}")
        eventually(lambda: bodies(ear)[-1:] == [f"c{n}"], within=LIMIT)  # noqa: B023  within the round
        journal = Journal(journal_path, patience=5.0)
        while journal.trim(time.time() + 1, 0.1, 100):
            pass
        journal.close()

    expected = [f"{letter}{n}" for n in range(10) for letter in "abc"]
    assert bodies(ear) == expected
    assert ear.waits()
    assert kept(city) == []
    assert ear.end() == 130


def test_what_went_before_it_was_read_is_told(city: City) -> None:
    post(city, "a")
    ear = follower(city)
    eventually(ear.waits, within=LIMIT)
    post(city, "b")
    eventually(lambda: bodies(ear) == ["a", "b"], within=LIMIT)
    ear.process.send_signal(signal.SIGSTOP)  # it has the journal open by now, and only reads
    post(city, *"cde")
    journal = Journal(str(city.state / "city.db"))
    journal.trim(time.time() + 100, 1.0, 100)
    journal.close()
    post(city, "f")
    ear.process.send_signal(signal.SIGCONT)

    eventually(lambda: bodies(ear) == ["a", "b", "f"], within=LIMIT)
    assert ear.end() == 130
    assert ear.complaints == [WAITING, "events 3 to 5 are no longer kept\n"]


def test_a_journal_in_the_place_of_another_is_shown_from_its_beginning(city: City) -> None:
    """Also where it has come as far as the one that was moved away."""
    post(city, "a")
    ear = follower(city)
    eventually(ear.waits, within=LIMIT)
    post(city, "b")
    eventually(lambda: bodies(ear) == ["a", "b"], within=LIMIT)
    ear.process.send_signal(signal.SIGSTOP)
    for file in city.state.glob("city.db*"):
        file.rename(city.folder / f"old-{file.name}")
    post(city, *"cdefg")
    ear.process.send_signal(signal.SIGCONT)

    eventually(lambda: bodies(ear) == [*"abcdefg"], within=LIMIT)
    assert ear.end() == 130
    assert ear.complaints == [
        WAITING,
        "this is another journal: its events are shown from the first on\n",
    ]


@pytest.mark.parametrize("runs", [True, False], ids=["controller", "alone"])
def test_events_that_are_not_for_it_are_not_shown(city: City, runs: bool) -> None:
    write(city, 5)
    if runs:
        city.start()
    ear = follower(city)
    post(city, "one")
    write(city, 5)
    post(city, "two")

    eventually(lambda: bodies(ear) == ["one", "two"], within=LIMIT)
    assert ear.end() == 130
    assert ear.complaints in ([], [WAITING])


def test_a_bus_outside_of_cities_is_followed_from_before_it_is_there(city: City) -> None:
    """No controller is to be expected there, so nothing is said of one."""
    folder = city.folder.parent / "elsewhere"
    folder.mkdir()
    city.folder = folder  # from here on nobody finds a city
    env = {"XDG_STATE_HOME": str(folder / "state")}
    ear = Follower(city, command=("bus", "follow", "--json"), env=env)

    def heard() -> bool:
        subprocess.run(
            [GC, "bus", "post", "hello"], cwd=folder, env=city.environment(**env), check=True
        )
        return bool(bodies(ear))

    eventually(heard, within=LIMIT)
    assert set(bodies(ear)) == {"hello"}
    assert ear.end() == 130
    assert ear.complaints == []
