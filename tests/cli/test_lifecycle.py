"""Starting, leaving, coming back, stopping: who lives on, and with which pid."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess

import pytest
from tests.cli.conftest import HEAD, LIMIT, SLEEPERS, City, MakeCity
from tests.living import lives

from gascity.cli.telling import WORDS
from gascity.controller.lock import CityLock
from gascity.controller.place import Place
from gascity.core.actions import EventType
from gascity.testing.eventually import eventually


def test_start_brings_every_agent_up_and_stop_leaves_nothing(city: City) -> None:
    pid = city.start()
    pids = city.pids()
    seen = city.living()
    said = city.ok("stop")

    assert {pid, *pids.values()} <= set(seen)
    assert said == "stopped 3 agents and the controller\n"
    assert not [pid for pid in pids.values() if pid and lives(pid)]
    eventually(lambda: not city.living())  # the keeper goes when nobody asks it any more


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_agents_outlive_the_controller_and_the_next_one_takes_them_up(
    city: City, how: signal.Signals
) -> None:
    first = city.popen("start")
    eventually(lambda: city.state.joinpath("controller.sock").exists(), within=LIMIT)
    before = city.wait_until_up()

    first.send_signal(how)
    said, _ = first.communicate(timeout=LIMIT)
    alone = city.status()
    second = city.start()

    assert first.returncode == (-how if how == signal.SIGKILL else 0)
    assert "Traceback" not in said
    assert (alone["controller"]["running"], alone["controller"]["pid"]) == (False, None)
    assert {agent["name"]: agent["pid"] for agent in alone["agents"]} == before
    assert second != first.pid
    assert city.pids() == before


def test_the_foreground_tells_what_it_does(city: City) -> None:
    process = city.popen("start")
    eventually(lambda: city.state.joinpath("controller.sock").exists(), within=LIMIT)
    city.wait_until_up()
    city.ok("stop")
    said, _ = process.communicate(timeout=LIMIT)

    assert process.returncode == 0
    assert said.startswith(
        "town: a, b, c\nsessions live in subprocess\n"
        "Ctrl-C leaves the agents running; `gc stop` ends them\n"
    )
    assert said.count("started: wanted by the city") == 3
    assert said.count("stopped: the city is being stopped") == 3
    assert said.endswith("controller stopped: the city was stopped\n")
    assert "\x1b" not in said


def test_an_agent_that_is_killed_comes_back_and_the_others_stay(city: City) -> None:
    city.start()
    before = city.pids()
    assert before["b"]
    os.kill(before["b"], signal.SIGKILL)

    def healed() -> dict[str, int | None]:
        agent = city.agents()["b"]
        assert agent["state"] == "ready", agent
        assert agent["pid"] not in (None, before["b"])
        assert agent["restarts"] == 1
        return city.pids()

    after = eventually(healed, within=LIMIT)
    assert {**after, "b": 0} == {**before, "b": 0}


def test_a_second_start_names_the_holder_and_changes_nothing(city: City) -> None:
    pid = city.start()
    before = city.pids()

    for words in (["start"], ["start", "--detach"], ["start", "-d"]):
        done = city.gc(*words)
        assert done.returncode == 7
        assert f"error: another controller holds this city: process {pid}\n" in done.stderr
        assert "Traceback" not in done.stderr
    assert city.controller() == pid
    assert city.pids() == before


def test_a_start_waits_for_a_controller_that_ends(city: City) -> None:
    """It still holds the city, and does not listen any more."""
    place = Place(str(city.folder))
    place.prepare()
    lock = CityLock(place.lock)
    lock.acquire()
    process = city.popen("start")
    with pytest.raises(subprocess.TimeoutExpired):
        process.wait(timeout=3)
    lock.release()

    city.wait_until_up()

    assert city.controller() == process.pid


def test_a_stopped_agent_stays_down_across_controllers_until_it_is_restarted(city: City) -> None:
    city.start()
    before = city.pids()
    said = city.ok("stop", "b")
    held = city.agents()["b"]
    os.kill(city.controller(), signal.SIGTERM)
    eventually(lambda: not city.status()["controller"]["running"], within=LIMIT)
    city.ok("start", "--detach")
    later = city.wait_for("b", "stopped")
    city.ok("restart", "b")
    after = city.wait_until_up()

    assert said == "stopped b\n"
    assert held["state"] == "stopped"
    assert held["pid"] is None
    assert later["pid"] is None
    assert "gc restart" in later["reason"]
    assert after["b"] not in (None, before["b"])
    assert {**after, "b": 0} == {**before, "b": 0}


def test_restart_gives_a_new_incarnation_that_counts_as_no_crash(city: City) -> None:
    city.start()
    before = city.agents()
    said = city.gc("restart", "a", "b", "--json")
    after = city.agents()

    assert said.returncode == 0
    assert '"restarted"' in said.stdout
    for name in ("a", "b"):
        assert after[name]["pid"] != before[name]["pid"]
        assert after[name]["run"] != before[name]["run"]
        assert after[name]["restarts"] == 0
    assert after["c"] == before["c"]


def test_stop_without_a_controller_ends_the_sessions(city: City) -> None:
    pid = city.start()
    pids = city.pids()
    os.kill(pid, signal.SIGKILL)
    eventually(lambda: not lives(pid))
    one = city.ok("stop", "a")
    left = city.pids()
    rest = city.ok("stop")
    again = city.ok("stop")

    assert one == "stopped a\n"
    assert left == {**pids, "a": None}
    assert rest == "stopped 2 sessions; no controller was running\n"
    assert again == "stopped 0 sessions; no controller was running\n"
    eventually(lambda: not city.living())  # the keeper goes when nobody asks it any more


@pytest.mark.parametrize("broken", ["garbage[", None])
def test_stop_works_when_the_city_file_is_broken_or_gone(city: City, broken: str | None) -> None:
    file = city.folder / "city.toml"
    for controller_lives in (True, False):
        good = file.read_text("utf-8")
        pid = city.start()
        if not controller_lives:
            os.kill(pid, signal.SIGTERM)
            eventually(lambda pid=pid: not lives(pid))  # type: ignore[misc]  # a bound default
        file.write_text(broken, "utf-8") if broken is not None else file.unlink()

        city.ok("stop")

        eventually(lambda: not city.living())  # the keeper goes when nobody asks it any more
        file.write_text(good, "utf-8")


@pytest.mark.parametrize("trouble", ["damaged", "away", "held"])
def test_stop_without_a_controller_needs_no_journal_but_says_so(city: City, trouble: str) -> None:
    pid = city.start()
    os.kill(pid, signal.SIGTERM)
    eventually(lambda: not lives(pid))
    journal = city.state / "city.db"
    other = sqlite3.connect(journal, isolation_level=None)
    if trouble == "held":
        other.execute("BEGIN IMMEDIATE")
    else:
        other.close()
        journal.unlink()
        journal.write_bytes(b"nothing of ours") if trouble == "damaged" else journal.mkdir()

    done = city.gc("stop")

    other.close()
    assert done.returncode == 1
    assert not done.stdout
    said, hint = done.stderr.splitlines()
    assert said.startswith("error: stopped 3 sessions on subprocess, but that could not be written")
    assert str(journal) in said
    assert hint.startswith("hint: ")
    eventually(lambda: not city.living())  # the keeper goes when nobody asks it any more


def test_stopping_without_a_controller_is_no_crash(city: City) -> None:
    for _ in range(3):
        pid = city.start()
        os.kill(pid, signal.SIGTERM)
        eventually(lambda pid=pid: not lives(pid))  # type: ignore[misc]  # a bound default
        city.ok("stop")
    city.start()

    assert [agent["restarts"] for agent in city.agents().values()] == [0, 0, 0]


def test_a_controller_that_does_not_answer_is_not_taken_for_none(city: City) -> None:
    pid = city.start()
    os.kill(pid, signal.SIGSTOP)
    try:
        reading = city.popen("alerts")
        done = city.gc("nudge", "a", "hello")
        said, _ = reading.communicate(timeout=LIMIT)
    finally:
        os.kill(pid, signal.SIGCONT)

    assert done.returncode == reading.returncode == 124
    told, hint = done.stderr.splitlines()
    assert told == "error: the controller of this city does not answer"
    assert hint.endswith("; what was asked may still happen")
    assert said.splitlines()[0] == told
    assert said.splitlines()[1].endswith(
        "; `gc health`, `gc events` and `gc metrics` work without it"
    )


@pytest.mark.parametrize("words", [["restart", "a"], ["stop", "a"], ["stop"]])
def test_a_controller_that_is_killed_meanwhile_is_told_as_ended(
    make_city: MakeCity, words: list[str]
) -> None:
    stubborn = "trap 'touch asked' TERM; touch up; until test -e go; do sleep 0.1; done"
    city = make_city(
        HEAD.replace('"2s"', '"10s"') + f'[[agents]]\nname = "a"\nstart_command = "{stubborn}"\n'
    )
    pid = city.start()
    eventually((city.folder / "up").exists, within=LIMIT)
    asking = city.popen(*words)
    eventually((city.folder / "asked").exists, within=LIMIT)
    os.kill(pid, signal.SIGKILL)
    said, _ = asking.communicate(timeout=LIMIT)
    (city.folder / "go").touch()

    if len(words) == 1:
        assert (asking.returncode, said) == (0, "stopped 1 session; no controller was running\n")
        eventually(lambda: not city.living())  # the keeper goes when nobody asks it any more
    else:
        assert asking.returncode == 5
        assert said.startswith("error: the controller of this city ended before it answered\n")


def test_restart_without_a_controller_says_that_none_runs(city: City) -> None:
    done = city.gc("restart", "a")

    assert done.returncode == 5
    assert done.stderr == (
        "error: no controller runs for this city\nhint: `gc start --detach` starts one\n"
    )


def test_a_crash_loop_ends_in_quarantine_with_one_alert(make_city: MakeCity) -> None:
    city = make_city(
        HEAD
        + 'max_restarts = 2\n[alerts]\ncommand = "cat >> alerts"\n'
        + '[[agents]]\nname = "bad"\nstart_command = "echo no luck; sleep 0.1; exit 3"\n'
        + '[[agents]]\nname = "good"\nstart_command = "sleep 1000"\n'
    )
    city.ok("start", "--detach")
    agent = city.wait_for("bad", "quarantined")
    told = city.folder / "alerts"
    eventually(lambda: told.exists() and told.read_text(), within=LIMIT)
    alerts = told.read_text().splitlines()

    assert agent["restarts"] == 2
    assert "exited with status 3" in agent["reason"]
    assert agent["pid"] is None
    assert agent["next_at"] is not None
    assert city.agents()["good"]["state"] == "ready"
    assert len(alerts) == 1
    assert told.read_text().endswith("}\n")
    assert '"agent": "bad"' in alerts[0]
    assert "no luck" in city.ok("peek", "bad")


def test_a_start_that_cannot_work_says_so_and_does_not_hurt_others(make_city: MakeCity) -> None:
    city = make_city(
        HEAD
        + '[[agents]]\nname = "bad"\nstart_command = "sleep 1000"\npre_start = ["false"]\n'
        + '[[agents]]\nname = "good"\nstart_command = "sleep 1000"\n'
    )
    city.ok("start", "--detach")
    bad = city.wait_for("bad", "backoff")
    city.wait_for("good", "ready")

    assert "the start failed" in bad["reason"]


def test_a_controller_in_the_background_lives_without_its_starter(city: City) -> None:
    pid = city.start()
    log = (city.state / "controller.log").read_text()

    assert os.getsid(pid) == pid
    assert "session.started a" in log
    assert "Traceback" not in log


def test_start_detach_shows_what_is_wrong_and_its_code(make_city: MakeCity) -> None:
    city = make_city("[[agents]]\nnam = 3\n")
    done = city.gc("start", "--detach")

    assert done.returncode == 2
    assert "city.toml:2:1" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_long_path_is_no_hindrance(make_city: MakeCity) -> None:
    city = make_city(HEAD + SLEEPERS, folder="/".join(["a-folder-with-a-long-name"] * 6))
    city.start()

    assert set(city.pids()) == set("abc")


def test_every_kind_of_event_can_be_told() -> None:
    assert set(WORDS) == {kind.value for kind in EventType}
