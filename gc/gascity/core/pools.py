"""Wanted size to member names, and whom to let go first.

A pool fills its lowest free place and lets go of the member it costs least to lose: one that does
not run, then one that waits for a machine, then one that already drains, then one that nobody looks
at, then one that is not at work; of several such the one with the highest number.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from gascity.core.model import AgentSpec, PoolSpec


@dataclass(frozen=True, slots=True)
class MemberState:
    """What matters of a member when choosing whom to keep."""

    alive: bool = False
    pending: bool = False
    draining: bool = False
    drained: bool = False
    attached: bool = False
    working: bool = False


IDLE = MemberState()


def size(pool: PoolSpec, demand: int | None, last: int | None) -> int:
    """Return how many members there should be.

    A check that did not answer changes nothing: the last answer stands, and before there was one
    the pool's minimum.
    """
    wanted = demand if demand is not None else last if last is not None else pool.min
    return max(pool.min, min(wanted, pool.max))


def keep(
    members: Sequence[AgentSpec], states: Mapping[str, MemberState], wanted: int
) -> frozenset[str]:
    """Return the session names of the `wanted` members to have."""

    def cost(place: tuple[int, AgentSpec]) -> tuple[bool, bool, bool, bool, bool, bool, int]:
        index, spec = place
        state = states.get(spec.session, IDLE)
        return (
            state.drained,
            not state.alive,
            state.pending,
            state.draining,
            not state.attached,
            not state.working,
            index,
        )

    ranked = sorted(enumerate(members), key=cost)
    return frozenset(spec.session for _, spec in ranked[: max(wanted, 0)])
