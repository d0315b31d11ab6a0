"""Two readings of one city: what is told, and what stays the same object."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gascity.core.changes import changes, keeping
from gascity.core.model import (
    AgentSpec,
    AlertSettings,
    City,
    DaemonSettings,
    Desired,
    PoolSpec,
    RestartPolicy,
)


def agent(name: str, **more: object) -> AgentSpec:
    spec = AgentSpec(name, f"gc-c-{name}", "fake", "", "true", "/", fingerprint="f")
    return replace(spec, **more)  # type: ignore[arg-type]  # the tests name real fields


def city(*agents: AgentSpec, pools: tuple[PoolSpec, ...] = (), **more: object) -> City:
    made = City("c", "/c", Desired("c", "id", agents, pools))
    return replace(made, **more)  # type: ignore[arg-type]  # the tests name real fields


def pool(name: str, size: int, **more: object) -> PoolSpec:
    members = tuple(agent(f"{name}-{number + 1}", pool=name, **more) for number in range(size))
    return PoolSpec(name, 0, size, members)


def test_agents_and_settings_are_told_in_one_line() -> None:
    old = city(agent("mayor"), agent("smith"), agent("old"), agent("same"))
    new = city(
        agent("mayor", base_command="false"),
        agent("smith", suspended=True),
        agent("same"),
        agent("clerk"),
        daemon=DaemonSettings(patrol_interval=5.0),
    )

    said = "2 agents changed (mayor, smith), 1 new (clerk), 1 gone (old); patrol_interval"
    assert str(changes(old, new)) == said


@pytest.mark.parametrize(
    ("new", "said"),
    [
        (city(agent("a")), "nothing changed"),
        (city(agent("a"), agent("b")), "1 agent new (b)"),
        (city(), "1 agent gone (a)"),
        (city(agent("a"), alerts=AlertSettings("mail")), "alerts"),
        (city(agent("a"), provider_settings={"tmux": {"size": "9x9"}}), "session.tmux"),
        (city(agent("a"), default_provider="tmux"), "session provider"),
        (city(agent("a"), pools=(pool("p", 2),)), "1 agent new (p)"),
        (
            city(*(agent(f"n{number}") for number in range(8))),
            "8 agents new (n0, n1, n2, n3, n4 and 3 more), 1 gone (a)",
        ),
    ],
)
def test_each_kind_of_change(new: City, said: str) -> None:
    found = changes(city(agent("a")), new)

    assert str(found) == said
    assert bool(found) is (said != "nothing changed")


def test_agents_that_only_follow_the_daemon_are_not_listed() -> None:
    policy = RestartPolicy(max_restarts=9)
    old = city(agent("a"), agent("b"), pools=(pool("p", 2),))
    new = city(
        agent("a", restarts=policy),
        agent("b", restarts=policy, prompt="other"),
        pools=(pool("p", 2, restarts=policy),),
        daemon=DaemonSettings(max_restarts=9),
    )

    assert str(changes(old, new)) == "1 agent changed (b); max_restarts"


def test_a_pool_is_told_by_its_own_name() -> None:
    old = city(pools=(pool("p", 3), pool("q", 3), pool("r", 3)))
    new = city(pools=(pool("p", 4), replace(pool("q", 3), min=1), pool("r", 3)))

    assert changes(old, new).changed == ("p", "q")


def test_what_is_equal_stays_the_same_object() -> None:
    old = city(agent("a"), agent("b"), pools=(pool("p", 2),))
    new = city(agent("a"), agent("b", prompt="other"), pools=(pool("p", 2),))

    kept = keeping(old, new)

    assert kept == new
    assert kept.desired.agents[0] is old.desired.agents[0]
    assert kept.desired.agents[1] is new.desired.agents[1]
    assert kept.desired.pools[0] is old.desired.pools[0]
    assert kept.screens is old.screens


def test_the_members_that_a_larger_pool_had_before_stay_the_same_objects() -> None:
    old, new = city(pools=(pool("p", 2),)), city(pools=(pool("p", 3),))

    members = keeping(old, new).desired.pools[0].members

    assert members[:2] == old.desired.pools[0].members
    assert all(
        one is other for one, other in zip(members, old.desired.pools[0].members, strict=False)
    )
