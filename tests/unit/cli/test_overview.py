"""Whom a person should look at first, and what is said of each."""

from __future__ import annotations

import random
import time
from typing import Any

import pytest

from gascity.cli import overview
from gascity.core.views import State

NOW = 1_772_377_445.0
AGENT: dict[str, Any] = {
    "name": "a",
    "session": "gc-town-a",
    "provider": "tmux",
    "state": "ready",
    "reason": "",
    "pid": 4250,
    "since": NOW - 7500,
    "state_since": NOW - 12,
    "restarts": 0,
    "drift": False,
    "attached": 0,
    "next_at": None,
    "next": "",
}


def city(*agents: dict[str, Any], pid: int | None = 4711) -> dict[str, object]:
    controller = {"running": pid is not None, "pid": pid}
    return {
        "city": "town",
        "controller": controller,
        "agents": [{**AGENT, **one} for one in agents],
    }


def names(document: dict[str, object]) -> list[object]:
    return [agent["name"] for agent in overview.agents_of(document)]


def test_every_state_has_its_place() -> None:
    ranked = [state for states in overview.RANKS for state in states]

    assert sorted(ranked) == sorted(State)
    assert set(overview.NEEDS_YOU) < set(ranked)


def test_the_most_actionable_come_first() -> None:
    agents = [{"name": state, "state": state} for states in overview.RANKS for state in states]
    ordered = [agent["name"] for agent in agents]
    ordered[13:15] = sorted(ordered[13:15])
    random.Random(6).shuffle(agents)

    assert names(city(*agents)) == ordered


def test_a_state_of_a_newer_controller_is_shown_with_the_unknown() -> None:
    found = names(
        city({"name": "c", "state": "ready"}, {"name": "b", "state": "moonstruck"}, {"name": "a"})
    )

    assert found == ["b", "a", "c"]


@pytest.mark.parametrize(
    "ordered",
    [
        ["worker-2", "worker-10", "worker-100"],
        ["2", "10", "a"],
        ["a-1", "a-1-2", "a-1-10", "a-2"],
        ["rigs/smith-9", "rigs/smith-10"],
        ["w-" + "9" * 5000, "w-1" + "0" * 5000],
    ],
)
def test_names_are_in_natural_order(ordered: list[str]) -> None:
    assert names(city(*({"name": name} for name in reversed(ordered)))) == ordered


@pytest.mark.parametrize(
    ("states", "told"),
    [
        ([], "town: no agents; controller 4711"),
        (["ready"], "town: 1 agent: 1 ready; controller 4711"),
        (["blocked"], "town: 1 agent: 1 needs you; controller 4711"),
        (
            ["idle", "idle", "working", "waiting", "auth", "limited"],
            "town: 6 agents: 2 need you, 1 limited, 1 working, 2 idle; controller 4711",
        ),
    ],
)
def test_the_headline_sums_up(states: list[str], told: str) -> None:
    assert overview.headline(city(*({"state": state} for state in states))) == told


def test_a_city_that_nobody_keeps_says_so() -> None:
    assert overview.headline(city({}, pid=None)) == "town: 1 agent: 1 ready; no controller runs"


def test_a_pipe_gets_all_of_it_on_one_line() -> None:
    agent = {
        "name": "w",
        "state": "quarantined",
        "reason": "two\nlines\x1b[2J " + "long " * 50,
        "next_at": NOW + 90,
        "attached": 2,
        "drift": True,
        "next": "`gc reset w` tries at once",
        "pid": None,
    }

    (row,) = overview.plain_rows(overview.agents_of(city(agent)), NOW)

    reason = r"two lines\x1b[2J " + "long " * 50 + "(in 1m); 2 attached; drifted"
    assert row == [
        "w",
        "quarantined",
        "-",
        "12s",
        "0",
        "tmux",
        reason,
        "`gc reset w` tries at once",
    ]
    assert len(row) == len(overview.COLUMNS)


def test_since_is_that_of_the_session_where_an_older_controller_tells_no_more() -> None:
    older = {key: value for key, value in AGENT.items() if key not in ("state_since", "next")}

    assert overview.since(older, NOW) == "2h 5m"
    assert overview.next_step(older) == ""
    assert overview.since({**AGENT, "state_since": None}, NOW) == "-"


@pytest.mark.parametrize(
    ("left", "told"),
    [
        (-5, "in 0s"),
        (12, "in 12s"),
        (3599, "in 59m"),
        (3600, "at %H:%M"),
        (90_000, "on %Y-%m-%d at %H:%M"),
    ],
)
def test_a_time_to_come_is_told_as_people_do(left: float, told: str) -> None:
    assert overview.when(NOW + left, NOW) == time.strftime(told, time.localtime(NOW + left))


def test_a_time_beyond_all_calendars_is_not_soon() -> None:
    assert overview.when(1e30, NOW) == "not soon"
