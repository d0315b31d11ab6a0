"""`gc events`: what happened, for people and programs; which of it; and what is said if not."""

from __future__ import annotations

import json
import os
import re
import time
from pathlib import Path

import pytest
from tests.cli.conftest import HEAD, SLEEPERS, City, Inside, MakeCity

from gascity.core.actions import Event, EventType
from gascity.core.memory import Memory
from gascity.journal.store import Journal

CREW = '[[agents]]\nname = "crew"\nstart_command = "true"\npool = { min = 0, max = 3 }\n'
ALL = '[[agents]]\nname = "all"\ndir = "rigs"\nstart_command = "true"\n'
NOW = time.time()


@pytest.fixture
def past(make_city: MakeCity) -> City:
    """Return a city that does not run, with fourteen events in its journal."""
    city = make_city(HEAD + SLEEPERS + CREW + ALL)
    now = time.time()
    write(
        city,
        (now - 7200, Event(EventType.CONTROLLER_STARTED)),
        *((now - 3600, Event(EventType.SESSION_STARTED, name, f"gc-{name}")) for name in "abc"),
        (now - 3600, Event(EventType.SESSION_STARTED, "rigs/all")),
        *((now - 600, Event(EventType.AGENT_HELD, f"crew-{n}")) for n in (1, 2, 9)),
        (now - 600, Event(EventType.SESSION_CRASHED, "gone", message="status 3")),
        *((now - 600, Event(EventType.AGENT_HELD, name)) for name in ("old-1", "old-2", "x/far")),
        (
            now - 5,
            Event(EventType.SESSION_CRASHED, "a", "gc-a", "r1", "two\n lines\x1b[2J 東京", "d"),
        ),
        (now - 5, Event(EventType.CONTROLLER_STOPPED, message="it got SIGINT")),
    )
    return city


def write(city: City, *happened: tuple[float, Event]) -> None:
    city.state.mkdir(exist_ok=True)
    journal = Journal(str(city.state / "city.db"))
    journal.write(happened, Memory())
    journal.close()


def numbers(text: str) -> list[int]:
    return [json.loads(line)["number"] for line in text.splitlines()]


def test_a_city_without_a_journal_has_no_events_yet(inside: Inside, city: City) -> None:
    done = inside("-C", str(city.folder), "events")

    assert (done.returncode, done.stdout, done.stderr) == (0, "no events yet\n", "")
    assert inside("-C", str(city.folder), "events", "--json").stdout == ""
    assert not city.state.exists()


def test_a_person_reads_one_line_an_event_in_order(inside: Inside, past: City) -> None:
    done = inside("-C", str(past.folder), "events")

    lines = done.stdout.splitlines()
    assert len(lines) == 14
    assert re.fullmatch(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d  controller started", lines[0])
    assert lines[1].endswith("  a         started")
    assert lines[-2].endswith(r"  a         crashed: two lines\x1b[2J 東京; d")
    assert lines[-1].endswith("  controller stopped: it got SIGINT")


def test_a_program_reads_one_object_a_line(inside: Inside, past: City) -> None:
    done = inside("-C", str(past.folder), "events", "--json", "-n", "2")

    event = json.loads(done.stdout.splitlines()[0])
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", event.pop("at"))
    assert event == {
        "number": 13,
        "type": "session.crashed",
        "agent": "a",
        "session": "gc-a",
        "run": "r1",
        "message": "two\n lines\x1b[2J 東京",
        "detail": "d",
        "project": "",
        "task": "",
    }


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ([], list(range(1, 15))),
        (["-n", "3"], [12, 13, 14]),
        (["--since", "12"], [13, 14]),
        (["--since", "0"], list(range(1, 15))),
        (["--since", "10", "-n", "1"], [14]),
        (["--since", "14"], []),
        (["--since", "30m"], list(range(6, 15))),
        (["--since", "1m"], [13, 14]),
        (["--type", "session.crashed"], [9, 13]),
        (["--type", "session"], [2, 3, 4, 5, 9, 13]),
        (["--type", "controller.", "--type", "agent"], [1, 6, 7, 8, 10, 11, 12, 14]),
        (["--agent", "a"], [2, 13]),
        (["--agent", "a", "--agent", "rigs/all"], [2, 5, 13]),
        (["--agent", "all"], [5]),
        (["--agent", "crew"], [6, 7, 8]),
        (["--agent", "crew-2"], [7]),
        (["--agent", "gone"], [9]),
        (["--agent", "old"], [10, 11]),
        (["--agent", "far"], [12]),
        (["--agent", "a", "--type", "session.crashed", "--since", "1h"], [13]),
    ],
)
def test_only_what_is_asked_for_is_shown(
    inside: Inside, past: City, words: list[str], expected: list[int]
) -> None:
    done = inside("-C", str(past.folder), "events", "--json", *words)

    assert (done.returncode, done.stderr) == (0, "")
    assert numbers(done.stdout) == expected


def test_a_time_can_be_given_with_and_without_a_zone(inside: Inside, past: City) -> None:
    local = time.strftime("%Y-%m-%dT%H:%M:%S", time.localtime(time.time() - 60))
    world = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() - 60))

    for when in (local, world):
        assert numbers(
            inside("-C", str(past.folder), "events", "--json", "--since", when).stdout
        ) == [
            13,
            14,
        ]


def test_fifty_are_shown_and_all_with_zero(inside: Inside, city: City) -> None:
    write(city, *[(NOW, Event(EventType.AGENT_HELD, "a"))] * 1200)
    ask = ["-C", str(city.folder), "events", "--json"]

    assert numbers(inside(*ask).stdout) == list(range(1151, 1201))
    assert numbers(inside(*ask, "-n", "0").stdout) == list(range(1, 1201))
    assert numbers(inside(*ask, "--since", "100").stdout) == list(range(101, 1201))


def test_nothing_found_is_said_to_people_alone(inside: Inside, past: City) -> None:
    ask = ["-C", str(past.folder), "events", "--type", "nudge"]

    assert inside(*ask).stdout == "no such events\n"
    assert inside(*ask, "--json").stdout == ""


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (["--type", "sesion.crashed"], 2, 'type "sesion.crashed"\nhint: did you mean "session.cr'),
        (["--type", "moon"], 2, 'no events of type "moon"\nhint: types begin with: agent, alert'),
        (["--type", ""], 2, "--type is empty"),
        (["--agent", "cre"], 4, 'no agent "cre" in this city\nhint: did you mean "crew'),
        (["--since", "soon"], 2, '--since cannot be "soon"\nhint: a duration such as 10m'),
        (["--since", "-5"], 2, '--since cannot be "-5"'),
        (["--since", "15"], 2, "there was no event 15 yet\nhint: the last one is 14"),
        (["--since", "9" * 18], 2, "there was no event 9999"),
        (["-n", "-1"], 2, "invalid value for '-n'"),
    ],
)
def test_what_makes_no_sense_is_one_clear_sentence(
    inside: Inside, past: City, words: list[str], code: int, says: str
) -> None:
    done = inside("-C", str(past.folder), "events", *words)

    assert done.returncode == code
    assert says in done.stderr
    assert not done.stdout


def test_a_broken_city_file_hides_no_history(inside: Inside, past: City) -> None:
    past.write("not [ toml")
    ask = ["-C", str(past.folder), "events", "--json"]

    assert numbers(inside(*ask, "--agent", "a").stdout) == [2, 13]
    done = inside(*ask, "--agent", "nobody")
    assert done.returncode == 4
    assert "`gc check` tells why" in done.stderr


def test_numbers_that_are_gone_are_told(inside: Inside, past: City) -> None:
    journal = Journal(str(past.state / "city.db"))
    journal.trim(time.time(), 3000.0, 100)
    journal.close()

    done = inside("-C", str(past.folder), "events", "--json", "--since", "3")

    assert done.stderr == "events 4 to 5 are no longer kept\n"
    assert numbers(done.stdout) == list(range(6, 15))
    assert inside("-C", str(past.folder), "events", "--json").stderr == ""


def test_a_type_of_a_newer_gc_is_shown_by_its_name(inside: Inside, past: City) -> None:
    journal = Journal(str(past.state / "city.db"))
    journal._db.execute(
        "INSERT INTO event VALUES (15, ?, 'moon.landed', 'a', '', '', 'softly', '', '', '')",
        (NOW,),
    )
    journal.close()
    ask = ["-C", str(past.folder), "events"]

    assert inside(*ask, "-n", "1").stdout.endswith("  a  moon.landed: softly\n")
    assert numbers(inside(*ask, "--json", "--type", "moon").stdout) == [15]


@pytest.mark.parametrize("rubbish", [b"no database" * 1000, b""])
def test_a_damaged_journal_is_told_with_a_way_out(
    inside: Inside, city: City, rubbish: bytes
) -> None:
    city.state.mkdir()
    path = city.state / "city.db"
    path.write_bytes(rubbish)

    done = inside("-C", str(city.folder), "events")

    if rubbish:
        assert done.returncode == 1
        assert done.stderr.startswith(f"error: {path} cannot be used: file is not a database\n")
        assert "move it away" in done.stderr
        assert path.read_bytes() == rubbish
    else:  # a controller that was killed before it wrote anything
        assert (done.returncode, done.stdout) == (0, "no events yet\n")


def test_a_city_whose_journal_is_damaged_does_not_start_on_a_new_one(city: City) -> None:
    write(city, *[(NOW, Event(EventType.AGENT_HELD, "a", detail="x" * 900))] * 500)
    path = city.state / "city.db"
    whole = path.read_bytes()
    path.write_bytes(whole[:200_000] + b"\xa5" * 8192 + whole[208_192:])

    done = city.gc("start", "--detach")

    assert done.returncode == 1
    assert done.stderr.startswith(f"error: {path} cannot be used: ")
    assert "move it away" in done.stderr
    for left in ("city.db", "city.db-wal", "city.db-shm"):
        if os.path.exists(city.state / left):
            os.rename(city.state / left, city.state / f"{left}.bad")
    city.start()
    assert "controller started" in city.ok("events")


def test_the_shell_is_offered_types_and_agents(past: City) -> None:
    def offered(line: str) -> list[str]:
        count = str(len(line.split(" ")) - 1)
        env = {"_GC_COMPLETE": "complete_bash", "COMP_WORDS": line, "COMP_CWORD": count}
        done = past.gc(env=env)
        assert not done.stderr
        return done.stdout.split()

    assert offered("gc events --type session.st") == [
        "session.start_failed",
        "session.started",
        "session.stop_failed",
        "session.stopped",
    ]
    assert offered("gc events --type p") == ["provider", "provider.back", "provider.lost"]
    assert offered("gc events --agent c") == ["c", "crew", "crew-1", "crew-2", "crew-3"]


def test_outside_a_city_it_says_so(outside: Inside, tmp_path: Path) -> None:
    assert outside("events").returncode == 4
