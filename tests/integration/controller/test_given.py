"""What a session's process was given, in a fake world whose sessions have real processes."""

from __future__ import annotations

import contextlib
import subprocess
from collections.abc import Iterator
from dataclasses import replace

import pytest
from tests.integration.controller.stage import CITY, Bench, Running, agent

from gascity.config.screens import shipped
from gascity.controller.given import Given
from gascity.core.actions import EventType
from gascity.core.model import SessionConfig
from gascity.core.observed import (
    AGENT,
    CITY_ID,
    CONFIG_HASH,
    RUN,
    Alive,
    Exited,
    ProcessId,
    Seen,
    SessionState,
    Unseen,
)
from gascity.runs.ids import new_run_id
from gascity.screens.rules import RuleBook, Rules
from gascity.session import processes
from gascity.testing.eventually import eventually

SECRET = "opensesame-12345"
META = {CITY_ID: CITY, AGENT: "a", CONFIG_HASH: "f", RUN: new_run_id()}


@contextlib.contextmanager
def sleeper(secret: str) -> Iterator[ProcessId]:
    """Give a process that was given a secret."""
    given = {"API_TOKEN": secret, "MODE": "careful", RUN: META[RUN]}
    child = subprocess.Popen(["sleep", "1000"], env=given)
    found = processes.identify(child.pid)
    assert found is not None
    eventually(lambda: processes.environment(found) == given)
    yield found
    child.kill()
    child.wait()


@pytest.fixture
def process() -> Iterator[ProcessId]:
    with sleeper(SECRET) as found:
        yield found


@pytest.fixture
def demo(bench: Bench) -> Bench:
    """Return a bench whose agents can be demos."""
    bench.screens = RuleBook({"demo": shipped("demo") or Rules()})
    return bench


def session(process: ProcessId, name: str = "gc-c-a") -> SessionState:
    return SessionState(name, Alive(), process, meta=META)


def learned(*sessions: SessionState) -> dict[str, tuple[str, ...]]:
    return Given(CITY).secrets(Seen({state.name: state for state in sessions}))


def test_the_secrets_of_a_living_process_are_learned(process: ProcessId) -> None:
    assert learned(session(process)) == {"a": (SECRET,)}


def test_a_process_is_read_once_and_its_successor_again(process: ProcessId) -> None:
    given = Given(CITY)
    with sleeper("another") as successor:
        looks = [session(one) for one in (process, process, successor, successor)]
        found = [given.secrets(Seen({state.name: state})) for state in looks]

    assert found == [{"a": (SECRET,)}, {}, {"a": ("another",)}, {}]


def test_a_process_that_is_not_yet_its_program_is_read_again(process: ProcessId) -> None:
    given = Given(CITY)
    later = {"gc-c-a": replace(session(process), meta={**META, RUN: new_run_id()})}

    assert [given.secrets(Seen(later)) for _ in range(2)] == [{"a": (SECRET,)}] * 2


def test_nothing_is_learned_of_strangers_of_the_dead_and_of_silence(process: ProcessId) -> None:
    stranger = replace(session(process), meta={**META, CITY_ID: "another"})
    ended = replace(session(process, "gc-c-b"), life=Exited(1))
    bodiless = SessionState("gc-c-d", Alive(), meta=META)

    assert learned(stranger, ended, bodiless) == {}
    assert Given(CITY).secrets(Unseen("it is stuck")) == {}


def took_up(demo: Bench, process: ProcessId, *rows: str) -> Running:
    """Return a controller that found a session which an earlier one had started."""
    demo.world.create("gc-c-a", SessionConfig("true", "/", meta=META))
    demo.world.sessions["gc-c-a"].process = process
    demo.world.sessions["gc-c-a"].shown = [f"export KEY={SECRET[:9]}", SECRET[9:], *rows]
    return demo.run(agent("a", backend="demo", dialogs={"trust": "ask"}))


def test_an_alert_of_a_session_that_was_taken_up_tells_no_secret(
    demo: Bench, process: ProcessId
) -> None:
    running = took_up(
        demo,
        process,
        "",
        "Do you trust the files in this folder?",
        "",
        "❯ 1. Yes, I trust this folder",  # noqa: RUF001  as the demo draws it
        "  2. No, exit",
        "",
        "Enter to confirm · Esc to cancel",
    )
    eventually(lambda: running.told(EventType.ALERT_RAISED))

    (event,) = running.told(EventType.ALERT_RAISED)
    assert "export KEY=sha256:" in event.detail
    assert SECRET[9:] not in event.detail


def test_a_secret_is_known_although_its_process_is_gone_since(
    demo: Bench, process: ProcessId
) -> None:
    running = took_up(demo, process)
    eventually(lambda: running.told(EventType.SESSION_ADOPTED))

    demo.world.crash("gc-c-a", code=1)
    eventually(lambda: running.told(EventType.SESSION_CRASHED))

    assert SECRET not in running.controller.conceal("a", f"the key was {SECRET}")
