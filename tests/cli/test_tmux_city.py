"""A whole city on tmux: what its controller makes of a server in trouble."""

from __future__ import annotations

import json
import os
import signal

import pytest
from tests.cli.conftest import HEAD, SLEEPERS, City, MakeCity

from gascity.testing.eventually import eventually

pytestmark = pytest.mark.tmux


@pytest.fixture
def city(make_city: MakeCity) -> City:
    return make_city(HEAD.replace('"subprocess"', '"tmux"') + SLEEPERS)


def server(city: City) -> int:
    return int(json.loads((city.state / "tmux" / "server").read_text())["pid"])


def test_killed_server_the_city_comes_back(city: City) -> None:
    city.start()
    before = city.pids()

    os.kill(server(city), signal.SIGKILL)

    eventually(lambda: not set(city.pids().values()) & {None, *before.values()})
    assert set(city.wait_until_up()) == set(before)


def test_frozen_server_nothing_is_restarted(city: City) -> None:
    city.start()
    before = city.pids()

    os.kill(server(city), signal.SIGSTOP)
    try:
        stands = city.wait_for("a", "unknown")
    finally:
        os.kill(server(city), signal.SIGCONT)

    assert "tmux" in stands["reason"]
    assert city.wait_until_up() == before
    assert {agent["restarts"] for agent in city.agents().values()} == {0}


def test_a_new_controller_takes_the_agents_up_as_they_are(city: City) -> None:
    controller = city.start()
    before = city.pids()

    os.kill(controller, signal.SIGKILL)
    city.start()

    assert city.pids() == before


def test_the_variable_stands_above_the_file(city: City) -> None:
    said = city.gc("start", "--detach", env={"GC_SESSION": "subprocess"})

    assert said.stdout.startswith("sessions live in subprocess\n")
    city.wait_until_up()
    assert {agent["provider"] for agent in city.agents().values()} == {"subprocess"}


def test_a_variable_that_names_nothing_is_told(city: City) -> None:
    done = city.gc("start", "--detach", env={"GC_SESSION": "screen"})

    assert done.returncode == 2
    assert done.stderr.startswith('error: GC_SESSION names the session provider "screen"')


def test_auto_says_why_it_is_not_tmux(
    make_city: MakeCity, tmp_path_factory: pytest.TempPathFactory
) -> None:
    city = make_city(HEAD.replace('"subprocess"', '"auto"') + SLEEPERS)
    tools = tmp_path_factory.mktemp("bin")
    for name in ("sh", "sleep", "gc"):
        found = next(
            p for p in city.environment()["PATH"].split(":") if os.access(f"{p}/{name}", os.X_OK)
        )
        (tools / name).symlink_to(f"{found}/{name}")

    done = city.gc("start", "--detach", env={"PATH": str(tools)})

    assert done.stdout.startswith("sessions live in subprocess (tmux is not installed)\n")


def test_a_setting_that_makes_no_sense_is_found_when_the_city_is_checked(
    make_city: MakeCity,
) -> None:
    city = make_city(
        HEAD.replace('"subprocess"', '"tmux"') + SLEEPERS + "[session.tmux]\nwidht = 3\n"
    )

    done = city.gc("check")

    assert done.returncode == 2
    assert 'has no setting "widht"' in done.stderr


def test_without_a_terminal_there_is_none_to_give(city: City) -> None:
    city.start()

    done = city.gc("attach", "a")

    assert done.returncode == 1
    assert done.stderr.startswith("error: there is no terminal here to give to the session\n")


def test_the_doctor_shows_the_version_and_the_socket(city: City) -> None:
    said = city.gc("doctor").stdout

    assert "ok    provider tmux: tmux 3." in said
    assert "/gc-town-" in said


def test_a_city_with_a_broken_file_is_stopped_where_it_runs(city: City) -> None:
    city.start()
    os.kill(city.controller(), signal.SIGKILL)
    city.write("this is no city file")

    assert city.ok("stop") == "stopped 3 sessions; no controller was running\n"
    eventually(lambda: not city.living())  # the server of tmux goes after its last session


def test_a_stop_without_a_controller_ends_what_a_killed_server_left(make_city: MakeCity) -> None:
    deaf = "trap '' HUP TERM; while :; do sleep 0.1; done"
    city = make_city(
        HEAD.replace('"subprocess"', '"tmux"')
        + f'[[agents]]\nname = "deaf"\nstart_command = "{deaf}"\n'
    )
    city.start()
    os.kill(city.controller(), signal.SIGKILL)
    os.kill(server(city), signal.SIGKILL)
    assert eventually(city.living)

    city.ok("stop")

    eventually(lambda: not city.living())
