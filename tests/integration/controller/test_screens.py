"""What the controller makes of the screens of its agents."""

from __future__ import annotations

import itertools
import json
import threading
from dataclasses import replace

import pytest
from tests.integration.controller.stage import CITY, Bench, agent

from gascity.config.screens import shipped
from gascity.controller import screens as reading
from gascity.controller.messages import Message, Read
from gascity.controller.screens import Expected, ScreenReader, expected_screens
from gascity.core.actions import EventType
from gascity.core.doing import doing
from gascity.core.memory import FRESH
from gascity.core.model import City, Desired, SessionConfig
from gascity.core.observed import RUN
from gascity.screens.classify import classify
from gascity.screens.rules import RuleBook, Rules
from gascity.testing.clock import FakeClock
from gascity.testing.eventually import eventually
from gascity.testing.fake import FakeSession, FakeWorld

DEMO = shipped("demo") or Rules()
PROMPT = ["Gas City demo agent", "", "> "]
WORKING = ["> do it", "✻ working… (esc to interrupt)"]
LIMIT = ["You've hit your usage limit · resets in 5 minutes", "", "> "]


def dialog(cursor: int) -> list[str]:
    marks = ["❯" if row == cursor else " " for row in range(2)]  # noqa: RUF001  as the demo draws it
    return [
        "Do you trust the files in this folder?",
        "/work",
        "",
        f"{marks[0]} 1. Yes, I trust this folder",
        f"{marks[1]} 2. No, exit",
        "",
        "Enter to confirm · Esc to cancel",
    ]


def arrows_and_enter(session: FakeSession, key: str) -> None:
    """Behave as a menu does whose default is to leave."""
    if key == "Up":
        session.shown = dialog(0)
    elif key == "Enter":
        chosen = "Yes" if session.shown == dialog(0) else "No"
        session.shown = [*PROMPT]
        session.received.append(f"chose {chosen}")


@pytest.fixture
def demo(bench: Bench) -> Bench:
    bench.screens = RuleBook({"demo": DEMO})
    return bench


@pytest.mark.parametrize(
    ("rows", "state"), [(PROMPT, "ready"), (WORKING, "working"), (LIMIT, "limited")]
)
def test_the_state_of_an_agent_is_what_its_screen_shows(
    demo: Bench, rows: list[str], state: str
) -> None:
    running = demo.run(agent("a", backend="demo"))
    eventually(lambda: "gc-c-a" in demo.world.sessions)

    demo.world.sessions["gc-c-a"].shown = rows

    eventually(lambda: running.states() == {"a": state})


def test_a_dialog_is_answered_by_its_label_whenever_it_comes(demo: Bench) -> None:
    running = demo.run(agent("a", backend="demo"))
    eventually(lambda: "gc-c-a" in demo.world.sessions)
    session = demo.world.sessions["gc-c-a"]
    session.reacts = arrows_and_enter

    session.shown = dialog(1)

    eventually(lambda: session.received == ["chose Yes"])
    eventually(lambda: running.told(EventType.DIALOG_ANSWERED))
    (event,) = running.told(EventType.DIALOG_ANSWERED)
    assert event.message == 'trust was answered with "Yes, I trust this folder"'
    audit = json.loads(event.detail)
    assert audit["before"] == dialog(1)
    assert audit["after"] == ["Gas City demo agent", "", "> "]


def test_a_dialog_that_a_person_is_to_answer_is_told_and_left_alone(demo: Bench) -> None:
    running = demo.run(agent("a", backend="demo", dialogs={"trust": "ask"}))
    eventually(lambda: "gc-c-a" in demo.world.sessions)
    session = demo.world.sessions["gc-c-a"]

    session.shown = dialog(1)

    eventually(lambda: running.states() == {"a": "waiting"})
    (event,) = running.told(EventType.ALERT_RAISED)
    assert "2. No, exit" in event.detail
    assert session.keys == []


def test_nothing_is_pressed_while_a_person_is_attached(demo: Bench) -> None:
    running = demo.run(agent("a", backend="demo"))
    eventually(lambda: "gc-c-a" in demo.world.sessions)
    session = demo.world.sessions["gc-c-a"]
    session.attached = 1
    session.reacts = arrows_and_enter

    session.shown = dialog(1)

    eventually(lambda: running.states() == {"a": "waiting"})
    assert session.keys == []
    session.attached = 0
    demo.world.wake()
    eventually(lambda: session.received == ["chose Yes"])


def test_a_dialog_that_does_not_go_away_is_given_up_and_told(demo: Bench) -> None:
    stubborn = replace(
        DEMO, rules=tuple(replace(r, accept=None) if r.name == "trust" else r for r in DEMO.rules)
    )
    demo.screens = RuleBook({"demo": stubborn})
    running = demo.run(agent("a", backend="demo"))
    eventually(lambda: "gc-c-a" in demo.world.sessions)
    demo.world.sessions["gc-c-a"].shown = dialog(1)

    eventually(lambda: running.told(EventType.DIALOG_FAILED))

    assert demo.world.sessions["gc-c-a"].keys == []
    assert running.states() != {"a": "ready"}


class TestReader:
    """What is read again, and what the loop hears of."""

    def test_a_screen_that_did_not_change_is_not_read_again(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        world = FakeWorld()
        session = world.create("s", SessionConfig("x", "/"))
        session.shown = [*PROMPT]
        read: list[str] = []

        def counted(screen, rules, now):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202  as `classify`
            read.append(screen.text)
            return classify(screen, rules, now)

        monkeypatch.setattr(reading, "classify", counted)  # the real one, counted
        rounds = threading.Semaphore(0)
        provider = world.provider()
        looks = provider.screens

        def counting(*args, **kwargs):  # type: ignore[no-untyped-def]  # noqa: ANN002, ANN003, ANN202  as `screens`
            rounds.release()
            return looks(*args, **kwargs)

        monkeypatch.setattr(provider, "screens", counting)  # the real one, counted
        posted: list[Message] = []
        reader = ScreenReader({"fake": provider}, posted.append, lambda: 1.0, interval=0.01)
        reader.expect({"s": Expected("r", "fake", DEMO)})
        for _ in range(20):
            assert rounds.acquire(timeout=10)
        reader.close()

        assert len(read) == 1
        assert len(posted) == 1
        assert isinstance(posted[0], Read)

    def test_a_count_of_seconds_is_no_news(self) -> None:
        world = FakeWorld()
        session = world.create("s", SessionConfig("x", "/"))
        session.shown = [*WORKING]
        posted: list[Message] = []
        reader = ScreenReader({"fake": world.provider()}, posted.append, lambda: 1.0, interval=0.01)
        reader.expect({"s": Expected("r", "fake", DEMO)})
        eventually(lambda: posted)

        session.shown = ["> do it", "✻ working… (esc to interrupt) 2 s"]
        session.shown = ["> do it", "✻ working… (esc to interrupt) 3 s"]
        session.shown = [*PROMPT]

        eventually(lambda: len(posted) == 2)
        reader.close()

    @pytest.mark.parametrize("drawn_every", [1, 170, 890])
    def test_an_agent_that_draws_is_never_taken_for_one_that_stalled(
        self, drawn_every: int, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        world, looks, posted = FakeWorld(), itertools.count(), list[Message]()
        spec = agent("a", session="s", backend="demo", stall_timeout=900.0)
        session = world.create("s", SessionConfig("x", "/", meta={RUN: "r"}))
        provider, clock, stalled, ended = world.provider(), FakeClock(), [0], threading.Event()
        screens, began = provider.screens, clock.now()

        def a_second_later(*args, **kwargs):  # type: ignore[no-untyped-def]  # noqa: ANN002, ANN003, ANN202  as `screens`
            clock.advance(1.0)
            look = next(looks)
            shown = {name: one for read in posted[-1:] for name, one in read.shown.items()}  # type: ignore[union-attr]
            found, _ = doing(spec, state, shown.get("s"), None, FRESH, clock.now())
            stalled[0] += found.trouble == "stalled"
            session.shown = [f"{look // drawn_every}", *WORKING]
            if look >= 5000:
                ended.set()
            return screens(*args, **kwargs)

        state = provider.observe(timeout=1)["s"]
        monkeypatch.setattr(provider, "screens", a_second_later)  # the real one, with a clock
        reader = ScreenReader({"fake": provider}, posted.append, clock.now, interval=0.0)
        city = City("c", "/", Desired("c", CITY, (spec,)), screens=RuleBook({"demo": DEMO}))
        reader.expect(expected_screens(city, {"s": state}))

        assert ended.wait(60)
        reader.close()
        assert stalled == [0]
        passed = clock.now() - began
        assert len(posted) <= passed / (900 / 4) + 2

    def test_a_screen_that_was_typed_at_is_told_again_and_stands_as_long_as_before(self) -> None:
        world = FakeWorld()
        world.create("s", SessionConfig("x", "/")).shown = [*PROMPT]
        posted: list[Message] = []
        times = iter(range(100))
        reader = ScreenReader(
            {"fake": world.provider()}, posted.append, lambda: float(next(times)), interval=60.0
        )
        reader.expect({"s": Expected("r", "fake", DEMO)})
        eventually(lambda: posted)

        reader.again("s")

        eventually(lambda: len(posted) == 2)
        reader.close()
        first, second = posted
        assert isinstance(first, Read)
        assert isinstance(second, Read)
        assert second.shown["s"].still == first.shown["s"].still
        assert second.shown["s"].asked_at > first.shown["s"].asked_at

    def test_a_screen_in_disorder_is_drawn_again_once(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        world = FakeWorld()
        session = world.create("s", SessionConfig("x", "/"))
        session.shown = ["half a box and half a line"]
        times, rounds = itertools.count(), threading.Semaphore(0)
        provider = world.provider()
        looks = provider.screens

        def counting(*args, **kwargs):  # type: ignore[no-untyped-def]  # noqa: ANN002, ANN003, ANN202  as `screens`
            rounds.release()
            return looks(*args, **kwargs)

        monkeypatch.setattr(provider, "screens", counting)  # the real one, counted
        reader = ScreenReader(
            {"fake": provider}, lambda _: None, lambda: float(next(times)), interval=0.001
        )

        reader.expect({"s": Expected("r", "fake", DEMO)})

        for _ in range(50):  # each takes a second at least, by that clock
            assert rounds.acquire(timeout=60)
        reader.close()
        assert session.woken == 1

    def test_a_new_incarnation_is_read_anew(self) -> None:
        world = FakeWorld()
        world.create("s", SessionConfig("x", "/")).shown = [*PROMPT]
        posted: list[Message] = []
        reader = ScreenReader({"fake": world.provider()}, posted.append, lambda: 1.0, interval=60.0)
        reader.expect({"s": Expected("r1", "fake", DEMO)})
        eventually(lambda: posted)

        reader.expect({"s": Expected("r2", "fake", DEMO)})

        eventually(lambda: len(posted) == 2)
        reader.close()
        last = posted[-1]
        assert isinstance(last, Read)
        assert last.shown["s"].run == "r2"


def test_a_reason_that_quotes_a_screen_tells_no_secret(demo: Bench) -> None:
    secret = "sk-0123456789abcdef"
    running = demo.run(agent("a", backend="demo", env={"API_TOKEN": secret}))
    eventually(lambda: "gc-c-a" in demo.world.sessions)

    demo.world.sessions["gc-c-a"].shown = [
        f"You've hit your usage limit · resets in 5 minutes {secret}",
        "",
        "> ",
    ]

    eventually(lambda: running.states() == {"a": "limited"})
    (told,) = running.ask("status")["agents"]
    assert "usage limit" in told["reason"]
    assert secret not in told["reason"]
