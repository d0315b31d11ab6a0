"""Messages that wait for their agents: kept, delivered once, given up in time."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from tests.integration.controller.stage import CITY, Bench, Running, agent, up

from gascity.config.screens import shipped
from gascity.core.actions import EventType
from gascity.core.model import SessionConfig, StartupHints
from gascity.core.nudges import NudgeState, QueuedNudge
from gascity.core.observed import AGENT, CITY_ID, CONFIG_HASH, NUDGED, RUN
from gascity.errors import NotFound, UsageError
from gascity.journal.store import Journal
from gascity.screens.rules import RuleBook, Rules
from gascity.session.receipts import Delivery, Receipt
from gascity.testing.eventually import eventually
from gascity.testing.fake import FakeProvider

PROMPT = ["> "]
WORKING = ["> do it", "✻ working… (esc to interrupt)"]


@pytest.fixture
def demo(bench: Bench) -> Bench:
    bench.screens = RuleBook({"demo": shipped("demo") or Rules()})
    return bench


def queued(bench: Bench) -> list[QueuedNudge]:
    journal = Journal(str(bench.folder / "city.db"))
    try:
        return journal.nudges.recent()
    finally:
        journal.close()


def start(bench: Bench, rows: list[str]) -> Running:
    running = bench.run(agent("a", backend="demo"))
    eventually(lambda: "gc-c-a" in bench.world.sessions)
    bench.world.sessions["gc-c-a"].shown = [*rows]
    return running


def test_a_message_is_delivered_when_its_agent_becomes_free(demo: Bench) -> None:
    running = start(demo, WORKING)
    eventually(lambda: running.states() == {"a": "working"})

    answer = running.ask("queue_nudge", agents=["a"], text="later", expires=60)

    session = demo.world.sessions["gc-c-a"]
    assert answer["delivery"] == "queued"
    assert session.received == []
    session.shown = [*PROMPT]
    eventually(lambda: session.received == ["later"])
    eventually(lambda: running.told(EventType.NUDGE_SUBMITTED))
    assert [nudge.state for nudge in queued(demo)] == [NudgeState.SUBMITTED]


def test_messages_are_delivered_in_their_order_each_once(demo: Bench) -> None:
    running = start(demo, PROMPT)
    session = demo.world.sessions["gc-c-a"]

    for number in range(5):
        running.ask("queue_nudge", agents=["a"], text=f"message {number}")

    def shown_again() -> bool:
        session.shown = [*PROMPT]  # the fake shows what it is told, as an agent at work does
        return len(session.received) == 5

    eventually(shown_again)
    assert session.received == [f"message {number}" for number in range(5)]


def test_a_message_outlives_the_controller(demo: Bench) -> None:
    running = start(demo, WORKING)
    running.ask("queue_nudge", agents=["a"], text="later")
    demo.end()

    demo.run(agent("a", backend="demo"))
    demo.world.sessions["gc-c-a"].shown = [*PROMPT]

    eventually(lambda: demo.world.sessions["gc-c-a"].received == ["later"])


def test_one_that_was_on_its_way_is_never_sent_again(demo: Bench) -> None:
    journal = Journal(str(demo.folder / "city.db"))
    now = time.time()
    left = journal.nudges.add("a", "gc-c-a", "maybe", at=now, expires_at=now + 60)
    journal.nudges.mark(left.number, NudgeState.SENDING)
    journal.close()

    running = start(demo, PROMPT)
    eventually(up(running, "a"))

    assert demo.world.sessions["gc-c-a"].received == []
    assert [nudge.state for nudge in queued(demo)] == [NudgeState.UNVERIFIED]
    assert "may not have arrived" in running.told(EventType.ALERT_RAISED)[0].message


def test_one_that_waited_too_long_is_given_up(demo: Bench) -> None:
    running = start(demo, WORKING)
    eventually(lambda: running.states() == {"a": "working"})

    running.ask("queue_nudge", agents=["a"], text="soon", expires=0.05)

    eventually(lambda: running.told(EventType.NUDGE_EXPIRED))
    assert [nudge.state for nudge in queued(demo)] == [NudgeState.EXPIRED]


def test_a_message_can_be_taken_back(demo: Bench) -> None:
    running = start(demo, WORKING)
    number = running.ask("queue_nudge", agents=["a"], text="no")["number"]

    assert running.ask("cancel_nudge", number=number) == {"number": number, "state": "cancelled"}

    (listed,) = running.ask("nudges")["nudges"]
    assert (listed["state"], listed["text"]) == ("cancelled", "no")
    with pytest.raises(UsageError, match="cannot be taken back"):
        running.ask("cancel_nudge", number=number)
    with pytest.raises(NotFound):
        running.ask("cancel_nudge", number=99)


class _Doubtful(FakeProvider):
    """Cannot say whether a message arrived."""

    def nudge(
        self, name: str, text: str, *, timeout: float, wait: bool = False, raw: bool = False
    ) -> Receipt:
        super().nudge(name, text, timeout=timeout)
        return Receipt(Delivery.UNVERIFIED, "nothing proves it", text, 1)


def test_doubt_is_told_and_the_message_not_sent_again(demo: Bench) -> None:
    demo.make = _Doubtful
    running = start(demo, PROMPT)

    running.ask("queue_nudge", agents=["a"], text="hello")

    eventually(lambda: running.told(EventType.ALERT_RAISED))
    assert demo.world.sessions["gc-c-a"].received == ["hello"]
    assert [nudge.state for nudge in queued(demo)] == [NudgeState.UNVERIFIED]


class _Shy(FakeProvider):
    """Refuses the first two messages."""

    def nudge(
        self, name: str, text: str, *, timeout: float, wait: bool = False, raw: bool = False
    ) -> Receipt:
        session = self._known(name)
        session.interrupts += 1
        if session.interrupts < 3:
            return Receipt(Delivery.REFUSED, "not now", text)
        return super().nudge(name, text, timeout=timeout)


def test_a_refused_message_is_tried_again(demo: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gascity.controller.deeds.RETRY", 0.05)  # a rest nobody waits for
    demo.make = _Shy
    running = start(demo, PROMPT)

    running.ask("queue_nudge", agents=["a"], text="hello")

    eventually(lambda: demo.world.sessions["gc-c-a"].received == ["hello"])
    eventually(lambda: running.told(EventType.NUDGE_SUBMITTED))
    assert len(running.told(EventType.NUDGE_REFUSED)) == 1


class _Unready(FakeProvider):
    """Brings sessions up that cannot take their first message."""

    def start(self, name: str, config: object, *, timeout: float) -> None:
        super().start(name, config, timeout=timeout)  # type: ignore[arg-type]  # as it is
        self.set_meta(name, NUDGED, "refused: a dialog is open", timeout=1)


def test_a_first_message_that_was_refused_is_delivered_later(demo: Bench) -> None:
    demo.make = _Unready
    hints = StartupHints(ready_prompt_prefix="> ", nudge="first words")

    running = demo.run(agent("a", backend="demo", hints=hints))
    eventually(lambda: running.told(EventType.NUDGE_QUEUED))
    demo.world.sessions["gc-c-a"].shown = [*PROMPT]

    eventually(lambda: "first words" in demo.world.sessions["gc-c-a"].received)


def test_a_first_message_is_not_lost_with_the_controller_that_started_it(demo: Bench) -> None:
    meta = {CITY_ID: CITY, AGENT: "a", CONFIG_HASH: "f", RUN: "r1", NUDGED: "refused: a dialog"}
    session = demo.world.create("gc-c-a", SessionConfig("x", "/", meta=meta))
    session.shown = [*PROMPT]
    hints = StartupHints(ready_prompt_prefix="> ", nudge="first words")

    demo.run(agent("a", backend="demo", hints=hints))
    eventually(lambda: session.received == ["first words"])
    demo.end()
    session.shown = [*PROMPT]
    running = demo.run(agent("a", backend="demo", hints=hints))
    eventually(up(running, "a"))

    assert session.received == ["first words"]


def test_a_first_message_that_may_have_arrived_is_told_once(demo: Bench) -> None:
    meta = {CITY_ID: CITY, AGENT: "a", CONFIG_HASH: "f", RUN: "r1", NUDGED: "unverified: no proof"}
    session = demo.world.create("gc-c-a", SessionConfig("x", "/", meta=meta))
    session.shown = [*PROMPT]
    hints = StartupHints(ready_prompt_prefix="> ", nudge="first words")

    running = demo.run(agent("a", backend="demo", hints=hints))

    eventually(lambda: running.told(EventType.ALERT_RAISED))
    assert session.received == []
    demo.end()
    again = demo.run(agent("a", backend="demo", hints=hints))
    eventually(up(again, "a"))
    assert again.told(EventType.ALERT_RAISED) == []


def test_a_first_message_does_not_outlive_its_incarnation(demo: Bench, tmp_path: Path) -> None:
    demo.make = _Unready
    hints = StartupHints(ready_prompt_prefix="> ", nudge="first words")
    running = demo.run(agent("a", backend="demo", hints=hints))
    eventually(lambda: running.told(EventType.NUDGE_QUEUED))
    demo.world.sessions["gc-c-a"].shown = [*WORKING]

    demo.world.crash("gc-c-a", code=1)
    eventually(lambda: len(running.told(EventType.NUDGE_QUEUED)) == 2)
    eventually(lambda: len(queued(demo)) == 2)

    eventually(
        lambda: (
            [nudge.state for nudge in queued(demo)] == [NudgeState.CANCELLED, NudgeState.PENDING]
        )
    )


def test_a_message_for_nobody_is_refused(demo: Bench) -> None:
    running = start(demo, PROMPT)

    with pytest.raises(NotFound):
        running.ask("queue_nudge", agents=["nobody"], text="hello")
    with pytest.raises(UsageError):
        running.ask("queue_nudge", agents=["a"], text="hello", expires="soon")
