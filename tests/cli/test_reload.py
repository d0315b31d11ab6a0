"""A real city whose file is edited while it runs."""

from __future__ import annotations

import json
import os
import re
import signal
import sqlite3
from typing import Any

from tests.cli.conftest import HEAD, SLEEPERS, City, MakeCity
from tests.living import lives

from gascity.testing.eventually import eventually

LIMIT = 60.0
LAST = "already read [0-9]+ s ago: "
DEMO = '[[agents]]\nname = "talker"\nprovider = "demo"\nprompt_template = "talker.md"\n'


def events(city: City, kind: str) -> list[str]:
    with sqlite3.connect(city.state / "city.db") as db:
        rows = db.execute(
            "SELECT message FROM event WHERE type = ? ORDER BY number", [kind]
        ).fetchall()
    db.close()
    return [message for (message,) in rows]


def test_an_edited_city_is_taken_and_the_others_keep_their_processes(city: City) -> None:
    city.start()
    before = city.pids()
    more = '[[agents]]\nname = "d"\nstart_command = "sleep 2000"\n'
    changed = SLEEPERS.replace('"b"\nstart_command = "sleep 1000"', '"b"\nstart_command = "cat"')
    city.write(HEAD + changed + more)

    def taken() -> bool:
        now = city.pids()
        return now.keys() == {*"abcd"} and None not in now.values() and now["b"] != before["b"]

    eventually(taken, within=LIMIT)
    after = city.wait_until_up()

    assert (after["a"], after["c"]) == (before["a"], before["c"])
    assert events(city, "city.reloaded") == ["1 agent changed (b), 1 new (d)"]


def test_who_is_as_before_is_so_since_before(make_city: MakeCity) -> None:
    weak = '[[agents]]\nname = "weak"\nstart_command = "exit 3"\nmax_restarts = 1\n'
    head = HEAD.replace("[daemon]", '[daemon]\nrestart_delay = "10ms"')
    city = make_city(head + SLEEPERS + weak)
    city.gc("start", "--detach")
    city.wait_for("weak", "quarantined")
    city.wait_for("a", "ready")
    before = {name: agent["state_since"] for name, agent in city.agents().items()}
    city.write(head + SLEEPERS.replace('name = "a"', 'name = "a"\nmax_restarts = 9') + weak)
    eventually(lambda: events(city, "city.reloaded"), within=LIMIT)

    assert city.wait_for("a", "ready")["state_since"] == before["a"]

    pid = city.controller()
    os.kill(pid, signal.SIGTERM)
    eventually(lambda: not lives(pid), within=LIMIT)
    city.gc("start", "--detach")
    weak_again = city.wait_for("weak", "quarantined")
    assert abs(weak_again["state_since"] - before["weak"]) < 0.001


def test_a_broken_city_is_shown_by_status_until_it_is_mended(city: City) -> None:
    city.start()
    before = city.pids()
    city.write(HEAD + SLEEPERS + 'nam = "x"\n')

    def problem() -> Any:  # noqa: ANN401  a JSON value
        return city.status()["controller"]["config_problem"]

    told = eventually(problem, within=LIMIT)
    shown = city.ok("status")
    city.write(HEAD + SLEEPERS)
    eventually(lambda: problem() is None, within=LIMIT)

    assert told.startswith('city.toml:19:1: unknown key "nam"; did you mean "name"?')
    assert f"the city file is refused, an older city runs: {told}\n" in shown
    assert city.pids() == before
    assert events(city, "city.rejected") == [told]
    assert events(city, "city.reloaded") == ["it can be used again: nothing changed"]


def test_reload_says_what_changed(city: City) -> None:
    city.start()
    first = city.ok("reload")
    city.write(HEAD.replace('"1s"', '"2s"') + SLEEPERS)
    second = city.ok("reload")
    third = city.ok("reload")

    assert first == "nothing changed\n"
    assert re.fullmatch(rf"({LAST})?patrol_interval\n", second)  # it may be noticed before
    assert re.fullmatch(rf"{LAST}patrol_interval\n", third)


def test_reload_of_a_broken_city_ends_with_its_problems(city: City) -> None:
    city.start()
    city.write(HEAD + SLEEPERS + "[bogus]\n")
    said = city.gc("reload")
    document = json.loads(city.gc("reload", "--json").stdout)

    assert said.returncode == 2
    assert said.stdout == ""
    assert said.stderr.startswith('city.toml:19:1: unknown key "bogus"')
    assert "error: the city file was refused\nhint: the controller keeps" in said.stderr
    assert document["accepted"] is False
    assert document["problems"][0]["line"] == 19


def test_reload_without_a_controller(city: City) -> None:
    said = city.gc("reload")

    assert said.returncode == 5
    assert "no controller runs" in said.stderr


def test_a_hangup_has_the_city_read_and_ends_nothing(city: City) -> None:
    city.start()
    before, pid = city.pids(), city.controller()
    city.write(HEAD + SLEEPERS + '[[agents]]\nname = "d"\nstart_command = "sleep 1000"\n')
    os.kill(pid, signal.SIGHUP)
    eventually(lambda: "d" in city.pids(), within=LIMIT)

    assert city.controller() == pid
    assert {name: city.pids()[name] for name in before} == before


def test_a_prompt_is_a_file_of_the_city(make_city: MakeCity) -> None:
    city = make_city(HEAD + DEMO + SLEEPERS)
    (city.folder / "talker.md").write_text("say hello")
    city.start()
    before = city.pids()
    city.write("say goodbye", "talker.md")
    eventually(lambda: city.pids()["talker"] not in (None, before["talker"]), within=LIMIT)
    after = city.wait_until_up()

    assert all(after[name] == before[name] for name in "abc")
    assert events(city, "city.reloaded") == ["1 agent changed (talker)"]


def test_the_provider_of_the_environment_stands_above_the_file_also_later(
    make_city: MakeCity,
) -> None:
    city = make_city(HEAD.replace('"subprocess"', '"tmux"') + SLEEPERS)
    city.start(GC_SESSION="subprocess")
    before = city.pids()
    city.write(HEAD.replace('"1s"', '"2s"').replace('"subprocess"', '"tmux"') + SLEEPERS)
    said = city.ok("reload")

    assert re.fullmatch(rf"({LAST})?patrol_interval\n", said)
    assert {agent["provider"] for agent in city.agents().values()} == {"subprocess"}
    assert city.pids() == before


def test_a_controller_in_the_foreground_tells_of_the_change(city: City) -> None:
    process = city.popen("start")
    city.wait_until_up()
    city.write(HEAD.replace('"1s"', '"2s"') + SLEEPERS)
    eventually(lambda: events(city, "city.reloaded"), within=LIMIT)
    city.ok("stop")
    said = process.communicate(timeout=LIMIT)[0]

    assert "city file read: patrol_interval" in said
