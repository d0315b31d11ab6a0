"""How long something lasts, in words."""

from __future__ import annotations

import pytest

from gascity.core.spans import span


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (-3, "0s"),
        (0, "0s"),
        (59.4, "59s"),
        (59.6, "1m"),
        (200, "3m 20s"),
        (3605, "1h"),
        (7500, "2h 5m"),
        (90_000, "1d 1h"),
    ],
)
def test_a_duration_has_at_most_two_units(seconds: float, said: str) -> None:
    assert span(seconds) == said
