"""Events as a diary: a line a person understands."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from gascity.cli.diary import WIDEST, Diary
from gascity.cli.telling import WORDS, told
from gascity.core.actions import EventType

NOON = datetime(2026, 3, 1, 12, 0, 1, tzinfo=UTC)


def test_every_event_has_words() -> None:
    assert set(WORDS) >= set(EventType)


def test_a_day_begins_with_a_heading() -> None:
    diary = Diary(headings=True)

    lines = [
        diary.entry(NOON, "session.started", "a", "wanted by the city"),
        diary.entry(NOON, "session.crashed", "a", "exited with status 1; starts again at once"),
        diary.entry(NOON + timedelta(days=1), "controller.stopped", "", "it got SIGINT"),
    ]

    assert lines == [
        "Sunday, 2026-03-01\n12:00:01  a  started: wanted by the city\n",
        "12:00:01  a  crashed: exited with status 1; starts again at once\n",
        "Monday, 2026-03-02\n12:00:01  controller stopped: it got SIGINT\n",
    ]


def test_today_needs_no_heading_and_tomorrow_does() -> None:
    diary = Diary(headings=True, today=NOON.date())

    assert diary.entry(NOON, "agent.idle", "a", "") == "12:00:01  a  idle\n"
    tomorrow = diary.entry(NOON + timedelta(days=1), "agent.idle", "a", "")
    assert tomorrow.startswith("Monday, 2026-03-02\n")


def test_a_line_of_a_pipe_can_be_read_alone() -> None:
    diary = Diary(headings=False)

    for days in (0, 1):
        line = diary.entry(NOON + timedelta(days=days), "agent.held", "a", "so")
        assert line == f"2026-03-0{days + 1} 12:00:01  a  held: so\n"


def test_names_are_aligned_but_for_the_longest() -> None:
    diary = Diary(headings=True, today=NOON.date())
    long = "x" * (WIDEST + 1)
    diary.expect(["a", "rigs/smith-10", "東京", long])

    assert [diary.entry(NOON, "agent.idle", name, "") for name in ("a", "東京", long)] == [
        "12:00:01  a              idle\n",
        "12:00:01  東京           idle\n",
        f"12:00:01  {long}  idle\n",
    ]


@pytest.mark.parametrize(
    ("kind", "agent", "message", "line"),
    [
        (
            "session.started",
            "a",
            "it crashed: exited with status 1",
            "a  started again, because it crashed: exited with status 1",
        ),
        (
            "session.started",
            "a",
            "the start failed: no such file",
            "a  started again, because the start failed: no such file",
        ),
        ("session.foreign", "", "tmux has it", "gc-x  foreign session: tmux has it"),
        ("controller.slow", "", "a tick took 2 s", "controller slow: a tick took 2 s"),
        ("controller.started", "", "", "controller started"),
        ("moon.landed", "a", "two\n lines\x1b[2J", r"a  moon.landed: two lines\x1b[2J"),
    ],
)
def test_a_line_says_who_and_what_and_why(kind: str, agent: str, message: str, line: str) -> None:
    assert told("now", kind, agent, message, session="gc-x") == f"now  {line}"
