"""Agents in a tmux that is reached in another way: each line is a client's, and has one answer.

No connection, no provider: what is shared must do with what any way to a server can give.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from tests.integration.tmux.conftest import LIMIT, SCRIBE, outer_env

from gascity.core.model import SessionConfig, StartupHints
from gascity.core.observed import BACKEND, DIALOGS, STARTING, Alive, Life
from gascity.errors import SessionNotFound
from gascity.screens.reading import Kind
from gascity.screens.rules import Box, Region, Rule, RuleBook, Rules
from gascity.screens.screen import Screen
from gascity.session.local import LocalFolder
from gascity.session.locks import session_lock
from gascity.session.provider import CityContext
from gascity.session.readiness import Stand
from gascity.session.receipts import Delivery, Receipt
from gascity.session.tmux import screen
from gascity.session.tmux.contract import Tmux
from gascity.session.tmux.problems import Gone
from gascity.session.tmux.standing import Standing
from gascity.session.tmux.talk import Talker
from gascity.session.tmux.terminal import TmuxTerminal, look_at
from gascity.session.tmux.wire import Block
from gascity.testing.eventually import eventually

pytestmark = pytest.mark.tmux
DIALOG = """
printf 'Trust it?\\n> 1. Yes\\n  2. No\\n'
stty -icanon -echo; dd bs=1 count=1 >/dev/null 2>&1
printf '\\033[2J\\033[H----\\n> \\n----'; sleep 1000
"""
LOOK_AT_INPUT = """
exec 3<"$1" && stty -a <&3 || exit 1
if read -t 0 <&3; then printf yes; else printf no; fi
"""
RULES = Rules(
    backend="t",
    box=Box(
        first=re.compile(">(?P<text>.*)$"), above=re.compile("^----"), below=re.compile("----")
    ),
    rules=(
        Rule(
            "trust",
            Kind.DIALOG,
            Region.BOTTOM,
            match=(re.compile("Trust it"),),
            box=False,
            accept=re.compile("^Yes"),
            deny=re.compile("^No"),
        ),
        Rule("prompt", Kind.READY, Region.BOX, box=True),
    ),
)


@dataclass(frozen=True)
class Found:
    id: str
    alive: bool
    session: str = "=main:"
    name: str = "a"


@dataclass
class Elsewhere:
    """One agent on a server of its own, as in a container. `tells_input` may be out of reach."""

    socket: Path
    meta: dict[str, str] = field(default_factory=dict)
    tells_input: bool = True

    def ask(self, *lines: str, deadline: float, of: Found | None) -> Sequence[Block]:
        return [self._answer(line, deadline) for line in lines]

    def do(self, line: str, deadline: float, *, of: Found | None) -> bool:
        return all(block.ok for block in self.ask(line, deadline=deadline, of=of))

    def find(self, name: str, deadline: float) -> Found | None:
        asked = "list-panes -t main -F '#{pane_id} #{pane_dead}'"
        try:
            (answer,) = self.ask(asked, deadline=deadline, of=None)
        except Gone:
            return None
        if not answer.ok:  # a server that is about to end answers so
            return None
        pane, dead = answer.text.split()
        return Found(pane, dead == "0") if name == "a" else None

    def stored(self, pane: Found, deadline: float) -> Mapping[str, str]:
        return self.meta

    def input_of(self, tty: str, deadline: float) -> tuple[bool, bool | None]:
        # Opened once: a terminal may close between two looks at its path.
        asked = ["bash", "-c", LOOK_AT_INPUT, "-", tty]
        looked = subprocess.run(asked, check=False, capture_output=True, text=True, timeout=LIMIT)
        if looked.returncode:
            return False, None
        modes, _, unread = looked.stdout.rpartition("\n")
        return " icanon" in modes.replace(";", " "), unread == "yes" if self.tells_input else None

    def wink(self, tty: str, deadline: float) -> None:
        rows, columns = run("stty", "size", "-F", tty).split()
        run("stty", "-F", tty, "rows", str(int(rows) - 1))
        run("stty", "-F", tty, "rows", rows, "cols", columns)

    def _answer(self, line: str, deadline: float) -> Block:
        done = subprocess.run(
            ["tmux", "-u", "-S", str(self.socket), "source-file", "-"],
            input=line.encode() + b"\n",
            env=outer_env(),
            capture_output=True,
            timeout=max(deadline - time.monotonic(), 0.01),
            check=False,
        )
        if b"no server running" in done.stderr:
            raise Gone("the tmux server has ended")
        return Block(done.returncode == 0, tuple(done.stdout.split(b"\n")[:-1]))


class Reused(Elsewhere):
    """One where somebody else's terminal, with nothing unread, has the path as soon as it can."""

    def input_of(self, tty: str, deadline: float) -> tuple[bool, bool | None]:
        told = super().input_of(tty, deadline)
        if told == (True, False) and screen.now(self, "a", deadline) == "":
            return told
        eventually(lambda: not pane(self).alive, within=LIMIT)
        return True, False


class Place(LocalFolder):
    """The agent while it is brought up."""

    def __init__(self, there: Elsewhere, config: SessionConfig) -> None:
        super().__init__(config.work_dir, config.env)
        self._there = there

    def create(self, *, timeout: float) -> None:
        raise NotImplementedError

    def life(self, *, timeout: float) -> Life:
        return Alive()

    def stand(self, *, timeout: float) -> Stand:
        raise NotImplementedError

    def peek(self, lines: int, *, timeout: float) -> str:
        return screen.now(self._there, "a", time.monotonic() + timeout)

    def nudge(self, text: str, *, wait: bool, timeout: float) -> Receipt:
        raise NotImplementedError

    def set_meta(self, key: str, value: str, *, timeout: float) -> None:
        self._there.meta[key] = value

    def discard(self, *, timeout: float) -> None:
        raise NotImplementedError


def run(*words: str) -> str:
    return subprocess.run(words, check=True, capture_output=True, text=True, timeout=LIMIT).stdout


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    yield tmp_path
    socket = socket_in(tmp_path)
    with contextlib.suppress(subprocess.CalledProcessError):
        asked = ["display-message", "-p", "#{pid} #{pane_pid}"]
        for pid in run("tmux", "-S", str(socket), *asked).split():
            with contextlib.suppress(ProcessLookupError):
                os.kill(int(pid), signal.SIGKILL)
    socket.unlink(missing_ok=True)


def socket_in(folder: Path) -> Path:
    """Return a place for a socket that is short enough, whatever the folder is called."""
    return Path("/tmp") / f"gc-elsewhere-{hashlib.sha256(bytes(folder)).hexdigest()[:16]}"


def begin(folder: Path, script: str, meta: Mapping[str, str] | None = None) -> Elsewhere:
    socket = socket_in(folder)
    new = ["new-session", "-d", "-s", "main", "-x", "80", "-y", "24", "-c", str(folder)]
    keep = ["set-option", "-w", "remain-on-exit", "on"]
    subprocess.run(
        ["tmux", "-u", "-f", "/dev/null", "-S", str(socket), *new, "sh", "-c", script, ";", *keep],
        env=outer_env(),
        check=True,
        timeout=LIMIT,
    )
    return Elsewhere(socket, dict(meta or {}))


def by() -> float:
    return time.monotonic() + LIMIT


def pane(there: Tmux[Found]) -> Found:
    found = there.find("a", by())
    assert found is not None
    return found


def look(there: Elsewhere) -> Screen:
    return TmuxTerminal(there, pane(there)).look(timeout=LIMIT)


def talker(there: Elsewhere, folder: Path, rules: Rules | None = None) -> Talker[Found]:
    known = {rules.backend: rules} if rules is not None else {}
    return Talker(CityContext("t", "id", str(folder / ".gc"), {}, RuleBook(known)), there)


def heard(folder: Path) -> list[str]:
    path = folder / "heard"
    return path.read_text("utf-8").splitlines() if path.exists() else []


def test_a_look_tells_the_rows_the_cursor_and_the_title(folder: Path) -> None:
    there = begin(folder, "printf '\\033]2;a | ☃\\007one\\n\\n  \\033[2mtwo'; sleep 1000")

    eventually(lambda: look(there).rows == ("one", "", "  two"))

    seen = look(there)
    assert (seen.cursor, seen.title, seen.typed) == ((2, 5), "a | ☃", ("one", "", ""))
    assert (seen.alive, seen.attached, seen.reads_lines, seen.unread) == (True, 0, True, False)
    assert look_at(there, [pane(there)], by())["a"].rows == seen.rows


def test_a_program_that_ended_and_a_server_that_is_gone_are_not_alive(folder: Path) -> None:
    there = begin(folder, "read -r line; echo last words")
    terminal = TmuxTerminal(there, pane(there))

    terminal.press(["Enter"], timeout=LIMIT)
    eventually(lambda: not terminal.look(timeout=LIMIT).alive)
    shown = terminal.look(timeout=LIMIT)
    there.do("kill-session -t main", by(), of=None)

    assert "last words" in shown.text
    assert (shown.reads_lines, shown.unread) == (False, False)
    assert not terminal.look(timeout=LIMIT).alive
    terminal.press(["Enter"], timeout=LIMIT)
    terminal.wake(timeout=LIMIT)
    with pytest.raises(SessionNotFound):
        screen.peek(there, "a", 5, by())


@pytest.mark.parametrize("count", [1, 3, 500, 0])
def test_the_last_lines_are_read_back_from_what_scrolled_away(folder: Path, count: int) -> None:
    there = begin(folder, "seq 300; printf 'é☃'; sleep 1000")
    whole = [*map(str, range(1, 301)), "é☃"]

    eventually(lambda: screen.now(there, "a", by()).endswith("é☃"))

    wanted = whole[-count:] if count else whole
    assert screen.peek(there, "a", count, by()).split("\n") == wanted


def test_a_program_that_reads_lines_proves_that_it_read_them(folder: Path) -> None:
    there = begin(folder, SCRIBE)
    text = "- 'one' $HOME;\n\n\"two\" ☃ ;"

    eventually(lambda: look(there).reads_lines)
    receipt = talker(there, folder).nudge("a", text, timeout=LIMIT, wait=False)

    assert (receipt.delivery, receipt.evidence) == (Delivery.SUBMITTED, "its program read it")
    eventually(lambda: heard(folder) == text.split("\n"))


def test_what_cannot_be_looked_into_proves_nothing(folder: Path) -> None:
    there = begin(folder, SCRIBE)
    there.tells_input = False

    receipt = talker(there, folder).nudge("a", "hello", timeout=LIMIT, wait=False)

    assert receipt.delivery is Delivery.UNVERIFIED
    eventually(lambda: heard(folder) == ["hello"])


def test_a_terminal_that_took_the_place_of_a_closed_one_proves_nothing(folder: Path) -> None:
    there = begin(folder, "read -r line")
    reused = Reused(there.socket)

    receipt = talker(reused, folder).nudge("a", "hello", timeout=LIMIT, wait=False)

    assert receipt.delivery is Delivery.UNVERIFIED


def test_a_program_that_does_not_read_has_not_read_it(folder: Path) -> None:
    there = begin(folder, "sleep 1000")

    receipt = talker(there, folder).nudge("a", "hello", timeout=LIMIT, wait=False)

    assert receipt.delivery is Delivery.UNVERIFIED
    assert look(there).unread


def test_who_is_starting_or_ended_or_unknown_is_told_nothing(folder: Path) -> None:
    there = begin(folder, SCRIBE, {STARTING: "1"})
    talk = talker(there, folder)

    starting = talk.nudge("a", "hello", timeout=LIMIT, wait=False)
    unknown = talk.nudge("b", "hello", timeout=LIMIT, wait=False)
    there.do("kill-session -t main", by(), of=None)

    assert (starting.delivery, unknown.delivery) == (Delivery.REFUSED, Delivery.ABSENT)
    assert talk.nudge("a", "x", timeout=LIMIT, wait=False).delivery is Delivery.ABSENT
    assert heard(folder) == []


def test_a_program_is_made_to_look_at_its_terminal_and_has_its_size_again(folder: Path) -> None:
    script = "trap 'echo looked; stty size' WINCH; echo up; while :; do sleep 0.01; done"
    there = begin(folder, script)
    eventually(lambda: look(there).text == "up")

    TmuxTerminal(there, pane(there)).wake(timeout=LIMIT)

    eventually(lambda: "looked" in look(there).text)
    eventually(lambda: "24 80" in look(there).text)


def test_a_dialog_in_the_way_is_answered_and_kept(folder: Path) -> None:
    there = begin(folder, DIALOG, {BACKEND: "t"})
    hints = StartupHints(dialogs={"trust": "accept"})
    config = SessionConfig("", str(folder), {}, hints, {})
    standing = Standing(
        Place(there, config),
        RULES,
        hints,
        lambda timeout: session_lock(str(folder / ".gc"), "a", timeout),
        lambda: TmuxTerminal(there, pane(there)),
    )

    eventually(lambda: standing.stand(timeout=LIMIT) is Stand.READY, within=LIMIT)

    assert '"chosen": "Yes"' in there.meta[DIALOGS]


def test_without_rules_the_prompt_on_the_screen_tells(folder: Path) -> None:
    there = begin(folder, "printf 'old> \\n'; seq 100; read -r line; printf 'old> '; sleep 1000")
    hints = StartupHints(ready_prompt_prefix="old>")
    config = SessionConfig("", str(folder), {}, hints, {})
    rules = Rules(backend="", box=None, rules=())
    standing = Standing(
        Place(there, config),
        rules,
        hints,
        lambda timeout: session_lock(str(folder / ".gc"), "a", timeout),
        lambda: None,
    )

    eventually(lambda: "100" in look(there).text)
    before = standing.stand(timeout=LIMIT)
    TmuxTerminal(there, pane(there)).press(["Enter"], timeout=LIMIT)

    assert before is Stand.NOT_YET  # it scrolled away
    eventually(lambda: standing.stand(timeout=LIMIT) is Stand.READY)
