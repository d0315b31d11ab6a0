"""Wanted size to member names, and whom to let go first."""

from __future__ import annotations

from gascity.core.model import AgentSpec, PoolSpec
from gascity.core.pools import MemberState, keep, size

MEMBERS = tuple(AgentSpec(f"w-{n}", f"s{n}", "p", "", "true", ".", "f") for n in range(1, 6))
POOL = PoolSpec("w", 1, 4, MEMBERS)
UP = MemberState(alive=True)


def test_demand_is_kept_between_minimum_and_maximum() -> None:
    assert [size(POOL, demand, None) for demand in (-3, 0, 2, 9)] == [1, 1, 2, 4]


def test_a_check_that_does_not_answer_changes_nothing() -> None:
    assert size(POOL, None, 3) == 3
    assert size(POOL, None, None) == 1


def test_the_lowest_free_place_is_filled_first() -> None:
    assert keep(MEMBERS, {"s2": UP}, 2) == {"s1", "s2"}


def test_those_that_run_are_kept_over_free_places() -> None:
    assert keep(MEMBERS, {"s4": UP, "s5": UP}, 2) == {"s4", "s5"}


def test_the_highest_number_goes_first() -> None:
    assert keep(MEMBERS, {"s1": UP, "s2": UP, "s3": UP}, 2) == {"s1", "s2"}


def test_one_that_drains_goes_before_one_that_does_not() -> None:
    states = {"s1": MemberState(alive=True, draining=True), "s2": UP, "s3": UP}

    assert keep(MEMBERS, states, 2) == {"s2", "s3"}


def test_one_that_drains_is_called_back_before_a_new_one_is_started() -> None:
    states = {"s3": MemberState(alive=True, draining=True)}

    assert keep(MEMBERS, states, 1) == {"s3"}


def test_one_somebody_looks_at_is_kept() -> None:
    states = {"s1": UP, "s2": UP, "s3": MemberState(alive=True, attached=True)}

    assert keep(MEMBERS, states, 1) == {"s3"}


def test_one_that_has_drained_is_not_called_back() -> None:
    states = {"s1": MemberState(alive=True, draining=True, drained=True)}

    assert keep(MEMBERS, states, 1) == {"s2"}
