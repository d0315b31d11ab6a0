"""The line that makes a session findable."""

from __future__ import annotations

from datetime import datetime

from gascity.core.beacon import beacon

WHEN = datetime(2026, 3, 1, 15, 4, 5)  # noqa: DTZ001  a beacon shows local time


def test_a_beacon_names_city_agent_and_time() -> None:
    assert beacon("bright-lights", "rig/worker", WHEN, prime=False) == (
        "[bright-lights] rig/worker . 2026-03-01T15:04:05"
    )


def test_an_agent_without_hooks_is_told_to_prime_itself() -> None:
    assert beacon("c", "a", WHEN, prime=True) == (
        "[c] a . 2026-03-01T15:04:05\n\nRun `gc prime $GC_AGENT` to initialize your context."
    )
