"""What a shell beside an agent's terminal can tell of its input."""

from __future__ import annotations

import os
import pty
import shutil
import subprocess
import tty
from collections.abc import Iterator
from pathlib import Path

import pytest

from gascity.session.tmux.shell import input_script, read_input


@pytest.fixture
def ends() -> Iterator[tuple[int, int]]:
    master, slave = pty.openpty()
    yield master, slave
    os.close(master)
    os.close(slave)


def told(path: str, programs: str = os.environ["PATH"]) -> tuple[bool, bool | None]:
    done = subprocess.run(
        ["/bin/sh", "-c", input_script(path)],
        env={"PATH": programs},
        capture_output=True,
        timeout=20,
        check=False,
    )
    return read_input(done.returncode, done.stdout.decode())


def test_a_terminal_that_reads_lines_has_read_all_or_has_not(ends: tuple[int, int]) -> None:
    master, slave = ends
    path = os.ttyname(slave)

    before = told(path)
    os.write(master, b"a line\n")

    assert before == (True, False)
    assert told(path) == (True, True)
    assert os.read(slave, 100) == b"a line\n"


def test_a_terminal_that_hands_on_keys_reads_no_lines(ends: tuple[int, int]) -> None:
    tty.setraw(ends[1])

    assert told(os.ttyname(ends[1])) == (False, False)


def test_without_bash_only_the_unread_is_unknown(ends: tuple[int, int], tmp_path: Path) -> None:
    stty = shutil.which("stty")
    assert stty is not None
    (tmp_path / "stty").symlink_to(stty)

    assert told(os.ttyname(ends[1]), str(tmp_path)) == (True, None)


@pytest.mark.parametrize("path", ["/dev/null", "/nowhere/it is"])
def test_of_what_is_no_terminal_nothing_is_told(path: str) -> None:
    assert told(path) == (False, None)
