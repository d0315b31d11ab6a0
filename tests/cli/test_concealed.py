"""Secrets that only the agent itself still has: its process is asked for them."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.cli.conftest import LIMIT, City, ScreenCity
from tests.living import lives

from gascity.testing.eventually import eventually

OLD, NEW = "sk-old-value-111", "sk-new-value-222"
PASSED = "opensesame-12345"
HEAD = """\
[workspace]
name = "town"

[session]
provider = "{provider}"

[session.tmux]
socket = "{socket}"

[daemon]
patrol_interval = "1s"
shutdown_timeout = "2s"

[[agents]]
name = "teller"
start_command = "echo it is $A_TOKEN; sleep 1000"
"""
ROTATED = 'env = {{ A_TOKEN = "{}" }}\n'
HANDED_ON = 'pass_env = ["A_TOKEN"]\n'
DECLARED = 'env = { PICK_TOKEN = "opensesame-12345" }'


class Tellers(City):
    """A city with one agent that prints its secret."""

    def __init__(self, folder: Path, provider: str) -> None:
        self.head = HEAD.format(provider=provider, socket=folder.parent / "s")
        super().__init__(folder, self.head)

    def end_controller(self, signum: int) -> None:
        end_controller(self, signum)

    def wait_until_told(self, value: str) -> None:
        eventually(lambda: value in self.gc("peek", "teller").stdout, within=LIMIT)

    def last_screens(self) -> list[str]:
        return [path.read_text() for path in self.state.glob("runs/*/last-screen.txt")]


@pytest.fixture(params=["tmux", "subprocess"])
def tellers(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Tellers]:
    city = Tellers(tmp_path / "town", request.param)
    yield city
    city.end()


def end_controller(city: City, signum: int) -> None:
    pid = city.controller()
    os.kill(pid, signum)
    eventually(lambda: not lives(pid), within=LIMIT)


def holders(city: City, value: str) -> list[Path]:
    """Return the files that hold a value, but for what the subprocess provider caught."""
    return [
        path
        for path in city.state.rglob("*")
        if path.is_file() and "subprocess" not in path.parts and value.encode() in path.read_bytes()
    ]


def test_a_value_that_changed_while_no_controller_ran_is_struck_out(tellers: Tellers) -> None:
    tellers.write(tellers.head + ROTATED.format(OLD))
    tellers.start()
    tellers.wait_until_told(OLD)
    tellers.end_controller(signal.SIGKILL)

    tellers.write(tellers.head + ROTATED.format(NEW))
    tellers.gc("start", "--detach")
    screen = eventually(tellers.last_screens, within=LIMIT)[0]

    assert "it is sha256:" in screen
    assert not holders(tellers, OLD)


def test_a_controller_without_the_variable_strikes_it_out(tellers: Tellers) -> None:
    tellers.write(tellers.head + HANDED_ON)
    tellers.start(A_TOKEN=PASSED)
    tellers.wait_until_told(PASSED)
    tellers.end_controller(signal.SIGTERM)

    tellers.start()
    tellers.ok("stop", "teller")
    screen = eventually(tellers.last_screens, within=LIMIT)[0]

    assert "it is sha256:" in screen
    assert not holders(tellers, PASSED)


def test_a_stop_without_a_controller_strikes_it_out(tellers: Tellers) -> None:
    tellers.write(tellers.head + HANDED_ON)
    tellers.start(A_TOKEN=PASSED)
    tellers.wait_until_told(PASSED)
    tellers.end_controller(signal.SIGTERM)

    tellers.ok("stop")

    assert "it is sha256:" in tellers.last_screens()[0]
    assert not holders(tellers, PASSED)


def test_a_stop_of_one_that_is_no_longer_declared_strikes_it_out(tellers: Tellers) -> None:
    tellers.write(tellers.head + ROTATED.format(OLD))
    tellers.start()
    tellers.wait_until_told(OLD)
    tellers.end_controller(signal.SIGTERM)

    tellers.write(tellers.head.replace("teller", "another"))
    tellers.ok("stop")

    assert "it is sha256:" in tellers.last_screens()[0]
    assert not holders(tellers, OLD)


def test_the_output_that_a_provider_keeps_is_as_it_is_and_for_its_owner(tmp_path: Path) -> None:
    city = Tellers(tmp_path / "town", "subprocess")
    city.write(city.head + ROTATED.format(OLD))
    try:
        city.start()
        city.wait_until_told(OLD)
        (running,) = city.state.glob("subprocess/sessions/*/output.log")
        text, mode = running.read_text(), running.stat().st_mode
        pid = city.pids()["teller"]
        assert pid is not None
        os.kill(pid, signal.SIGKILL)
        eventually(lambda: len(city.last_screens()) == 1, within=LIMIT)
        city.wait_until_up()
    finally:
        city.end()
    (kept,) = city.state.glob("subprocess/previous/*")

    assert [text, kept.read_text()] == [f"it is {OLD}\n"] * 2
    assert [mode & 0o777, kept.stat().st_mode & 0o777] == [0o600, 0o600]


@pytest.fixture
def handed_on(screen_city: ScreenCity) -> ScreenCity:
    """Return a city whose `pick` was given a token that this shell does not have."""
    text = (screen_city.folder / "city.toml").read_text()
    screen_city.write(text.replace(DECLARED, 'pass_env = ["PICK_TOKEN"]'))
    done = screen_city.gc("start", "--detach", env={"PICK_TOKEN": PASSED})
    assert done.returncode == 0, done.stderr
    eventually(lambda: "Esc to cancel" in screen_city.gc("peek", "pick").stdout, within=LIMIT)
    return screen_city


@pytest.mark.tmux
def test_a_shell_without_the_variable_shows_no_secret(handed_on: ScreenCity) -> None:
    told = handed_on.ok("explain", "pick") + handed_on.ok("explain", "pick", "--json", "-v")
    learned = handed_on.gc("screens", "learn", "pick")

    assert "Your token is sha256:" in told
    assert PASSED not in told + learned.stdout + learned.stderr
    saved = [path.read_text() for path in (handed_on.folder / "screens").rglob("*.*")]
    assert len(saved) == 2
    assert not [text for text in saved if PASSED in text]
