"""`gc status --watch`: always as it is, without flicker, and the terminal is given back."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.cli.conftest import GC, HEAD, LIMIT, City, MakeCity
from tests.cli.test_terminal import Terminal

from gascity.testing.eventually import eventually

FRAME = re.compile(rb"\x1b\[\?2026h\x1b\[H(.*?)\x1b\[\?2026l", re.DOTALL)
TAKEN, GIVEN_BACK = b"\x1b[?1049h", b"\x1b[?7h\x1b[?25h\x1b[?1049l"


class Pane:
    """A bare terminal with `gc status --watch` in it, and every byte that was written to it."""

    def __init__(self, city: City) -> None:
        self._keys, far = pty.openpty()
        self.resize(80, 24)
        self.modes = termios.tcgetattr(far)
        self.far = far
        self.process = subprocess.Popen(
            ["setsid", "--ctty", GC, "status", "--watch"],  # so that Ctrl-C is meant for it
            cwd=city.folder,
            env=city.environment(TERM="xterm", LANG="C.UTF-8"),
            stdin=far,
            stdout=far,
            stderr=far,
        )
        self.written = b""
        self._ended = threading.Event()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        while not self._ended.is_set():
            if select.select([self._keys], [], [], 0.05)[0]:
                with contextlib.suppress(OSError):
                    self.written += os.read(self._keys, 65536)

    def frames(self) -> list[str]:
        return [found.decode() for found in FRAME.findall(self.written)]

    def shows(self, text: str) -> str:
        def look() -> str:
            last = self.frames()[-1] if self.frames() else self.written.decode()
            assert text in last, last
            return last

        return eventually(look, within=LIMIT)

    def resize(self, columns: int, rows: int) -> None:
        fcntl.ioctl(self._keys, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def press(self, keys: bytes) -> None:
        os.write(self._keys, keys)

    def ends_with(self) -> int:
        """Return the exit code, once it has ended and all it wrote was read."""
        code = self.process.wait(LIMIT)
        eventually(lambda: GIVEN_BACK in self.written, within=LIMIT)
        return code

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        self._ended.set()
        self._reader.join()
        os.close(self._keys)
        os.close(self.far)


OpenPane = Callable[[City], Pane]


@pytest.fixture
def pane() -> Iterator[OpenPane]:
    made: list[Pane] = []

    def make(city: City) -> Pane:
        made.append(Pane(city))
        return made[-1]

    yield make
    for one in made:
        one.close()


def test_one_write_a_frame_and_nothing_is_cleared(quiet: City, pane: OpenPane) -> None:
    watching = pane(quiet)
    watching.shows("talker")
    eventually(lambda: len(watching.frames()) >= 2, within=LIMIT)  # the seconds pass
    watching.press(b"q")

    assert watching.ends_with() == 0
    assert re.search(rb"\x1b\[[123]J", watching.written) is None
    taken, rest = watching.written.split(TAKEN, 1)
    assert not taken
    assert rest.count(b"\x1b[?2026h") == rest.count(b"\x1b[?2026l") == len(watching.frames())
    outside = FRAME.sub(b"", rest)
    assert outside == b"\x1b[?25l\x1b[?7l" + GIVEN_BACK


@pytest.mark.parametrize("end", ["q", "Ctrl-C", "SIGTERM", "SIGHUP"])
def test_the_terminal_is_given_back(quiet: City, pane: OpenPane, end: str) -> None:
    watching = pane(quiet)
    watching.shows("talker")
    assert termios.tcgetattr(watching.far) != watching.modes

    match end:
        case "q":
            watching.press(b"q")
        case "Ctrl-C":
            watching.press(b"\x03")
        case _:
            watching.process.send_signal(signal.Signals[end])

    codes = {"q": 0, "Ctrl-C": 130, "SIGTERM": -signal.SIGTERM, "SIGHUP": -signal.SIGHUP}
    assert watching.ends_with() == codes[end]
    assert termios.tcgetattr(watching.far) == watching.modes
    assert watching.written.endswith(GIVEN_BACK)


def test_a_resize_is_followed(make_city: MakeCity, pane: OpenPane) -> None:
    text = "".join(
        f'[[agents]]\nname = "w-{n}"\nstart_command = "sleep 1000"\nsuspended = true\n'
        for n in range(30)
    )
    watching = pane(make_city(HEAD + text))
    assert "\r\n... and 9 more" in watching.shows("w-20")

    watching.resize(60, 12)

    assert watching.shows("... and 21 more").count("\r\n") == 11
    watching.resize(200, 50)
    assert "PROVIDER" in watching.shows("w-29")


def test_a_change_is_shown_as_it_happens(city: City, pane: OpenPane) -> None:
    city.start()
    watching = pane(city)
    watching.shows("3 ready; controller")

    city.ok("stop", "b")

    assert watching.shows("2 ready, 1 stopped").index(" a ") < watching.frames()[-1].index(" b ")


def test_a_controller_may_go_and_come_back(city: City, pane: OpenPane) -> None:
    first = city.start()
    watching = pane(city)
    watching.shows(f"3 ready; controller {first}")

    os.kill(first, signal.SIGKILL)
    watching.shows("3 ready; no controller runs")
    second = city.start()
    watching.shows(f"3 ready; controller {second}")
    city.ok("stop")
    watching.shows("3 stopped; no controller runs")

    assert watching.process.poll() is None


def test_a_controller_that_hangs_is_told(city: City, pane: OpenPane) -> None:
    controller = city.start()
    watching = pane(city)
    watching.shows("3 ready; controller")
    os.kill(controller, signal.SIGSTOP)
    try:
        watching.shows("it does not answer")
    finally:
        os.kill(controller, signal.SIGCONT)

    eventually(lambda: "answer" not in watching.frames()[-1], within=LIMIT)


def test_a_city_file_that_breaks_ends_nothing(city: City, pane: OpenPane) -> None:
    watching = pane(city)
    watching.shows("3 stopped; no controller runs")

    city.write("not [ toml")

    watching.shows("city.toml")
    city.write(HEAD + '[[agents]]\nname = "lone"\nstart_command = "true"\n')
    watching.shows("1 agent: 1 stopped")


@pytest.mark.parametrize("words", [["--watch"], ["-w"]])
def test_without_a_terminal_it_says_what_to_do(quiet: City, words: list[str]) -> None:
    done = quiet.gc("status", *words)

    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        "error: --watch needs a terminal that it can draw on\n"
        "hint: `gc status --watch --json` prints a document for each change\n"
    )


def test_without_a_city_the_terminal_is_not_touched(city: City, pane: OpenPane) -> None:
    (city.folder / "city.toml").unlink()
    watching = pane(city)

    assert watching.process.wait(LIMIT) == 4
    eventually(lambda: b"error: " in watching.written, within=LIMIT)
    assert b"\x1b" not in watching.written


def test_a_program_gets_a_document_for_each_change(city: City) -> None:
    city.start()
    process = city.popen("status", "--watch", "--json")
    assert process.stdout is not None
    first = json.loads(process.stdout.readline())
    assert [agent["state"] for agent in first["agents"]] == ["ready"] * 3

    city.ok("stop", "b")

    states = {agent["name"]: agent["state"] for agent in first["agents"]}
    while states["b"] != "stopped":
        document = json.loads(process.stdout.readline())
        states = {agent["name"]: agent["state"] for agent in document["agents"]}
    process.send_signal(signal.SIGINT)
    assert process.wait(LIMIT) == 130


def test_a_program_that_has_had_enough_is_no_failure(quiet: City) -> None:
    done = subprocess.run(
        ["bash", "-c", f"{GC} status --watch --json | head -n 1; exit ${{PIPESTATUS[0]}}"],
        cwd=quiet.folder,
        env=quiet.environment(),
        capture_output=True,
        text=True,
        timeout=LIMIT,
        check=False,
    )

    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout)["city"] == "town"


def test_a_quiet_city_costs_next_to_nothing(quiet: City, pane: OpenPane) -> None:
    watching = pane(quiet)
    watching.shows("talker")
    stat = Path(f"/proc/{watching.process.pid}/stat")

    def spent() -> float:
        fields = stat.read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    before, began = spent(), time.monotonic()
    eventually(lambda: time.monotonic() - began > 3.0, within=LIMIT)

    assert spent() - before < 0.1 * (time.monotonic() - began)


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[Terminal]:
    made = Terminal(tmp_path)
    yield made
    made.close()


@pytest.mark.tmux
def test_in_a_real_terminal_it_is_as_wide_as_that(terminal: Terminal, quiet: City) -> None:
    terminal.run(f"gc -C {quiet.folder} status --watch")
    terminal.shows("4 ready; controller")

    for columns, title in ((200, "PROVIDER"), (60, "SINCE"), (40, "AGENT"), (80, "RESTARTS")):
        terminal._tmux("resize-window", "-x", str(columns), "-y", "20")
        screen = terminal.shows(title)
        eventually(lambda: terminal.screen().count("rigs/talker") == 1, within=LIMIT)
        assert screen.count("4 ready") == 1
    terminal.type("q")

    eventually(lambda: "rigs/talker" not in terminal.screen(), within=LIMIT)
    terminal.run("stty -a | tr ';' '\\n' | grep -w icanon; echo given back")
    assert "-icanon" not in terminal.shows("\ngiven back")


@pytest.mark.tmux
def test_a_pause_gives_the_terminal_back_for_so_long(terminal: Terminal, quiet: City) -> None:
    terminal.run(f"cd {quiet.folder}; clear; gc status --watch")
    terminal.shows("4 ready; controller")

    terminal.type("C-z")
    terminal.shows("Stopped")
    terminal.run("echo $((6 * 7))")
    terminal.shows("\n42")
    terminal.run("fg")

    assert "Stopped" not in terminal.shows("4 ready; controller")
    terminal.type("q")
    terminal.shows("\n42")
