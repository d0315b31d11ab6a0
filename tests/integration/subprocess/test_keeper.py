"""The keeper: when it is there, when it goes, what it writes and what it never writes."""

from __future__ import annotations

import contextlib
import os
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from tests.integration.subprocess.conftest import LIMIT, City
from tests.living import lives

from gascity.core.model import SessionConfig
from gascity.core.observed import Alive, Exited
from gascity.errors import ProviderUnavailable, SessionExists, StartFailed
from gascity.testing.eventually import eventually
from gascity_subprocess import layout

RACER = """
import sys
from gascity.core.model import SessionConfig
from gascity.errors import SessionExists
from gascity.session.provider import CityContext
from gascity_subprocess.provider import Provider
provider = Provider(CityContext("t", "id", sys.argv[1], {}))
sys.stdin.readline()
try:
    provider.start("a", SessionConfig("exec sleep 1000", "/", dict(TEST_TOKEN=sys.argv[2],
                   PATH="/usr/bin:/bin")), timeout=20)
    print("won")
except SessionExists:
    print("lost")
"""

NESTED = """
import sys
from gascity.core.model import SessionConfig
from gascity.session.provider import CityContext
from gascity_subprocess.provider import Provider
provider = Provider(CityContext("u", "id", sys.argv[1], {}))
provider.start("inner", SessionConfig("exec sleep 1000", "/", {"PATH": "/usr/bin:/bin",
               "TEST_TOKEN": sys.argv[2]}), timeout=20)
print("inner is up", flush=True)
sys.stdin.readline()
"""


def test_questions_about_an_empty_city_start_no_keeper(city: City) -> None:
    provider = city.provider()

    provider.stop("a", grace=1, timeout=LIMIT)

    assert provider.observe(timeout=LIMIT) == {}
    assert not provider.is_running("a", timeout=LIMIT)
    assert not city.home.exists()


def test_the_keeper_goes_when_nobody_needs_it(city: City) -> None:
    provider = city.provider()
    provider.start("a", city.config("sleep 1000"), timeout=LIMIT)
    provider.stop("a", grace=1, timeout=LIMIT)
    assert city.keeper()

    provider.close()

    eventually(lambda: not city.keeper())
    assert not (city.home / layout.SOCKET).exists()


def test_how_a_session_ended_is_recorded_though_nobody_was_there(city: City) -> None:
    provider = city.provider()
    command = "while [ ! -e go ]; do sleep 0.01; done; echo bye; exit 7"
    provider.start("a", city.config(command), timeout=LIMIT)
    provider.close()
    (city.work / "go").touch()
    eventually(lambda: not city.keeper())  # it wrote that down and left

    later = city.provider()

    assert later.observe(timeout=LIMIT)["a"].life == Exited(7, None)
    assert later.peek("a", 0, timeout=LIMIT) == "bye"


def test_a_program_killed_by_a_signal_is_reported_so(city: City) -> None:
    provider = city.provider()
    provider.start("a", city.config("sleep 1000"), timeout=LIMIT)
    process = provider.observe(timeout=LIMIT)["a"].process
    assert process is not None

    os.kill(process.pid, signal.SIGTERM)

    wanted = Exited(None, signal.SIGTERM)
    eventually(lambda: provider.observe(timeout=LIMIT)["a"].life == wanted)


def test_one_of_several_processes_wins_a_start(city: City) -> None:
    words = [sys.executable, "-c", RACER, str(city.state), city.token]
    racers = [
        subprocess.Popen(words, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        for _ in range(4)
    ]

    said = [racer.communicate("go\n", timeout=60)[0].strip() for racer in racers]

    assert sorted(said) == ["lost", "lost", "lost", "won"]
    # A process shows no variables in the moment in which it becomes `sleep`.
    eventually(lambda: len(city.living()) == 1)


def test_two_instances_see_the_same_sessions(city: City) -> None:
    one, other = city.provider(), city.provider()
    one.start("a", city.config("sleep 1000"), timeout=LIMIT)

    with pytest.raises(SessionExists):
        other.start("a", city.config("sleep 1000"), timeout=LIMIT)
    other.stop("a", grace=1, timeout=LIMIT)

    assert one.observe(timeout=LIMIT) == {}


def test_a_frozen_keeper_is_an_outage_and_ends_in_time(city: City) -> None:
    provider = city.provider()
    provider.start("a", city.config("sleep 1000"), timeout=LIMIT)
    keeper = city.keeper()
    os.kill(keeper, signal.SIGSTOP)
    try:
        with pytest.raises(ProviderUnavailable, match="did not answer in time"):
            provider.observe(timeout=0.3)
    finally:
        os.kill(keeper, signal.SIGCONT)


def test_a_state_folder_may_lie_deep(tmp_path: Path) -> None:
    deep = tmp_path.joinpath(*["d" * 50] * 4)
    place = City(deep)
    provider = place.provider()

    provider.start("a", place.config("sleep 1000"), timeout=LIMIT)
    running = provider.list_running("", timeout=LIMIT)
    provider.stop("a", grace=1, timeout=LIMIT)
    provider.close()

    assert len(str(place.home)) > 200
    assert running == ["a"]
    eventually(lambda: not place.keeper())


def test_no_value_of_the_environment_and_no_command_is_on_disk(city: City) -> None:
    provider = city.provider()
    env = {"PATH": os.environ["PATH"], "API_KEY": "s3cret-value", "TEST_TOKEN": city.token}
    command = ": a-telling-command; exec sleep 1000"
    provider.start("a", SessionConfig(command, str(city.work), env), timeout=LIMIT)

    files = [path for path in city.state.rglob("*") if path.is_file()]
    everything = b"".join(path.read_bytes() for path in files)

    assert files
    assert b"s3cret-value" not in everything
    assert b"a-telling-command" not in everything


def test_files_of_a_session_are_for_its_owner_alone(city: City) -> None:
    before = os.umask(0)
    try:
        provider = city.provider()
        provider.start("a", city.config("sleep 1000"), timeout=LIMIT)
    finally:
        os.umask(before)

    modes = {p.name: stat.S_IMODE(p.stat().st_mode) for p in city.home.rglob("*")}

    assert {name for name, mode in modes.items() if mode & 0o077} == set()


def test_a_command_longer_than_an_argument_may_be_runs_and_is_not_kept(city: City) -> None:
    provider = city.provider()
    command = f"x={'a' * 200_000}; echo ${{#x}}; sleep 1000"

    provider.start("a", city.config(command), timeout=LIMIT)

    eventually(lambda: provider.peek("a", 0, timeout=LIMIT) == "200000")
    assert not (city.folder("a") / layout.SCRIPT).exists()


def test_a_session_that_cannot_be_spawned_leaves_nothing(city: City) -> None:
    provider = city.provider()
    too_much = SessionConfig("true", str(city.work), {"BIG": "x" * 300_000})

    with pytest.raises(StartFailed):
        provider.start("a", too_much, timeout=LIMIT)

    assert provider.observe(timeout=LIMIT) == {}
    assert not city.folder("a").exists()


@pytest.mark.parametrize("name", ["", "..", "a/b", "a b", "ä", "a.b"])
def test_a_name_that_could_be_a_path_is_refused(city: City, name: str) -> None:
    with pytest.raises(StartFailed, match="name"):
        city.provider().start(name, city.config("true"), timeout=LIMIT)


def test_a_daemon_that_wiped_its_environment_goes_with_the_last_session(city: City) -> None:
    provider = city.provider()
    command = "env -i setsid -f sh -c 'echo $$ > daemon; exec sleep 1000'; exec sleep 1000"
    provider.start("a", city.config(command), timeout=LIMIT)
    daemon = int(eventually(lambda: _text(city.work / "daemon")))

    provider.stop("a", grace=1, timeout=LIMIT)

    assert not lives(daemon)


def test_a_stopped_program_is_asked_too(city: City) -> None:
    provider = city.provider()
    command = "trap 'touch asked; exit' TERM; echo up; while :; do sleep 0.01; done"
    provider.start("a", city.config(command), timeout=LIMIT)
    eventually(lambda: provider.peek("a", 0, timeout=LIMIT) == "up")
    process = provider.observe(timeout=LIMIT)["a"].process
    assert process is not None
    os.killpg(process.pid, signal.SIGSTOP)

    provider.stop("a", grace=2 * LIMIT, timeout=3 * LIMIT)

    assert (city.work / "asked").exists()


def test_who_stands_still_with_the_whole_machine_keeps_its_grace(city: City) -> None:
    provider = city.provider()
    saves = "sleep 6; kill -CONT $PPID; sleep 0.3; touch saved; exit"
    command = f"trap 'kill -STOP $PPID; {saves}' TERM; echo up; while :; do sleep 0.01; done"
    provider.start("a", city.config(command), timeout=LIMIT)
    eventually(lambda: provider.peek("a", 0, timeout=LIMIT) == "up")

    provider.stop("a", grace=4.0, timeout=3 * LIMIT)

    assert (city.work / "saved").exists()


def test_the_keeper_of_another_city_survives_the_agent_that_started_it(
    city: City, tmp_path: Path
) -> None:
    other = City(tmp_path / "other")
    other.token = city.token
    script = tmp_path / "nested.py"
    script.write_text(NESTED)
    provider = city.provider()
    command = f"{sys.executable} {script} {other.state} {city.token}"
    provider.start("outer", city.config(command), timeout=LIMIT)
    eventually(lambda: "inner is up" in provider.peek("outer", 0, timeout=LIMIT), within=LIMIT)

    provider.stop("outer", grace=1, timeout=LIMIT)
    theirs = other.provider()

    try:
        assert isinstance(theirs.observe(timeout=LIMIT)["inner"].life, Alive)
    finally:
        theirs.stop("inner", grace=1, timeout=LIMIT)
        theirs.close()
    eventually(lambda: not other.keeper())


def _text(path: Path) -> str:
    with contextlib.suppress(FileNotFoundError):
        return path.read_text().strip()
    return ""
