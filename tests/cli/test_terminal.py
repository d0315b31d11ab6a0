"""The demo city on tmux, as a person at a real terminal meets it.

The terminal is a second tmux with a server of its own, in which a shell is typed at.
"""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.cli.conftest import GC

from gascity.testing.eventually import eventually

pytestmark = pytest.mark.tmux

CITY = """
[workspace]
name = "quay"
provider = "demo"

[session]
provider = "tmux"

[[agents]]
name = "mayor"

[[agents]]
name = "clerk"
"""


class Terminal:
    """A terminal with a shell in it."""

    def __init__(self, folder: Path) -> None:
        self.socket = folder / f"t-{uuid.uuid4().hex[:8]}"
        path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
        env = [
            "env",
            "-i",
            f"PATH={path}",
            f"HOME={folder}",
            "SHELL=/bin/sh",  # nobody's own settings
            "TERM=screen-256color",
            "LANG=C.UTF-8",
        ]
        shell = [*env, "PS1=$ ", "/bin/sh", "-i"]
        self._tmux("new-session", "-d", "-x", "140", "-y", "40", "-c", str(folder), *shell)

    def type(self, *keys: str) -> None:
        """Press keys, one after another."""
        self._tmux("send-keys", *keys)

    def run(self, line: str) -> None:
        """Type a line and press Enter."""
        self._tmux("send-keys", "-l", line)
        self.type("Enter")

    def screen(self) -> str:
        """Return what the terminal shows."""
        return self._tmux("capture-pane", "-p")

    def shows(self, text: str) -> str:
        """Wait until the terminal shows something; return the screen."""

        def look() -> str:
            screen = self.screen()
            assert text in screen, screen
            return screen

        return eventually(look)

    def press(self, key: str, done: Callable[[str], bool]) -> None:
        """Press a key after the prefix key, as often as it takes until the screen is as it should.

        Keys that a tmux client reads within a millisecond of other input count as pasted: on a
        busy machine the prefix key then is text to it.
        """

        def pressed() -> bool:
            self.type("C-b")
            time.sleep(0.05)  # a person's fingers
            self.type(key)
            try:
                eventually(lambda: done(self.screen()), within=2.0)
            except AssertionError:
                return False
            return True

        eventually(pressed)

    def leave(self) -> None:
        """Detach with the keys a person presses."""
        self.press("d", lambda screen: "[detached" in screen)
        self.type("C-u")  # what a late key left on the shell's line

    def close(self) -> None:
        """End the terminal and what runs in it."""
        self._tmux("kill-server")

    def _tmux(self, *words: str) -> str:
        done = subprocess.run(
            ["tmux", "-u", "-f", "/dev/null", "-S", str(self.socket), *words],
            capture_output=True,
            text=True,
            timeout=20,
            check=True,
        )
        return done.stdout


def has_prompt(screen: str) -> bool:
    """Tell whether a shell waits for a command."""
    return any(row.rstrip().endswith(("#", "$")) for row in screen.split("\n"))


def restarts(city: Path) -> int:
    """Return how often the first agent was restarted."""
    told = subprocess.run(
        [GC, "-C", str(city), "status", "--json"], capture_output=True, check=True
    )
    return int(json.loads(told.stdout)["agents"][0]["restarts"])


@pytest.fixture
def city(tmp_path: Path) -> Iterator[Path]:
    (tmp_path / "city.toml").write_text(CITY)
    yield tmp_path
    subprocess.run([GC, "-C", str(tmp_path), "stop"], capture_output=True, check=True)


@pytest.fixture
def terminal(city: Path) -> Iterator[Terminal]:
    made = Terminal(city)
    yield made
    made.close()


def test_a_person_starts_looks_attaches_detaches_and_stops(terminal: Terminal) -> None:
    terminal.run("gc start --detach")
    terminal.shows("sessions live in tmux")
    terminal.run("clear; until gc status | grep '2 agents: 2 ready'; do sleep 0.1; done")
    terminal.shows("2 agents: 2 ready; controller")

    terminal.run("clear; gc peek mayor")
    assert "Gas City demo agent" in terminal.shows("> ")

    terminal.run("clear; gc attach mayor")
    screen = terminal.shows("quay | mayor | running")
    assert "d detaches" in screen
    terminal.run("good evening")
    terminal.shows('You said: "good evening"')

    terminal.leave()
    terminal.run("clear; gc peek mayor")
    terminal.shows('You said: "good evening"')

    terminal.run("clear; gc stop")
    terminal.shows("stopped 2 agents and the controller")


def test_who_is_starting_is_waited_for(terminal: Terminal, city: Path) -> None:
    late = 'name = "mayor"\npre_start = ["until [ -e go ]; do sleep 0.1; done"]\n'
    (city / "city.toml").write_text(CITY.replace('name = "mayor"\n', late))
    terminal.run("gc start --detach; clear; gc attach mayor")
    terminal.shows("mayor is starting ...")

    (city / "go").touch()

    terminal.shows("quay | mayor | running")
    terminal.leave()


def test_who_is_not_to_run_is_not_waited_for(terminal: Terminal) -> None:
    terminal.run("gc start --detach; gc stop mayor; clear; gc attach mayor; echo it was $?")
    screen = terminal.shows("it was 5")

    assert "error: mayor is not running (stopped: " in screen
    assert "hint: `gc status` tells why" in screen


def test_without_a_controller_nobody_is_waited_for(terminal: Terminal) -> None:
    terminal.run("clear; gc attach mayor; echo it was $?")

    assert "error: mayor is not running\nhint: " in terminal.shows("it was 5")


def test_a_reader_cannot_type(terminal: Terminal) -> None:
    terminal.run("gc start --detach; clear; gc attach --read-only mayor")
    terminal.shows("quay | mayor | running")

    terminal.run("nobody hears this")
    terminal.leave()

    terminal.run("clear; gc nudge mayor 'somebody hears this'")
    terminal.shows("mayor: submitted")
    # The words are in; the answer may take a moment more.
    terminal.run("clear; until gc peek mayor | grep 'You said: .somebody'; do sleep 0.1; done")
    terminal.shows('You said: "somebody hears this"')
    terminal.run("clear; gc peek mayor")
    screen = terminal.shows('You said: "somebody hears this"')
    assert "nobody hears this" not in screen


def test_inside_the_citys_own_tmux_the_client_is_switched(terminal: Terminal) -> None:
    terminal.run("gc start --detach; clear; gc attach mayor")
    terminal.shows("quay | mayor | running")
    # A shell beside the agent, on the same server.
    here = shlex.quote(str(Path(sys.executable).parent))
    terminal.press("c", has_prompt)  # what is typed before the prompt may be thrown away
    terminal.run(f"PATH={here}:$PATH; clear; gc attach clerk")

    terminal.shows("quay | clerk | running")

    terminal.leave()


def test_who_watches_an_agent_crash_sees_the_next_one(terminal: Terminal, city: Path) -> None:
    terminal.run("gc start --detach; clear; gc attach mayor")
    terminal.shows("● You said")

    terminal.run("/crash 7")

    # The crashed one is replaced by one that has answered its own first prompt.
    eventually(lambda: restarts(city) == 1)
    terminal.shows("● You said")
    terminal.shows("quay | mayor | running")
    terminal.run("are you new?")
    terminal.shows('You said: "are you new?"')
    terminal.leave()
