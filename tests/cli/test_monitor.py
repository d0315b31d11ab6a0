"""`gc health` and `gc metrics`, in cities that are well, sick, frozen and gone."""

from __future__ import annotations

import json
import os
import signal
import stat
from pathlib import Path

from tests.cli.conftest import HEAD, LIMIT, City, Inside, MakeCity
from tests.unit.patrol.test_metrics import lint, value

from gascity.testing.eventually import eventually

BAD = '[[agents]]\nname = "bad"\nstart_command = "exit 1"\nmax_restarts = 1\n'
GOOD = '[[agents]]\nname = "good"\nstart_command = "sleep 1000"\n'
AWAY = '[[agents]]\nname = "away"\nstart_command = "sleep 1000"\nsuspended = true\n'


def test_a_city_that_runs_is_healthy(quiet: City) -> None:
    found = json.loads(quiet.ok("health", "--json"))

    assert quiet.ok("health") == "town: healthy\n"
    assert found == {"healthy": True, "city": "town", "problems": [], "notes": []}


def test_a_city_that_nobody_keeps_is_degraded(city: City) -> None:
    done = city.gc("health")

    assert done.returncode == 1
    assert done.stdout == "town: degraded, 1 problem\ncritical  no controller runs\n"
    assert not done.stderr


def test_who_is_not_wanted_up_is_no_trouble(make_city: MakeCity) -> None:
    city = make_city(HEAD + GOOD + AWAY)
    city.gc("start", "--detach")
    city.wait_for("good", "ready")
    city.ok("stop", "good")

    city.wait_for("good", "stopped")
    assert city.ok("health").splitlines() == [
        "town: healthy",
        "note      away is suspended: suspended in the city file",
        "note      good is stopped: stopped with `gc stop`; `gc restart` starts it again",
    ]


def test_who_crashes_too_often_is_a_trouble(make_city: MakeCity) -> None:
    city = make_city(HEAD.replace("[daemon]", '[daemon]\nrestart_delay = "10ms"') + BAD + GOOD)
    city.gc("start", "--detach")
    city.wait_for("bad", "quarantined")
    done = city.gc("health", "--json")
    found = json.loads(done.stdout)

    assert done.returncode == 1
    assert not found["healthy"]
    assert found["problems"][0]["severity"] == "critical"
    assert (found["problems"][0]["agent"], found["problems"][0]["state"]) == ("bad", "quarantined")
    assert set(found["problems"][0]) == {"severity", "agent", "state", "text", "since"}


def test_who_is_muted_is_no_trouble(make_city: MakeCity) -> None:
    city = make_city(HEAD.replace("[daemon]", '[daemon]\nrestart_delay = "10ms"') + BAD + GOOD)
    city.gc("start", "--detach")
    city.wait_for("bad", "quarantined")
    city.ok("mute", "bad")

    said = city.ok("health").splitlines()
    assert said[0] == "town: healthy"
    assert said[1].startswith("note      bad is quarantined: ")
    assert said[1].endswith("(muted)")
    city.ok("unmute", "bad")
    assert city.gc("health").returncode == 1


def test_a_file_that_is_refused_is_a_trouble(make_city: MakeCity) -> None:
    city = make_city(HEAD + GOOD)
    city.start()
    city.write(HEAD + GOOD + 'frob = "x"\n')

    def degraded() -> bool:
        done = city.gc("health")
        return done.returncode == 1 and "unknown key" in done.stdout

    eventually(degraded, within=LIMIT, every=0.1)
    assert "warning   the city file is refused" in city.gc("health").stdout


def test_a_file_that_cannot_be_read_is_said_as_everywhere(city: City) -> None:
    city.write("frob = 1\n")

    assert city.gc("health").returncode == 2
    assert city.gc("metrics").returncode == 2
    assert not city.gc("metrics").stdout


def test_no_city_is_said_as_everywhere(outside: Inside) -> None:
    assert outside("health").returncode == 4
    assert outside("metrics").returncode == 4


def test_a_frozen_controller_is_a_trouble_and_holds_nobody_up(make_city: MakeCity) -> None:
    city = make_city(HEAD + GOOD)
    pid = city.start()
    os.kill(pid, signal.SIGSTOP)
    try:
        asked = city.popen("health", "--json")
        measured = city.popen("metrics")
        said, _ = asked.communicate(timeout=LIMIT)
        numbers, _ = measured.communicate(timeout=LIMIT)
    finally:
        os.kill(pid, signal.SIGCONT)

    assert asked.returncode == 1
    (problem,) = json.loads(said)["problems"]
    assert json.loads(said)["city"] == "town"
    assert problem["text"] == "the controller of this city does not answer"
    assert measured.returncode == 0
    assert value(lint(numbers), "gc_up") == 0
    assert value(lint(numbers), "gc_agent_up", agent="good") == 1


def test_the_numbers_of_a_city_that_runs(quiet: City) -> None:
    found = lint(quiet.ok("metrics"))

    assert value(found, "gc_up") == 1
    assert value(found, "gc_agents", state="ready") == 4
    assert value(found, "gc_agent_up", agent="rigs/talker") == 1
    assert value(found, "gc_events", type="session.started") == 4
    assert value(found, "gc_events", type="controller.started") == 1
    assert (value(found, "gc_journal_bytes") or 0) > 0


def test_the_numbers_of_a_city_that_never_ran(city: City) -> None:
    found = lint(city.ok("metrics"))

    assert value(found, "gc_up") == 0
    assert value(found, "gc_agents", state="stopped") == 3
    assert value(found, "gc_events", type="session.started") == 0
    assert not (city.state / "city.db").exists()


def test_numbers_can_be_put_into_a_file(quiet: City, tmp_path: Path) -> None:
    path = tmp_path / "gc.prom"
    path.write_text("old")

    assert quiet.ok("metrics", "--output", str(path)) == ""
    assert value(lint(path.read_text()), "gc_up") == 1
    assert stat.S_IMODE(path.stat().st_mode) == 0o644
    assert os.listdir(tmp_path) == ["gc.prom"]


def test_numbers_follow_a_link_to_its_file(city: City, tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    link = tmp_path / "gc.prom"
    link.symlink_to("real/gc.prom")

    for _ in range(2):  # where it leads to nothing yet, and where it leads to a file
        city.ok("metrics", "-o", str(link))
        assert link.is_symlink()
        assert os.listdir(tmp_path / "real") == ["gc.prom"]
        assert value(lint(link.read_text()), "gc_up") == 0


def test_what_is_no_regular_file_is_not_replaced(city: City, tmp_path: Path) -> None:
    pipe, link = tmp_path / "pipe", tmp_path / "link"
    os.mkfifo(pipe)
    link.symlink_to(pipe)

    for path in (pipe, link):
        done = city.gc("metrics", "--output", str(path))
        assert (done.returncode, done.stdout) == (1, "")
        assert done.stderr == (
            f"error: {path} cannot be written: it is no regular file\n"
            "hint: `--output -` is standard output\n"
        )
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    assert link.is_symlink()
    assert sorted(os.listdir(tmp_path)) == ["link", "pipe", "town"]


def test_a_dash_is_standard_output(city: City) -> None:
    assert value(lint(city.ok("metrics", "-o", "-")), "gc_up") == 0
    assert not (city.folder / "-").exists()


def test_a_file_that_cannot_be_written_is_one_sentence(quiet: City, tmp_path: Path) -> None:
    for path in (tmp_path / "gone" / "gc.prom", tmp_path):
        done = quiet.gc("metrics", "-o", str(path))

        assert done.returncode == 1
        assert done.stderr.startswith(f"error: {path} cannot be written: ")
    assert not os.listdir(tmp_path)


def test_a_journal_that_cannot_be_read_is_warned_of(city: City) -> None:
    city.state.mkdir(mode=0o700)
    (city.state / "city.db").write_text("no database, and long enough to be taken for one" * 20)
    done = city.gc("metrics")

    assert done.returncode == 0
    assert "city.db cannot be used" in done.stderr
    assert value(lint(done.stdout), "gc_up") == 0
    assert "gc_events_total" not in done.stdout
