"""The brake after a mass death: many agents that died at once come back a few at a time.

What kills half of a city at once (memory that ran out, a terminal server, a disk) may do it again
if everything starts at the same moment. Single crashes are no concern of it.
"""

from __future__ import annotations

from collections.abc import Iterable

from gascity.core.actions import Event, EventType
from gascity.core.alerts import Alert, Trouble
from gascity.core.decision import Wish, lives
from gascity.core.ends import excuse_of, uncounted, was_to_end
from gascity.core.memory import AgentMemory, Memory
from gascity.core.model import AgentSpec, Desired
from gascity.core.observed import CITY_ID, Observed, Seen

WITHIN = 10.0  # seconds
FEWEST = 4  # deaths; fewer are single crashes, whatever share of the city they are
AT_ONCE = 4  # agents on their way up while the brake is on

Candidate = tuple[AgentSpec, Wish]


def is_mass_death(
    candidates: Iterable[Candidate],
    wanted: int,
    desired: Desired,
    observed: Observed,
    memory: Memory,
    now: float,
) -> bool:
    """Tell whether at least half of the wanted agents died within the last moments.

    `candidates` are those that may die now. Only a death can put the brake on.
    """
    if not desired.brakes or wanted < FEWEST:
        return False
    dying = {
        spec.session
        for spec, wish in candidates
        if _dies_now(spec, wish, memory.of(spec.session), desired, observed, now)
    }
    if not dying and not memory.braked:
        return False
    if memory.braked and any(_is_awaited(agent) for agent in memory.agents.values()):
        return True
    earlier = sum(
        agent.crashed_at is not None and now - WITHIN < agent.crashed_at <= now
        for session, agent in memory.agents.items()
        if session not in dying
    )
    return len(dying) + earlier >= max(FEWEST, (wanted + 1) // 2)


def _is_awaited(agent: AgentMemory) -> bool:
    """Tell whether an agent that crashed is still to be started."""
    return agent.ended_at is not None and not agent.quarantined


def _dies_now(
    spec: AgentSpec,
    wish: Wish,
    known: AgentMemory,
    desired: Desired,
    observed: Observed,
    now: float,
) -> bool:
    """Tell whether this tick will count a crash of an agent that was alive before."""
    seen = observed.providers.get(spec.provider)
    if not known.run or spec.session in observed.busy or not isinstance(seen, Seen):
        return False
    state = seen.sessions.get(spec.session)
    if state is not None and (lives(state) or state.meta.get(CITY_ID) != desired.city_id):
        return False
    ended = uncounted(state, known)
    is_crash = not was_to_end(spec, wish, state, known) and not excuse_of(ended, known, now)
    return bool(ended) and is_crash


BRAKED = Alert(
    Trouble.MASS_DEATH.value,
    "",
    f"half of the agents or more died within {WITHIN:g} s: they come back {AT_ONCE} at a time",
)
"""The trouble there is while the brake is on."""


def told() -> Event:
    """Return what has to be said when the brake goes on."""
    return Event(EventType.CITY_BRAKED, message=BRAKED.text)
