"""`gc events --follow`: every event once, whatever becomes of the controller."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from tests.cli.conftest import GC, LIMIT, City
from tests.living import lives

from gascity.core.actions import Event, EventType
from gascity.core.memory import Memory
from gascity.journal.store import Journal
from gascity.testing.eventually import eventually

WAITING = "no controller runs: the journal is watched until one does\n"


class Follower:
    """`gc events --follow --json`, and what it has said."""

    def __init__(
        self,
        city: City,
        *words: str,
        command: Sequence[str] = ("events", "--follow", "--json"),
        env: Mapping[str, str] | None = None,
    ) -> None:
        self.process = subprocess.Popen(
            [GC, *command, *words],
            cwd=city.folder,
            env=city.environment(**(env or {})),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.events: list[dict[str, object]] = []
        self.complaints: list[str] = []
        self._threads = [
            threading.Thread(target=self._read_events, daemon=True),
            threading.Thread(target=self._read_complaints, daemon=True),
        ]
        for thread in self._threads:
            thread.start()

    def _read_events(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.events.append(json.loads(line))

    def _read_complaints(self) -> None:
        assert self.process.stderr is not None
        self.complaints.extend(self.process.stderr)

    def numbers(self) -> list[object]:
        return [event["number"] for event in self.events]

    def told(self, kind: EventType) -> int:
        return sum(event["type"] == kind for event in self.events)

    def waits(self) -> bool:
        return self.complaints == [WAITING]

    def end(self) -> int:
        """Press Ctrl-C; return what it ended with."""
        self.process.send_signal(signal.SIGINT)
        code = self.process.wait(LIMIT)
        for thread in self._threads:
            thread.join(LIMIT)
        assert self.process.stdout is not None
        assert self.process.stderr is not None
        self.process.stdout.close()
        self.process.stderr.close()
        return code


def kept(city: City) -> list[int]:
    journal = Journal(str(city.state / "city.db"), patience=5.0)
    found = [entry.number for page in journal.events.every() for entry in page.entries]
    journal.close()
    return found


def kill(pid: int) -> None:
    os.kill(pid, signal.SIGKILL)
    eventually(lambda: not lives(pid), within=LIMIT)


def write(city: City, count: int) -> None:
    city.state.mkdir(exist_ok=True)
    journal = Journal(str(city.state / "city.db"), patience=5.0)
    for _ in range(count):
        journal.record(time.time(), [Event(EventType.AGENT_HELD, "a")], Memory())
    journal.close()


def test_what_happens_is_told_as_it_happens_and_ctrl_c_is_quiet(city: City) -> None:
    city.start()
    follower = Follower(city, "--agent", "a")
    eventually(lambda: follower.told(EventType.SESSION_STARTED) == 1, within=LIMIT)

    city.ok("restart", "a")
    city.ok("restart", "b")
    city.ok("restart", "a")

    eventually(lambda: follower.told(EventType.SESSION_STARTED) == 3, within=LIMIT)
    assert {event["agent"] for event in follower.events} == {"a"}
    assert follower.end() == 130
    assert follower.complaints == []


def test_nothing_is_lost_or_doubled_across_the_ends_of_controllers(city: City) -> None:
    """Kills, times without a controller in which others write, and a clean end."""
    follower = Follower(city, "-n", "0")
    eventually(follower.waits, within=LIMIT)
    for _ in range(2):
        pid = city.start()
        eventually(lambda: follower.numbers() == kept(city), within=LIMIT)
        kill(pid)
        write(city, 30)
        eventually(lambda: follower.numbers() == kept(city), within=LIMIT)
    city.start()
    city.ok("restart", "c")
    city.ok("stop")

    eventually(lambda: follower.numbers() == kept(city), within=LIMIT)
    assert len(kept(city)) > 60
    assert follower.told(EventType.CONTROLLER_STARTED) == 3
    assert follower.waits()
    assert follower.end() == 130


def test_another_journal_is_shown_from_its_first_event_on(city: City) -> None:
    write(city, 5)
    follower = Follower(city)
    eventually(lambda: follower.numbers() == [1, 2, 3, 4, 5], within=LIMIT)
    eventually(follower.waits, within=LIMIT)

    for left in list(city.state.glob("city.db*")):
        left.rename(city.state / f"old-{left.name}")
    write(city, 2)

    eventually(lambda: follower.numbers() == [1, 2, 3, 4, 5, 1, 2], within=LIMIT)
    assert follower.complaints[1:] == [
        "this is another journal: its events are shown from the first on\n"
    ]
    assert follower.end() == 130


@pytest.mark.parametrize("runs", [True, False], ids=["controller", "alone"])
def test_it_ends_when_nobody_reads_any_more(city: City, runs: bool) -> None:
    write(city, 5)
    if runs:
        city.start()

    done = subprocess.run(
        ["bash", "-c", f"{GC} events -f | head -n 2; exit ${{PIPESTATUS[0]}}"],
        cwd=city.folder,
        env=city.environment(),
        capture_output=True,
        text=True,
        timeout=LIMIT,
        check=False,
    )

    assert done.returncode == 0
    assert done.stdout.count("held") == 2
    assert done.stderr in ("", WAITING)


@pytest.mark.parametrize("words", ["events -n 0", "events -n 0 --json", "events", "--help"])
def test_a_reader_that_has_had_enough_is_no_failure(city: City, words: str) -> None:
    write(city, 2000)

    done = subprocess.run(
        ["bash", "-c", f"{GC} {words} | head -n 0; exit ${{PIPESTATUS[0]}}"],
        cwd=city.folder,
        env=city.environment(),
        capture_output=True,
        text=True,
        timeout=LIMIT,
        check=False,
    )

    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_an_older_controller_that_cannot_tell_is_done_without(city: City, tmp_path: Path) -> None:
    """Its socket answers, and knows no such method: the journal is watched instead."""
    from gascity.controller.control import ControlSocket
    from gascity.controller.messages import Asked
    from gascity.errors import UsageError

    def refuse(asked: Asked) -> None:
        asked.answer(UsageError(f'this controller knows no method "{asked.method}"'))

    write(city, 1)
    control = ControlSocket(str(city.state / "controller.sock"), refuse)
    follower = Follower(city)
    eventually(lambda: follower.complaints, within=LIMIT)
    write(city, 3)

    eventually(lambda: follower.numbers() == [1, 2, 3, 4], within=LIMIT)
    assert follower.complaints == [
        "the controller does not tell: the journal is watched until one does\n"
    ]
    assert follower.end() == 130
    control.close()
