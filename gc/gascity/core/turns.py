"""Whose turn it is, where not all may go at once: after a mass death, and when agents are replaced.

A pool is replaced one member at a time, and the next only when the one before is up again: a new
configuration that does not work costs one member, not all.
"""

from __future__ import annotations

from gascity.core import brake
from gascity.core.actions import Start
from gascity.core.decision import Decision, is_up
from gascity.core.drift import has_drifted
from gascity.core.memory import Memory
from gascity.core.model import AgentSpec, Desired, declared
from gascity.core.observed import Observed, Standing
from gascity.core.views import State
from gascity.core.wishes import session_of


class Turns:
    """Counts, while a plan is made, who is on the way up and who is being replaced."""

    def __init__(self, desired: Desired, observed: Observed, memory: Memory) -> None:
        self._most_rolling = desired.drift_parallel
        self._braked = memory.braked
        waiting = {name for name in observed.starting if memory.of(name).away == Standing.PENDING}
        self._starting = len(observed.starting) - len(waiting)  # who has no machine takes no place
        self._rolling: set[str] = set()
        self._rolling_pools: set[str] = set()
        if any(agent.rolling for agent in memory.agents.values()):
            for spec in declared(desired):
                if memory.of(spec.session).rolling and not _is_renewed(spec, observed):
                    self._rolls(spec)

    def may_restart(self) -> bool:
        """Tell whether one more that crashed may be started."""
        return not self._braked or self._starting < brake.AT_ONCE

    def may_roll(self, spec: AgentSpec) -> bool:
        """Tell whether this one may be replaced now."""
        if spec.session in self._rolling:
            return True
        free = len(self._rolling) < self._most_rolling
        return free and (not spec.pool or spec.pool not in self._rolling_pools)

    def took(self, spec: AgentSpec, decision: Decision) -> None:
        """Take note of what was decided about an agent."""
        waited = decision.view.state is State.PENDING
        starts = any(isinstance(action, Start) for action in decision.actions)
        self._starting += starts and not waited
        if decision.memory.rolling:
            self._rolls(spec)

    def _rolls(self, spec: AgentSpec) -> None:
        self._rolling.add(spec.session)
        if spec.pool:
            self._rolling_pools.add(spec.pool)


def _is_renewed(spec: AgentSpec, observed: Observed) -> bool:
    """Tell whether an agent that was to be replaced is up again, as it should be."""
    state = session_of(spec, observed)
    up = state is not None and is_up(state) and spec.session not in observed.busy
    return up and state is not None and not has_drifted(spec, state)
