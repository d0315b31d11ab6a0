"""The queue of messages between the journal and the loop: nothing lost, nothing doubled."""

from __future__ import annotations

import json
import sqlite3
import threading
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from tests.integration.controller.stage import Bench, agent, up

from gascity.config.screens import shipped
from gascity.controller.act import Outcome
from gascity.controller.messages import Asked
from gascity.controller.postbox import Postbox
from gascity.controller.telling import dialogs_at_start
from gascity.controller.workers import MOST
from gascity.core.actions import Event, EventType, Nudge
from gascity.core.model import SessionConfig, StartupHints
from gascity.core.nudges import NudgeState, QueuedNudge
from gascity.core.observed import DIALOGS, RUN, Exited, SessionState
from gascity.errors import NotFound, UsageError
from gascity.journal.nudges import MOST_KEPT
from gascity.journal.store import Journal
from gascity.screens.rules import RuleBook, Rules
from gascity.screens.screen import Screen
from gascity.session.dialogs import Answer
from gascity.session.readiness import record
from gascity.session.receipts import Delivery, Receipt
from gascity.session.terminal import Terminal
from gascity.testing.eventually import eventually
from gascity.testing.fake import FakeProvider

FAR = 1e12


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[Journal]:
    made = Journal(str(tmp_path / "city.db"))
    yield made
    made.close()


@pytest.fixture
def demo(bench: Bench) -> Bench:
    bench.screens = RuleBook({"demo": shipped("demo") or Rules()})
    return bench


def add(journal: Journal, *, expires_at: float = FAR) -> QueuedNudge:
    return journal.nudges.add("a", "gc-c-a", "hello", at=0.0, expires_at=expires_at)


def action(nudge: QueuedNudge) -> Nudge:
    return Nudge("gc-c-a", "fake", "a", nudge, "it waits")


def outcome(nudge: QueuedNudge, delivery: Delivery, why: str) -> Outcome:
    event = Event(EventType.NUDGE_SUBMITTED, "a", "gc-c-a")
    failure = "" if delivery is Delivery.SUBMITTED else why
    return Outcome(action(nudge), event, failure=failure, receipt=Receipt(delivery, why, "hello"))


def only(journal: Journal) -> QueuedNudge:
    (found,) = journal.nudges.recent()
    return found


def test_a_message_on_its_way_does_not_expire(journal: Journal) -> None:
    postbox = Postbox(journal.nudges, {})
    nudge = add(journal, expires_at=10.0)
    postbox.add(nudge)
    assert postbox.send([action(nudge)])

    assert postbox.expire(11.0) == []
    assert postbox.next_end() == []
    events, _ = postbox.done(outcome(nudge, Delivery.SUBMITTED, "it works on it"))

    assert [event.type for event in events] == [EventType.NUDGE_SUBMITTED]
    assert (only(journal).state, only(journal).attempts) == (NudgeState.SUBMITTED, 1)


def test_a_message_that_was_refused_too_late_expires_then(journal: Journal) -> None:
    postbox = Postbox(journal.nudges, {})
    nudge = add(journal, expires_at=10.0)
    postbox.add(nudge)
    postbox.send([action(nudge)])
    postbox.done(outcome(nudge, Delivery.REFUSED, "not now"))

    events = postbox.expire(12.0)

    assert [event.type for event in events] == [EventType.NUDGE_EXPIRED]
    assert (only(journal).state, only(journal).attempts) == (NudgeState.EXPIRED, 1)


def test_what_was_never_tried_has_no_attempts(journal: Journal) -> None:
    postbox = Postbox(journal.nudges, {})
    postbox.add(add(journal, expires_at=10.0))

    postbox.expire(11.0)

    assert only(journal).attempts == 0


def test_a_message_that_another_process_took_back_is_not_sent(
    journal: Journal, tmp_path: Path
) -> None:
    postbox = Postbox(journal.nudges, {})
    nudge = add(journal)
    postbox.add(nudge)
    other = Journal(str(tmp_path / "city.db"))
    other.nudges.cancel(nudge.number)
    other.close()

    assert postbox.send([action(nudge)]) == []

    assert only(journal).state is NudgeState.CANCELLED


def test_a_journal_that_is_locked_does_not_keep_a_controller_from_beginning(
    journal: Journal, tmp_path: Path
) -> None:
    journal.nudges.mark(add(journal).number, NudgeState.SENDING)
    other = sqlite3.connect(tmp_path / "city.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")

    _, alerts = Postbox(journal.nudges, {}).open()

    other.close()
    assert len(alerts) == 1


def test_a_message_that_a_command_put_there_meanwhile_is_found(demo: Bench) -> None:
    running = demo.run(agent("a", backend="demo"))
    eventually(up(running, "a"))
    demo.world.sessions["gc-c-a"].shown = ["> "]

    journal = Journal(str(demo.folder / "city.db"))
    add(journal)
    journal.close()

    eventually(lambda: demo.world.sessions["gc-c-a"].received == ["hello"])


def test_messages_that_are_over_are_not_kept_for_ever(journal: Journal) -> None:
    first = add(journal)
    for _ in range(MOST_KEPT + 5):
        journal.nudges.mark(add(journal).number, NudgeState.SUBMITTED)

    (kept,) = journal._db.execute("SELECT count(*) FROM nudge").fetchone()

    assert kept <= MOST_KEPT + 1
    assert journal.nudges.waiting() == [first.number]


class _Screenless(FakeProvider):
    """Its sessions have no terminal."""

    def terminal(self, name: str) -> Terminal | None:
        return None

    def screens(
        self,
        names: Sequence[str],
        *,
        since: float | None = None,
        timeout: float,
    ) -> dict[str, Screen]:
        return {}


def test_a_session_without_a_screen_gets_its_messages(demo: Bench) -> None:
    demo.make = _Screenless
    running = demo.run(agent("a", backend="demo"))
    eventually(up(running, "a"))

    running.ask("queue_nudge", agents=["a"], text="later")

    eventually(lambda: demo.world.sessions["gc-c-a"].received == ["later"])


class _Talkative(FakeProvider):
    """Tells of screens that nobody asked for."""

    def screens(
        self, names: Sequence[str], *, since: float | None = None, timeout: float
    ) -> dict[str, Screen]:
        found = super().screens(names, since=since, timeout=timeout)
        return {"gc-c-nobody": Screen.of("> "), **found}


def test_a_screen_nobody_asked_for_is_left_alone(demo: Bench) -> None:
    demo.make = _Talkative
    running = demo.run(agent("a", backend="demo"))
    eventually(lambda: "gc-c-a" in demo.world.sessions)

    demo.world.sessions["gc-c-a"].shown = ["> do it", "✻ working… (esc to interrupt)"]

    eventually(lambda: running.states() == {"a": "working"})


@pytest.mark.parametrize("number", [10**30, -(10**30), 2**63])
def test_a_number_that_no_message_can_have_is_answered(demo: Bench, number: int) -> None:
    running = demo.run(agent("a"))

    with pytest.raises(NotFound):
        running.ask("cancel_nudge", number=number)

    eventually(up(running, "a"))


@pytest.mark.parametrize("seconds", [float("nan"), float("inf"), -1.0, True])
def test_a_time_that_is_none_is_answered(demo: Bench, seconds: float) -> None:
    running = demo.run(agent("a"))

    with pytest.raises(UsageError, match="number of seconds"):
        running.ask("queue_nudge", agents=["a"], text="hello", expires=seconds)


def test_a_first_message_is_not_given_up_for_a_look_older_than_its_start(journal: Journal) -> None:
    postbox = Postbox(journal.nudges, {})
    nudge = journal.nudges.add("a", "gc-c-a", "hello", at=0.0, expires_at=FAR, run="new")
    postbox.add(nudge)
    old = {"gc-c-a": SessionState("gc-c-a", Exited(1), meta={RUN: "old"})}

    assert postbox.first(old, {"gc-c-a"}) == {"gc-c-a": nudge}
    assert postbox.first(old) == {}


def test_a_record_of_dialogs_with_odd_ends_of_lines_is_read(demo: Bench) -> None:
    provider = demo.world.provider()
    demo.world.create("gc-c-a", SessionConfig("x", "/"))
    screen = Screen(("one\N{LINE SEPARATOR}two\N{NEXT LINE}three",))
    given = Answer(
        done=True, chosen="Yes", evidence="it is gone", presses=1, before=screen, after=screen
    )
    provider.set_meta("gc-c-a", DIALOGS, record("trust", given), timeout=5)

    told = dialogs_at_start(agent("a", hints=StartupHints(ready_delay_ms=1)), "r", provider)

    assert [event.type for event in told] == [EventType.DIALOG_ANSWERED]


SECRET = 'sk-"0123456789\\abcdefghij'


class _Leaky(FakeProvider):
    """Tells what it saw on the screen."""

    def nudge(
        self, name: str, text: str, *, timeout: float, wait: bool = False, raw: bool = False
    ) -> Receipt:
        return Receipt(Delivery.REFUSED, f"it waits for a person: curl -H {SECRET}", text)


def on_disk(bench: Bench) -> str:
    database = sqlite3.connect(bench.folder / "city.db")
    try:
        rows = database.execute(
            "SELECT evidence FROM nudge UNION SELECT message || detail FROM event"
        )
        return "\n".join(text for (text,) in rows)
    finally:
        database.close()


def test_why_a_message_was_refused_tells_no_secret(demo: Bench) -> None:
    demo.make = _Leaky
    running = demo.run(agent("a", env={"API_KEY": SECRET}))
    eventually(up(running, "a"))

    running.ask("queue_nudge", agents=["a"], text="hello")

    eventually(lambda: "curl" in on_disk(demo))
    assert SECRET not in on_disk(demo)


def test_a_secret_broken_over_two_rows_is_not_in_an_alert(demo: Bench) -> None:
    running = demo.run(
        agent("a", backend="demo", env={"API_KEY": SECRET}, dialogs={"trust": "ask"})
    )
    eventually(lambda: "gc-c-a" in demo.world.sessions)

    demo.world.sessions["gc-c-a"].shown = [
        f"export KEY={SECRET[:9]}",
        SECRET[9:],
        "",
        "Do you trust the files in this folder?",
        "",
        "❯ 1. Yes, I trust this folder",  # noqa: RUF001  as the demo draws it
        "  2. No, exit",
        "",
        "Enter to confirm · Esc to cancel",
    ]

    eventually(lambda: running.told(EventType.ALERT_RAISED))
    (event,) = running.told(EventType.ALERT_RAISED)
    assert "export KEY=sha256:" in event.detail
    assert SECRET[9:] not in event.detail


def test_the_record_of_a_dialog_tells_no_secret(demo: Bench) -> None:
    demo.screens = RuleBook({"demo": _without_answer(shipped("demo") or Rules())})
    running = demo.run(agent("a", backend="demo", env={"API_KEY": SECRET}))
    eventually(lambda: "gc-c-a" in demo.world.sessions)

    demo.world.sessions["gc-c-a"].shown = [
        f"the key is {SECRET}",
        "Do you trust the files in this folder?",
        "❯ 1. Yes, I trust this folder",  # noqa: RUF001  as the demo draws it
        "  2. No, exit",
        "Enter to confirm",
    ]

    eventually(lambda: running.told(EventType.DIALOG_FAILED))
    said = json.loads(running.told(EventType.DIALOG_FAILED)[0].detail)
    assert said["before"][0].startswith("the key is sha256:")


def _without_answer(rules: Rules) -> Rules:
    return replace(
        rules,
        rules=tuple(replace(r, accept=None) if r.name == "trust" else r for r in rules.rules),
    )


class _Patient(FakeProvider):
    """Waits with every message until it may go on."""

    go_on = threading.Event()

    def nudge(
        self, name: str, text: str, *, timeout: float, wait: bool = False, raw: bool = False
    ) -> Receipt:
        self.go_on.wait(60)
        return super().nudge(name, text, timeout=timeout)


def test_messages_that_wait_do_not_hold_up_the_supervision(demo: Bench) -> None:
    demo.make = _Patient
    running = demo.run(agent("a"))
    eventually(up(running, "a"))
    answers: list[object] = []
    for _ in range(MOST + 20):
        running.controller.post(Asked("nudge", {"agents": ["a"], "text": "hello"}, answers.append))
    eventually(lambda: threading.active_count() > MOST)

    demo.world.crash("gc-c-a", code=1)

    eventually(lambda: len(running.told(EventType.SESSION_STARTED)) == 2)
    _Patient.go_on.set()
    eventually(lambda: len(answers) == MOST + 20)


class _Faint(FakeProvider):
    """Shows a hint in the empty input box, which is faint for who looks closely."""

    def terminal(self, name: str) -> Terminal | None:
        shown = super().terminal(name)
        return None if shown is None else _FaintTerminal(shown)

    def screens(
        self, names: Sequence[str], *, since: float | None = None, timeout: float
    ) -> dict[str, Screen]:
        found = super().screens(names, since=since, timeout=timeout)
        return {name: replace(screen, typed=()) for name, screen in found.items()}


class _FaintTerminal:
    def __init__(self, shown: Terminal) -> None:
        self._shown = shown
        self.press, self.paste, self.wake = shown.press, shown.paste, shown.wake

    def look(self, *, timeout: float) -> Screen:
        seen = self._shown.look(timeout=timeout)
        return replace(seen, typed=tuple(row.replace("> a hint", ">") for row in seen.rows))


def test_a_hint_in_an_empty_box_does_not_hold_up_a_message(demo: Bench) -> None:
    demo.make = _Faint
    running = demo.run(agent("a", backend="demo"))
    eventually(lambda: "gc-c-a" in demo.world.sessions)
    demo.world.sessions["gc-c-a"].shown = ["> a hint"]
    eventually(up(running, "a"))

    running.ask("queue_nudge", agents=["a"], text="later")

    eventually(lambda: demo.world.sessions["gc-c-a"].received == ["later"])
