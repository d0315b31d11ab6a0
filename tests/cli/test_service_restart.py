"""A restart of the unit's main process leaves the agents running.

systemd runs in few places where tests do, so this does exactly what it does with such a unit: run
`ExecStart` with nothing but the unit's environment and a socket to tell readiness on; and, as
`KillMode=process` has it, signal the main process and no other.
"""

from __future__ import annotations

import os
import pwd
import signal
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.cli.conftest import HEAD, LIMIT, SLEEPERS, City, MakeCity
from tests.living import lives
from tests.unit.service.reader import Unit, read_unit

from gascity.testing.eventually import eventually


class Manager:
    """What systemd does with a unit of `Type=notify` and `KillMode=process`."""

    def __init__(self, unit: Unit, folder: Path) -> None:
        assert (unit.one("Type"), unit.one("KillMode")) == ("notify", "process")
        self._unit = unit
        self._address = str(folder / "notify")
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._socket.settimeout(LIMIT)
        self._socket.bind(self._address)
        self._main: subprocess.Popen[bytes] | None = None

    def start(self) -> int:
        """Run the unit's command and wait until it says that it is ready; return its pid."""
        user = pwd.getpwuid(os.getuid())
        own = {"HOME": user.pw_dir, "USER": user.pw_name, "NOTIFY_SOCKET": self._address}
        self._main = subprocess.Popen(
            self._unit.command("ExecStart"),
            cwd=self._unit.path("WorkingDirectory"),
            env={**own, **self._unit.environment()},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        assert self._socket.recv(4096).startswith(b"READY=1\n")
        return self._main.pid

    def stop(self, number: int = signal.SIGTERM) -> int:
        """Signal the main process alone, and wait for it; return what it ended with."""
        assert self._main is not None
        self._main.send_signal(number)
        return self._main.wait(LIMIT)

    def reload(self) -> int:
        done = subprocess.run(
            self._unit.command("ExecReload"),
            cwd=self._unit.path("WorkingDirectory"),
            env=self._unit.environment(),
            capture_output=True,
            timeout=LIMIT,
            check=False,
        )
        return done.returncode

    def close(self) -> None:
        if self._main is not None and self._main.poll() is None:
            self.stop(signal.SIGKILL)
        self._socket.close()


@pytest.fixture(params=["subprocess", pytest.param("tmux", marks=pytest.mark.tmux)])
def city(make_city: MakeCity, request: pytest.FixtureRequest) -> City:
    text = HEAD.replace('"subprocess"', f'"{request.param}"') + SLEEPERS
    return make_city(text, 'it\'s a "$town" 100%')


@pytest.fixture
def manager(city: City, tmp_path: Path) -> Iterator[Manager]:
    manager = Manager(read_unit(city.ok("service", "show")), tmp_path)
    yield manager
    manager.close()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL], ids=["stop", "crash"])
def test_a_restart_of_the_main_process_leaves_the_agents_running(
    city: City, manager: Manager, number: int
) -> None:
    first = manager.start()
    before = city.wait_until_up()
    ended = manager.stop(number)
    between = [pid is not None and lives(pid) for pid in before.values()]
    second = manager.start()

    assert city.controller() == second != first
    assert ended == (0 if number == signal.SIGTERM else -signal.SIGKILL)
    assert between == [True, True, True]
    assert city.wait_until_up() == before
    assert {agent["restarts"] for agent in city.agents().values()} == {0}


def test_a_stop_of_the_city_is_an_end_that_is_not_restarted(city: City, manager: Manager) -> None:
    pid = manager.start()
    city.wait_until_up()
    city.ok("stop")

    assert manager.stop(0) == 0
    assert not lives(pid)


def test_the_main_process_ends_with_a_code_that_forbids_a_retry(
    city: City, manager: Manager
) -> None:
    manager.start()
    second = city.gc("start")
    city.write("broken [")
    refused = manager.reload()
    broken = city.gc("start")
    city.write(HEAD + SLEEPERS)

    assert second.returncode == 7
    assert broken.returncode == 2
    assert refused == 2


def test_no_agent_can_speak_for_the_controller(make_city: MakeCity, tmp_path: Path) -> None:
    city = make_city(
        HEAD + '[[agents]]\nname = "a"\nstart_command = "env > s; mv s seen; exec sleep 1000"\n'
        'pass_env = ["NOTIFY_SOCKET"]\n'
    )
    manager = Manager(read_unit(city.ok("service", "show")), tmp_path)
    try:
        manager.start()
        eventually((city.folder / "seen").exists, within=LIMIT)
        seen = (city.folder / "seen").read_text()
    finally:
        manager.close()

    assert "GC_AGENT=a\n" in seen
    assert "NOTIFY_SOCKET" not in seen
