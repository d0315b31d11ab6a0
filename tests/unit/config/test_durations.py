from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gascity.config.durations import format_duration, parse_duration


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("0s", 0.0),
        ("500ms", 0.5),
        ("30s", 30.0),
        ("5m", 300.0),
        ("1h", 3600.0),
        ("1h30m", 5400.0),
        ("1m30s500ms", 90.5),
        ("1.5s", 1.5),
        ("8760h", 365 * 24 * 3600.0),
    ],
)
def test_a_duration_is_read(text: str, seconds: float) -> None:
    assert parse_duration(text) == pytest.approx(seconds)


@pytest.mark.parametrize(
    "value",
    [
        *("", "5", "s", "-5s", "5 s", "5S", ".5s", "5s\n", "1e3s", "٣s", "1d"),
        *("1s1m", "1m1m", "8761h", "9" * 400 + "h"),
        *(5, 0.5, True, None, []),
    ],
)
def test_anything_else_is_refused(value: object) -> None:
    with pytest.raises(ValueError, match="expected a duration"):
        parse_duration(value)


@given(st.integers(0, 365 * 24 * 3_600_000))
def test_a_written_duration_reads_back(milliseconds: int) -> None:
    assert parse_duration(format_duration(milliseconds / 1000)) == pytest.approx(
        milliseconds / 1000
    )
