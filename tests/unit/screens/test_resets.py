"""When a limit ends, from the words for it."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gascity.screens.resets import parse_reset

NOW = datetime(2026, 11, 16, 1, 30, tzinfo=UTC).timestamp()


@pytest.mark.usefixtures("in_utc")
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2:02am (UTC)", "2026-11-16 02:02"),
        ("1:29am (UTC)", "2026-11-16 01:29"),
        ("1:30am (UTC)", "2026-11-16 01:30"),
        ("7:30pm (Europe/Amsterdam)", "2026-11-16 18:30"),
        ("1am (Asia/Tokyo)", "2026-11-16 16:00"),
        ("12am (UTC)", "2026-11-16 00:00"),
        ("12pm (UTC)", "2026-11-16 12:00"),
        ("3pm", "2026-11-16 15:00"),
        ("3 p.m.", "2026-11-16 15:00"),
        ("at 3pm.", "2026-11-16 15:00"),
        ("4:05 PM", "2026-11-16 16:05"),
        ("16:05", "2026-11-16 16:05"),
        ("Nov 20 at 5am", "2026-11-20 05:00"),
        ("Nov 20, 5am (UTC)", "2026-11-20 05:00"),
        ("November 20th at 5:30pm", "2026-11-20 17:30"),
        ("Jan 3 at 5am", "2027-01-03 05:00"),
        ("Oct 9 at 5am", "2026-10-09 05:00"),  # it is over
        ("Oct 9th, 2025 5:00 AM", "2025-10-09 05:00"),
        ("in 5 minutes", "2026-11-16 01:35"),
        ("in 3 days 2 hours", "2026-11-19 03:30"),
        ("in 1 hour and 5 minutes", "2026-11-16 02:35"),
        ("2h 5m", "2026-11-16 03:35"),
        ("1 week", "2026-11-23 01:30"),
        ("2026-11-17 03:00 UTC", "2026-11-17 03:00"),
        ("2026-11-17T03:00Z", "2026-11-17 03:00"),
        ("2026-11-17 03:00", "2026-11-17 03:00"),
    ],
)
def test_a_time_is_understood(text: str, expected: str) -> None:
    found = parse_reset(text, NOW)

    assert found is not None
    assert datetime.fromtimestamp(found, UTC).strftime("%Y-%m-%d %H:%M") == expected


@pytest.mark.parametrize(
    "text",
    [
        *("", "later", "soon", "7", "in 5", "in", "13pm", "0am", "25:00", "10:75", "in minutes"),
        *("3pm (Nowhere/Land)", "3pm (Europe)", "3pm (../../etc/passwd)", "Feb 30 at 5am"),
        *("Foo 3 at 5am", "2026-13-17 03:00 UTC", "in 5 minutes or so", "5am tomorrow maybe"),
        "in 999999999999 days",
    ],
)
def test_what_is_no_time_is_none(text: str) -> None:
    assert parse_reset(text, NOW) is None


@given(st.text(max_size=60), st.floats(allow_nan=True, allow_infinity=True))
def test_it_never_raises(text: str, now: float) -> None:
    parse_reset(text, now)
    parse_reset(f"{text} 3pm", now)
    parse_reset(f"in {text} 5 minutes", now)
    parse_reset(f"3pm ({text})", NOW)
