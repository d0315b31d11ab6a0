"""The order among agents that need each other: starts in waves, stops in reverse."""

from __future__ import annotations

from collections.abc import Iterator

from gascity.core.decision import is_up
from gascity.core.model import AgentSpec, Desired, declared
from gascity.core.observed import CITY_ID, Observed
from gascity.core.wishes import session_of


def blocker(spec: AgentSpec, desired: Desired, observed: Observed) -> str:
    """Name the first dependency that is not up."""
    for needed in spec.depends_on:
        if not any(_up(each, desired, observed) for each in _named(needed, desired)):
            return needed
    return ""


def needed_by(spec: AgentSpec, desired: Desired, observed: Observed) -> str:
    """Name an agent that needs this one and has not ended yet."""
    for other in declared(desired):
        needs = spec.name in other.depends_on or (spec.pool and spec.pool in other.depends_on)
        if needs and other.session != spec.session:
            state = session_of(other, observed)
            if state is not None and state.meta.get(CITY_ID) == desired.city_id:
                return other.name
    return ""


def _named(name: str, desired: Desired) -> Iterator[AgentSpec]:
    return (each for each in declared(desired) if name in (each.name, each.pool))


def _up(spec: AgentSpec, desired: Desired, observed: Observed) -> bool:
    state = session_of(spec, observed)
    return (
        state is not None
        and state.meta.get(CITY_ID) == desired.city_id
        and is_up(state)
        and spec.session not in observed.busy
    )
