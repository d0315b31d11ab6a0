"""`gc wrap` on a real terminal, and without one."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import signal
import socket
import struct
import subprocess
import termios
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
import yaml
from tests.cli.conftest import GC
from tests.cli.place import FIVE, LIMIT, Place, names

from gascity.runs.folder import STDERR, STDOUT
from gascity.testing.eventually import eventually


class Terminal:
    """A person's terminal, with `gc wrap` in it."""

    def __init__(self, place: Place, *command: str, env: Mapping[str, str] | None = None) -> None:
        self.leader, self._follower = pty.openpty()
        self.resize(30, 100)
        self.before = termios.tcgetattr(self._follower)
        self.seen = b""
        self.process = subprocess.Popen(
            [GC, "wrap", "--task", "t", "--", *command],
            cwd=place.work,
            env=place.env(env),
            stdin=self._follower,
            stdout=self._follower,
            stderr=self._follower,
            start_new_session=True,
        )

    def resize(self, rows: int, columns: int) -> None:
        fcntl.ioctl(self.leader, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def type(self, keys: bytes) -> None:
        os.write(self.leader, keys)

    def shows(self, text: bytes) -> None:
        """Wait until it has shown something."""
        deadline = time.monotonic() + LIMIT
        while text not in self.seen:
            assert time.monotonic() < deadline, self.seen
            if select.select([self.leader], [], [], 0.1)[0]:
                self.seen += os.read(self.leader, 4096)

    def ended(self) -> int:
        """Return the exit code; the terminal is as it was before."""
        code = self.process.wait(timeout=LIMIT)
        assert termios.tcgetattr(self._follower) == self.before
        return code

    def paste(self, text: bytes) -> None:
        """Type it as fast as it is taken; what is shown meanwhile is seen."""
        os.set_blocking(self.leader, False)
        deadline = time.monotonic() + LIMIT
        while text:
            assert time.monotonic() < deadline, len(text)
            shown, taken, _ = select.select([self.leader], [self.leader], [], 0.1)
            if shown:
                self.seen += os.read(self.leader, 4096)
            if taken:
                text = text[os.write(self.leader, text[:1000]) :]
        os.set_blocking(self.leader, True)

    def close(self) -> None:
        os.close(self.leader)
        self.release()

    def release(self) -> None:
        """Let go of all but the leader."""
        self.process.kill()
        self.process.wait()
        os.close(self._follower)


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    place = Place(tmp_path)
    yield place
    eventually(lambda: place.living() == [], within=LIMIT)


def _folder(place: Place) -> Path:
    (folder,) = place.folders()
    return folder


def test_a_terminal_is_passed_through_and_recorded(place: Place) -> None:
    script = 'stty size; printf "name? "; read name; echo "hello $name" >/dev/tty; exit 5'
    terminal = Terminal(place, "sh", "-c", script)
    terminal.shows(b"30 100\r\nname? ")
    terminal.type(b"bob\r")
    terminal.shows(b"hello bob\r\n")
    code = terminal.ended()
    terminal.close()
    record = yaml.safe_load((_folder(place) / "run-info.yaml").read_text())

    assert (code, record["kind"], record["exit_code"], record["status"]) == (5, "wrap", 5, "failed")
    assert (_folder(place) / STDOUT).read_bytes() == terminal.seen
    assert names(_folder(place)) == FIVE
    assert place.messages() == ["RUN_START", "RUN_CRASH"]
    assert place.marks() == []


def test_the_size_of_the_window_is_followed(place: Place) -> None:
    terminal = Terminal(
        place, "sh", "-c", "trap 'stty size; exit 0' WINCH; echo up; sleep 1000 & wait; wait"
    )
    terminal.shows(b"up")
    terminal.resize(41, 77)
    terminal.process.send_signal(signal.SIGWINCH)  # it is no job of a shell here
    terminal.shows(b"41 77")
    code = terminal.ended()
    terminal.close()

    assert code == 0


def test_ctrl_c_and_ctrl_z_are_the_programs(place: Place) -> None:
    script = (
        "trap 'echo int' INT; trap 'echo tstp; exit 0' TSTP; echo up; while :; do sleep 0.05; done"
    )
    terminal = Terminal(place, "sh", "-c", script)
    terminal.shows(b"up")
    terminal.type(b"\x03")
    terminal.shows(b"int")
    terminal.type(b"\x1a")
    terminal.shows(b"tstp")
    code = terminal.ended()
    terminal.close()

    assert code == 0
    assert place.messages() == ["RUN_START", "RUN_STOP"]


def test_a_paste_that_is_not_read_yet_holds_nothing_up(place: Place) -> None:
    script = "stty -icanon -echo; echo up; seq 1 300000; head -c 200000 | wc -c; echo over"
    terminal = Terminal(place, "sh", "-c", script)
    terminal.shows(b"up")
    terminal.paste(b"0123456789abcde\n" * 12_500)
    terminal.shows(b"300000\r\n200000\r\nover")
    code = terminal.ended()
    terminal.close()

    assert code == 0


def test_a_terminal_that_is_closed_stops_it(place: Place) -> None:
    terminal = Terminal(place, "sh", "-c", "echo up; sleep 1000")
    terminal.shows(b"up")
    os.close(terminal.leader)
    terminal.leader = os.open(os.devnull, os.O_RDONLY)
    terminal.process.send_signal(signal.SIGHUP)  # it is not the terminal of its session
    code = terminal.process.wait(timeout=LIMIT)
    terminal.close()

    assert code == 143
    assert yaml.safe_load((_folder(place) / "run-info.yaml").read_text())["end"] == "stopped"


def test_a_program_that_cannot_be_run_is_told_on_the_terminal(place: Place) -> None:
    terminal = Terminal(place, "no-such-program")
    terminal.shows(b'exec: "no-such-program": executable file not found')
    code = terminal.ended()
    terminal.close()

    assert code == 127


def test_a_program_on_a_terminal_gets_variables_of_any_name(place: Place) -> None:
    terminal = Terminal(place, "env", env={"a.dot": "kept", "BASH_FUNC_x%%": "() {  :; }"})
    code = terminal.ended()
    terminal.close()

    assert code == 0
    shown = (_folder(place) / STDOUT).read_bytes()
    assert b"a.dot=kept\r\n" in shown
    assert b"BASH_FUNC_x%%=() {  :; }\r\n" in shown


@pytest.mark.parametrize(
    ("script", "told"), [("kill -9 $$", 137), ("exec no-such-program", 127), ("exit 0", 0)]
)
def test_the_terminal_is_given_back_whatever_happens(place: Place, script: str, told: int) -> None:
    terminal = Terminal(place, "sh", "-c", script)
    code = terminal.ended()
    terminal.close()

    assert code == told


def test_a_stopped_wrap_gives_the_terminal_back(place: Place) -> None:
    terminal = Terminal(place, "sh", "-c", "stty raw -echo; echo up; sleep 1000")
    terminal.shows(b"up")
    terminal.process.send_signal(signal.SIGTERM)
    code = terminal.ended()
    terminal.close()

    assert code == 143
    assert place.living() == []


def test_a_window_that_is_closed_ends_the_command_and_is_no_panic(place: Place) -> None:
    terminal = Terminal(place, "sh", "-c", "echo up; sleep 1000")
    terminal.shows(b"up")
    os.close(terminal.leader)  # what a closed window does, and the signal that comes with it:
    terminal.process.send_signal(signal.SIGHUP)
    code = terminal.process.wait(timeout=LIMIT)
    terminal.release()
    record = yaml.safe_load((_folder(place) / "run-info.yaml").read_text())

    assert (code, record["end"], record["exit_code"]) == (143, "stopped", 143)


def test_without_a_terminal_all_is_passed_byte_for_byte(place: Place) -> None:
    given = bytes(range(256)) * 2000
    done = place.gc("wrap", "--", "sh", "-c", "cat; printf 'no\\377' >&2; exit 3", given=given)

    assert (done.returncode, done.stdout, done.stderr) == (3, given, b"no\xff")
    assert (_folder(place) / STDOUT).read_bytes() == given
    assert (_folder(place) / "output.md").read_bytes() == given
    assert (_folder(place) / STDERR).read_bytes() == b"no\xff"
    assert names(_folder(place)) == FIVE


def test_a_program_hears_that_nobody_reads_it_any_more(place: Place) -> None:
    process = place.popen("wrap", "--", "yes")
    assert process.stdout is not None
    assert process.stdout.read(2) == b"y\n"
    process.stdout.close()
    process.stdout = None

    _, said = process.communicate(timeout=LIMIT)

    assert (process.returncode, said) == (128 + signal.SIGPIPE, b"")
    assert names(_folder(place)) == FIVE


def test_the_input_is_a_socket(place: Place) -> None:
    ours, its = socket.socketpair()
    with ours, its:
        process = place.popen("wrap", "--", "cat", stdin=its.fileno())
        ours.sendall(b"hello")
        ours.shutdown(socket.SHUT_WR)
        out, _ = process.communicate(timeout=LIMIT)

    assert (process.returncode, out) == (0, b"hello")


def test_the_input_is_read_where_others_left_it(place: Place) -> None:
    path = place.folder / "lines"
    path.write_bytes(b"one\ntwo\nthree\n")
    with path.open("rb", buffering=0) as file:
        file.seek(4)
        process = place.popen(
            "wrap", "--", "sh", "-c", "read word; echo $word", stdin=file.fileno()
        )
        out, _ = process.communicate(timeout=LIMIT)

        assert (process.returncode, out) == (0, b"two\n")
        assert file.read() == b"three\n"


@pytest.mark.parametrize(("more", "told"), [("", 141), ("trap '' PIPE; ", 3)])
def test_a_reader_that_leaves_ends_the_command_as_ever(place: Place, more: str, told: int) -> None:
    script = f"{more}while echo yes; do :; done 2>/dev/null; exit 3"
    reading, writing = os.pipe()
    process = place.popen("wrap", "--", "sh", "-c", script, out=writing)
    os.close(writing)
    assert os.read(reading, 4) == b"yes\n"
    os.close(reading)
    _, err = process.communicate(timeout=LIMIT)

    assert (process.returncode, err) == (told, b"")
    assert place.messages() == ["RUN_START", "RUN_CRASH"]


def test_a_full_disk_on_its_output_ends_the_command_and_no_more(place: Place) -> None:
    with open("/dev/full", "wb") as full:
        process = place.popen(
            "wrap", "--", "sh", "-c", "while echo yes; do :; done", out=full.fileno()
        )
        _, err = process.communicate(timeout=LIMIT)

    assert (process.returncode, err) == (141, b"")


def test_what_cannot_be_kept_holds_nobody_up(place: Place) -> None:
    wrap = [GC, "wrap", "--", "sh", "-c", "head -c 3000000 /dev/zero; echo end"]
    done = subprocess.run(
        ["bash", "-c", 'ulimit -f 1000; exec "$@"', "-", *wrap],  # in KiB: a disk that is full then
        cwd=place.work,
        env=place.env(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=LIMIT,
        check=False,
    )

    assert len(done.stdout) == 3000004
    assert b"warning: what it showed is not kept to its end: File too large\n" in done.stderr
    assert b"Traceback" not in done.stderr
    assert place.marks() == []


def test_its_input_is_the_very_one_of_the_wrap(place: Place, tmp_path: Path) -> None:
    (tmp_path / "lines").write_text("one\ntwo\nthree\n")
    script = f"read first; {GC} wrap -- sh -c 'read second; echo got $second'; cat"
    with open(tmp_path / "lines", "rb") as lines:
        done = subprocess.run(
            ["sh", "-c", script],
            cwd=place.work,
            env=place.env(),
            stdin=lines,
            capture_output=True,
            timeout=LIMIT,
            check=False,
        )
    ours, its = socket.socketpair()
    with ours, its:
        ours.sendall(b"hello\n")
        ours.shutdown(socket.SHUT_WR)
        process = place.popen("wrap", "--", "sh", "-c", "cat; ls /proc/self/fd", stdin=its.fileno())
        out, err = process.communicate(timeout=LIMIT)

    assert done.stdout == b"got two\nthree\n"
    assert (process.returncode, out, err) == (0, b"hello\n0\n1\n2\n3\n", b"")  # 3 is of ls


def test_a_wrapped_command_is_told_who_it_is(place: Place) -> None:
    tokens = {"OPENAI_API_KEY": "sk-own-123456", "XAI_API_KEY": "sk-other-123456"}
    words = ("wrap", "--backend", "codex", "--project", "p", "--", "env")
    done = place.gc(*words, env={**tokens, "JRUN_ID": "forged"})
    env = dict(line.split("=", 1) for line in done.stdout.decode().splitlines())

    assert (env["JRUN_ID"], env["JRUN_PROJECT_ID"]) == (_folder(place).name, "p")
    assert env["RUN_FOLDER"] == str(_folder(place))
    assert env["OPENAI_API_KEY"] == "sk-own-123456"
    assert "XAI_API_KEY" not in env


@pytest.mark.parametrize("how", ["wrap", "run"])
def test_a_tool_known_by_its_name_keeps_its_own_login(place: Place, how: str) -> None:
    tool = place.work / "codex"
    tool.write_text("#!/bin/sh\nenv\n")
    tool.chmod(0o755)
    tokens = {"OPENAI_API_KEY": "sk-own-123456", "XAI_API_KEY": "sk-other-123456"}
    shown = place.gc(how, "--", "./codex", env=tokens).stdout.decode()
    other = place.gc(how, "--", "env", env=tokens).stdout.decode()

    assert "OPENAI_API_KEY=sk-own-123456" in shown
    assert "XAI_API_KEY" not in shown
    assert "API_KEY" not in other


def test_nothing_to_wrap_is_told(place: Place) -> None:
    for words in (("wrap",), ("wrap", "--backend", "nobody", "--", "true")):
        done = place.gc(*words)
        assert (done.returncode, done.stderr.startswith(b"error: ")) == (2, True)
    gone = place.gc("wrap", "--", "no-such-program")
    assert gone.returncode == 127
    assert b"executable file not found" in gone.stderr
