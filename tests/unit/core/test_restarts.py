"""When a session may be started again."""

from __future__ import annotations

import pytest

from gascity.core.model import RestartPolicy
from gascity.core.restarts import (
    JITTER,
    Now,
    Quarantine,
    Wait,
    after_crash,
    after_failures,
    delay,
    recent,
)

POLICY = RestartPolicy(max_restarts=3, window=100.0)


def test_the_first_restart_is_immediate() -> None:
    assert after_crash((), 50.0, POLICY, 50.0, "s") == Now()


def test_each_later_restart_waits_twice_as_long_within_the_jitter() -> None:
    plain = RestartPolicy(longest_delay=300.0)
    for count in range(1, 8):
        expected = 2.0 ** (count - 1)

        assert delay(count, plain, "s") == pytest.approx(expected, rel=JITTER)


def test_no_wait_is_longer_than_the_longest() -> None:
    assert delay(1000, POLICY, "s") == POLICY.longest_delay


def test_two_agents_do_not_restart_in_step() -> None:
    assert delay(4, POLICY, "one") != delay(4, POLICY, "two")


def test_the_wait_counts_from_the_crash() -> None:
    verdict = after_crash((10.0,), 50.0, POLICY, 50.5, "s")

    assert isinstance(verdict, Wait)
    assert verdict.until == 50.0 + delay(1, POLICY, "s")
    assert after_crash((10.0,), 50.0, POLICY, verdict.until, "s") == Now()


def test_too_many_restarts_in_the_window_are_a_quarantine_until_the_oldest_has_left_it() -> None:
    verdict = after_crash((10.0, 20.0, 30.0), 40.0, POLICY, 40.0, "s")

    assert verdict == Quarantine(110.0)
    assert not isinstance(after_crash((10.0, 20.0, 30.0), 40.0, POLICY, 110.0, "s"), Quarantine)


def test_no_limit_never_quarantines() -> None:
    endless = RestartPolicy(max_restarts=0, window=1e9)

    verdict = after_crash(tuple(map(float, range(500))), 500.0, endless, 500.0, "s")

    assert isinstance(verdict, Wait)


def test_a_failed_start_is_never_retried_at_once() -> None:
    assert isinstance(after_failures((50.0,), POLICY, 50.0, "s"), Wait)
    assert after_failures((), POLICY, 50.0, "s") == Now()


def test_failed_starts_are_limited_like_crashes() -> None:
    assert isinstance(after_failures((1.0, 2.0, 3.0, 4.0), POLICY, 5.0, "s"), Quarantine)


def test_only_the_window_counts() -> None:
    assert recent((0.0, 1.0, 99.0), 100.0, 100.5) == (1.0, 99.0)
