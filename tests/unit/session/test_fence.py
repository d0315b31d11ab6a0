"""Nothing is changed behind a fence, and everything can be looked at."""

from __future__ import annotations

import inspect

import pytest

from gascity.core.model import SessionConfig
from gascity.errors import NotLeading
from gascity.session.fence import CHANGES, put_fence
from gascity.session.provider import SessionProvider
from gascity.testing.fake import FakeProvider, FakeWorld

LOOKS = {
    "about",
    "check_settings",
    "close",
    "get_meta",
    "is_running",
    "last_activity",
    "leadership",
    "list_running",
    "observe",
    "peek",
    "previous_output",
    "process_alive",
    "processes_alive",
    "screens",
    "shape",
    "sources",
    "terminal",
    "unavailable",
    "use",
    "watch",
}


class Gate:
    open = True
    asked = 0

    def __call__(self) -> None:
        self.asked += 1
        if not self.open:
            raise NotLeading("another leads")


@pytest.fixture
def gate() -> Gate:
    return Gate()


@pytest.fixture
def fenced(gate: Gate) -> FakeProvider:
    provider = FakeWorld().provider()
    provider.start("s", SessionConfig("true", "/", meta={"k": "v"}), timeout=1)
    put_fence(provider, gate)
    return provider


def test_every_method_of_a_provider_is_known_to_change_something_or_not() -> None:
    methods = {
        name
        for name, _ in inspect.getmembers(SessionProvider, callable)
        if not name.startswith("_")
    }

    assert methods == LOOKS | set(CHANGES)


def test_behind_a_closed_fence_nothing_changes(fenced: FakeProvider, gate: Gate) -> None:
    gate.open = False
    session = fenced.world.sessions["s"]

    for change in (
        lambda: fenced.start("t", SessionConfig("true", "/"), timeout=1),
        lambda: fenced.stop("s", grace=0, timeout=1),
        lambda: fenced.stop_all(["s"], grace=0, timeout=1),
        lambda: fenced.interrupt("s", timeout=1),
        lambda: fenced.nudge("s", "hello", timeout=1),
        lambda: fenced.send_keys("s", ["Enter"], timeout=1),
        lambda: fenced.set_meta("s", "k", "w", timeout=1),
        lambda: fenced.remove_meta("s", "k", timeout=1),
        lambda: fenced.clear_scrollback("s", timeout=1),
        lambda: fenced.copy_to("s", "/a", "b", timeout=1),
    ):
        with pytest.raises(NotLeading):
            change()

    assert fenced.world.sessions == {"s": session}
    assert session.meta == {"k": "v"}
    assert (session.received, session.keys, session.copied) == ([], [], [])


def test_a_terminal_can_be_looked_at_and_not_typed_at(fenced: FakeProvider, gate: Gate) -> None:
    gate.open = False
    terminal = fenced.terminal("s")
    assert terminal is not None

    assert terminal.look(timeout=1).alive
    with pytest.raises(NotLeading):
        terminal.press(["Enter"], timeout=1)
    with pytest.raises(NotLeading):
        terminal.paste("text", timeout=1)
    with pytest.raises(NotLeading):
        terminal.wake(timeout=1)
    assert fenced.world.sessions["s"].keys == []


def test_looking_asks_nobody(fenced: FakeProvider, gate: Gate) -> None:
    gate.open = False

    assert fenced.observe(timeout=1)["s"].meta == {"k": "v"}
    assert fenced.peek("s", 5, timeout=1) == ""
    assert gate.asked == 0


def test_each_step_can_ask_and_an_open_fence_lets_pass(fenced: FakeProvider, gate: Gate) -> None:
    fenced.set_meta("s", "k", "w", timeout=1)

    assert gate.asked == 1
    assert fenced.get_meta("s", "k", timeout=1) == "w"
    gate.open = False
    with pytest.raises(NotLeading):
        fenced.context.fence()
