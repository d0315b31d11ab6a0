"""The demo agent on a real terminal."""

from __future__ import annotations

import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Iterator
from fcntl import ioctl
from pathlib import Path

import pytest

UP, DOWN, ESCAPE, ENTER = "\x1b[A", "\x1b[B", "\x1b", "\r"
CODES = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]")
CURSOR = "❯"  # noqa: RUF001  the mark real agents use

# Makes the pty the controlling terminal, so that Ctrl-C is a signal, and becomes the agent.
ON_ITS_TERMINAL = """
import fcntl, runpy, termios
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
runpy.run_module("gascity.demo", run_name="__main__")
"""


class Terminal:
    """The demo agent behind a pty; `output` is all it wrote so far, with its control codes."""

    def __init__(self, folder: Path, *arguments: str) -> None:
        self._ours, theirs = pty.openpty()
        ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
        self.settings = termios.tcgetattr(theirs)
        self.process = subprocess.Popen(
            [sys.executable, "-c", ON_ITS_TERMINAL, *arguments],
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            cwd=folder,
            start_new_session=True,
        )
        self._theirs = theirs
        self.output = ""
        self._seen = 0

    def expect(self, text: str, within: float = 20.0) -> str:
        """Read until `text` comes, after what was expected before; return all up to it."""
        deadline = time.monotonic() + within
        while text not in self.output[self._seen :]:
            left = deadline - time.monotonic()
            ready, _, _ = select.select([self._ours], [], [], max(left, 0))
            assert ready, f"{text!r} did not come; since the last: {self.output[self._seen :]!r}"
            self.output += os.read(self._ours, 65536).decode(errors="replace")
        begin, self._seen = self._seen, self.output.index(text, self._seen) + len(text)
        return self.output[begin : self._seen]

    def type(self, text: str) -> None:
        os.write(self._ours, text.encode())

    def ended(self, within: float = 20.0) -> int:
        return self.process.wait(within)

    def now_set(self) -> list[object]:
        return termios.tcgetattr(self._theirs)

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        os.close(self._ours)
        os.close(self._theirs)


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[Callable[..., Terminal]]:
    opened: list[Terminal] = []

    def open_one(*arguments: str) -> Terminal:
        opened.append(Terminal(tmp_path, *arguments))
        return opened[-1]

    yield open_one
    for each in opened:
        each.close()


def test_enter_accepts_the_trust_dialog_which_then_disappears(
    terminal: Callable[..., Terminal],
) -> None:
    agent = terminal()
    shown = agent.expect("Esc to cancel\r\n")

    agent.type(ENTER)
    after = agent.expect("> ")

    assert f"{CURSOR} 1. Yes, I trust this folder\r\n  2. No, exit" in CODES.sub("", shown)
    assert after.startswith("\x1b[7A\r\x1b[J")


@pytest.mark.parametrize("way", [DOWN, "\x1bOB", "2"], ids=["arrow", "application arrow", "digit"])
def test_the_second_option_leaves(terminal: Callable[..., Terminal], way: str) -> None:
    agent = terminal()
    agent.expect("Esc to cancel\r\n")

    agent.type(way)
    agent.expect(f"{CURSOR} 2. No, exit")
    agent.expect("Esc to cancel\r\n")
    agent.type(ENTER)

    assert agent.ended() == 1


def test_the_cursor_comes_back_up(terminal: Callable[..., Terminal]) -> None:
    agent = terminal("--dialog-default", "no")
    agent.expect(f"{CURSOR} 2. No, exit")

    agent.type(UP)
    agent.expect(f"{CURSOR} 1. Yes, I trust this folder")
    agent.expect("Esc to cancel\r\n")
    agent.type(ENTER)

    agent.expect("> ")


def test_escape_cancels_the_dialog(terminal: Callable[..., Terminal]) -> None:
    agent = terminal()
    agent.expect("Esc to cancel\r\n")

    agent.type(ESCAPE)

    assert agent.ended() == 1


def test_a_message_is_worked_on_and_quoted(terminal: Callable[..., Terminal]) -> None:
    agent = terminal("--trust", "--name", "mayor")
    banner = agent.expect("> ")

    agent.type("hello there" + ENTER)
    agent.expect("working… (esc to interrupt)")
    gone = agent.expect('● You said: "hello there"')
    agent.expect("> ")

    assert "mayor" in banner
    assert gone.startswith("\r\x1b[K")


def test_a_paste_keeps_its_lines_together(terminal: Callable[..., Terminal]) -> None:
    agent = terminal("--trust", "--work-seconds", "0")
    banner = agent.expect("> ")

    agent.type("\x1b[200~first\rsecond 🏙\x1b[201~")
    agent.type(ENTER)

    agent.expect('You said: "first\r\n  second 🏙"')
    assert "\x1b[?2004h" in banner


def test_a_paste_that_comes_in_pieces_is_one_message(terminal: Callable[..., Terminal]) -> None:
    agent = terminal("--trust", "--work-seconds", "0")
    agent.expect("> ")
    long = "x" * 50_000

    for start in range(0, len(long), 1000):
        agent.type(("\x1b[200~" if start == 0 else "") + long[start : start + 1000])
    agent.type("\x1b[201~" + ENTER)

    agent.expect(f'You said: "{long}"')


def test_a_long_paste_is_shown_by_a_sign(terminal: Callable[..., Terminal]) -> None:
    agent = terminal("--trust", "--work-seconds", "0")
    agent.expect("> ")
    lines = "\r".join(f"line {number}" for number in range(9))
    quoted = "[Pasted text #1 +8 lines]"

    agent.type(f"see \x1b[200~{lines}\x1b[201~!")
    shown = agent.expect("lines]!")
    agent.type(ENTER)
    agent.expect('You said: "see line 0\r\n  line 1')
    agent.expect('line 8!"')
    agent.type(f"{quoted} \x1b[200~{quoted}{'x' * 500}\x1b[201~" + ENTER)
    agent.expect(f'You said: "{quoted} {quoted}{"x" * 500}"')
    agent.type(f"\x1b[200~{lines}\x1b[201~\x7fgone" + ENTER)

    assert shown == f"see {quoted}!"
    agent.expect('You said: "gone"')


def test_backspace_and_erase_change_the_draft(terminal: Callable[..., Terminal]) -> None:
    agent = terminal("--trust", "--work-seconds", "0")
    agent.expect("> ")

    agent.type("wrong\x15helloo\x7f 東\x7f京" + ENTER)

    agent.expect('You said: "hello 京"')


def test_escape_interrupts_the_work(terminal: Callable[..., Terminal]) -> None:
    agent = terminal("--trust", "--work-seconds", "60")
    agent.expect("> ")
    agent.type("a long task" + ENTER)
    agent.expect("esc to interrupt")

    agent.type(ESCAPE)

    agent.expect("Interrupted · What should I do instead?")
    agent.expect("> ")


def test_control_c_interrupts_the_work_and_twice_at_the_prompt_leaves(
    terminal: Callable[..., Terminal],
) -> None:
    agent = terminal("--trust", "--work-seconds", "60")
    agent.expect("> ")
    agent.type("a long task" + ENTER)
    agent.expect("esc to interrupt")

    agent.type("\x03")
    agent.expect("What should I do instead?")
    agent.expect("> ")
    agent.type("\x03")
    agent.expect("again to exit")
    agent.type("\x03")

    assert agent.ended() == 130


def test_what_is_typed_during_work_is_the_next_message(terminal: Callable[..., Terminal]) -> None:
    agent = terminal("--trust", "--work-seconds", "0.5")
    agent.expect("> ")
    agent.type("one" + ENTER)
    agent.expect("esc to interrupt")

    agent.type("two" + ENTER)

    agent.expect('You said: "one"')
    agent.expect('You said: "two"')


def test_the_terminal_is_given_back_as_it_was(terminal: Callable[..., Terminal]) -> None:
    agent = terminal("--trust")
    agent.expect("> ")
    taken = agent.now_set()

    agent.type("/exit" + ENTER)
    agent.expect("\x1b[?2004l")

    assert agent.ended() == 0
    assert taken != agent.settings
    assert agent.now_set() == agent.settings


def test_control_d_ends_well(terminal: Callable[..., Terminal]) -> None:
    agent = terminal("--trust")
    agent.expect("> ")

    agent.type("\x04")

    assert agent.ended() == 0


def test_kill_ends_by_signal(terminal: Callable[..., Terminal]) -> None:
    agent = terminal("--trust")
    agent.expect("> ")

    agent.type("/kill" + ENTER)

    assert agent.ended() == -signal.SIGKILL
