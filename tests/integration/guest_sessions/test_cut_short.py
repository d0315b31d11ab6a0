"""What is cut short in the guest tells nothing: not that a session ended, not that it is new."""

from __future__ import annotations

import shutil
import time
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.guests.daemon import Daemon

from gascity.core.model import SessionConfig
from gascity.core.observed import Alive
from gascity.session.provider import CityContext
from gascity.session.receipts import Delivery
from gascity.testing.eventually import eventually
from gascity_guest import Provider

pytestmark = pytest.mark.tmux
LIMIT = 60.0
READS = 'echo up; while read -r line; do echo "got $line"; done'
# Ends the shell that asked, as a daemon does that is stopped, once for each flag.
CUTS = """#!/bin/sh
case "{name} $*" in {wanted}) rm {flag} 2>/dev/null && kill -TERM 0 ;; esac
exec {program} "$@"
"""


class Cutter:
    """A folder of programs, of which some can be told to be cut short."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir()

    def wrap(self, name: str, wanted: str) -> Path:
        """Return the flag that cuts it short once, where its words are the wanted ones."""
        flag = self.folder / f"{name}.flag"
        program = shutil.which(name)
        text = CUTS.format(name=name, wanted=wanted, flag=flag, program=program)
        path = self.folder / name
        path.write_text(text)
        path.chmod(0o755)
        return flag


@pytest.fixture
def cutter(tmp_path: Path) -> Cutter:
    return Cutter(tmp_path / "programs")


@pytest.fixture
def provider(tmp_path: Path, cutter: Cutter) -> Iterator[Provider]:
    state = tmp_path / "city" / ".gc"
    state.mkdir(parents=True)
    path = f"{cutter.folder}:/usr/local/bin:/usr/bin:/bin"
    daemon = Daemon(tmp_path, env={"PATH": path, "HOME": str(tmp_path)})
    daemon.start()
    made = Provider(CityContext("town", uuid.uuid4().hex, str(state), {"socket": daemon.socket}))
    try:
        yield made
        made.stop("a", grace=0.2, timeout=LIMIT)
    finally:
        made.close()
        daemon.stop()


@pytest.fixture
def config(tmp_path: Path) -> SessionConfig:
    return SessionConfig(READS, str(tmp_path / "work"), {"KEY": "value"})


def test_a_session_whose_metadata_could_not_be_told_is_still_there(
    provider: Provider, cutter: Cutter, config: SessionConfig
) -> None:
    provider.start("a", config, timeout=LIMIT)
    flag = cutter.wrap("tmux", "*source-file*")
    provider.set_meta("a", "OTHER", "new", timeout=LIMIT)
    flag.touch()

    assert provider.observe(timeout=LIMIT)["a"].life == Alive()
    assert not flag.exists()


def test_a_screen_that_could_not_be_told_is_not_that_of_a_dead_one(
    provider: Provider, cutter: Cutter, config: SessionConfig
) -> None:
    provider.start("a", config, timeout=LIMIT)
    flag = cutter.wrap("tmux", "*source-file*")
    terminal = provider.terminal("a")
    assert terminal is not None
    flag.touch()

    assert terminal.look(timeout=LIMIT).alive
    assert not flag.exists()
    assert provider.nudge("a", "hello", timeout=LIMIT).delivery is Delivery.SUBMITTED


def test_metadata_that_was_cut_short_is_not_that_of_a_session_that_is_gone(
    provider: Provider, cutter: Cutter, config: SessionConfig
) -> None:
    provider.start("a", config, timeout=LIMIT)
    flag = cutter.wrap("tmux", "*source-file*")
    flag.touch()

    assert provider.get_meta("a", "GONE", timeout=LIMIT) is None
    eventually(lambda: provider.peek("a", 5, timeout=LIMIT).startswith("up"))


def test_a_program_is_not_missed_where_the_list_was_cut_short(
    provider: Provider, cutter: Cutter, config: SessionConfig
) -> None:
    provider.start("a", config, timeout=LIMIT)
    eventually(lambda: provider.peek("a", 5, timeout=LIMIT).startswith("up"))  # it is `sh` by then
    flag = cutter.wrap("head", "*cmdline*")
    flag.touch()

    assert provider.process_alive("a", ["sh"], timeout=LIMIT)
    assert not flag.exists()


def test_processes_that_were_not_told_are_not_taken_for_gone(
    provider: Provider, cutter: Cutter, config: SessionConfig
) -> None:
    provider.start("a", config, timeout=LIMIT)
    flag = cutter.wrap("awk", "*")
    flag.touch()

    provider.stop("a", grace=0.2, timeout=LIMIT)

    assert not flag.exists()
    assert dict(provider.observe(timeout=LIMIT)) == {}


def test_a_start_that_was_cut_short_is_made_once_and_lives(
    provider: Provider, cutter: Cutter, config: SessionConfig
) -> None:
    flag = cutter.wrap("tmux", "*source-file*")
    flag.touch()

    provider.start("a", config, timeout=LIMIT)

    assert not flag.exists()
    assert provider.observe(timeout=LIMIT)["a"].life == Alive()


def test_a_tmux_that_has_lost_its_last_session_is_an_answer_too(
    provider: Provider, config: SessionConfig
) -> None:
    provider.start("a", config, timeout=LIMIT)
    deadline = time.monotonic() + LIMIT
    socket = provider._guest.home(deadline).socket
    provider._guest.run(f"tmux -S {socket} kill-session -t a", deadline=deadline)

    eventually(lambda: not provider.observe(timeout=LIMIT))
    provider.start("a", config, timeout=LIMIT)
    assert provider.observe(timeout=LIMIT)["a"].life == Alive()


def test_a_start_goes_on_where_the_folder_of_the_city_went_with_its_last_session(
    tmp_path: Path, provider: Provider, config: SessionConfig
) -> None:
    flag = tmp_path / "once"
    flag.touch()

    def leave() -> None:
        """Remove the folder as the end of a last session does."""
        home = Path(provider._guest.home(float("inf")).path)
        if flag.exists() and list((home / "given").glob("*")):
            flag.unlink()
            shutil.rmtree(home)

    provider._guest.may_act = leave
    provider.start("a", config, timeout=LIMIT)

    assert not flag.exists()
    assert provider.observe(timeout=LIMIT)["a"].life == Alive()
