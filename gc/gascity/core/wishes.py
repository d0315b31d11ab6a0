"""Which agents should run now: what the city file says, what a person said, what pools need."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from gascity.core import pools
from gascity.core.decision import Surplus, Unwanted, Wanted, Wish
from gascity.core.draining import acknowledged, asked
from gascity.core.memory import DRAINED, Memory
from gascity.core.model import AgentSpec, Desired, declared
from gascity.core.observed import CITY_ID, Alive, Observed, Seen, SessionState, Standing
from gascity.core.views import State
from gascity.screens.reading import Kind

WANTED = Wanted()
ENDING = Unwanted(State.STOPPED, "the city is being stopped")
NOT_NEEDED = "the pool does not need it"


def wishes(
    desired: Desired, observed: Observed, memory: Memory
) -> Iterator[tuple[AgentSpec, Wish]]:
    """Yield every agent there can be, with what is wished of it now."""
    if desired.ending:
        yield from ((spec, ENDING) for spec in declared(desired))
        return
    for spec in desired.agents:
        yield spec, _own_wish(spec, memory) or WANTED
    for pool in desired.pools:
        states = {
            spec.session: _member_state(spec, desired, observed, memory) for spec in pool.members
        }
        able = [spec for spec in pool.members if _own_wish(spec, memory) is None]
        kept = pools.keep(able, states, memory.pools[pool.name])
        for spec in pool.members:
            spare: Wish = Surplus(NOT_NEEDED, pool.drain_timeout)
            wish = WANTED if spec.session in kept else spare
            yield spec, _own_wish(spec, memory) or wish


def _own_wish(spec: AgentSpec, memory: Memory) -> Unwanted | Surplus | None:
    if spec.suspended:
        return Unwanted(State.SUSPENDED, "suspended in the city file")
    known = memory.of(spec.session)
    if known.held:
        return Unwanted(State.STOPPED, known.held)
    if known.drained:
        return Surplus("a person asked it to drain", spec.drain_timeout, DRAINED)
    return None


def _member_state(
    spec: AgentSpec, desired: Desired, observed: Observed, memory: Memory
) -> pools.MemberState:
    state = session_of(spec, observed)
    if state is None:
        # An unseen member counts as it was last known, or an outage would reshuffle the pool.
        remembered = bool(memory.of(spec.session).run) and not sees(observed, spec.provider)
        return pools.MemberState(alive=remembered or spec.session in observed.busy)
    ours = state.meta.get(CITY_ID) == desired.city_id
    return pools.MemberState(
        alive=ours and isinstance(state.life, Alive),
        pending=state.standing is Standing.PENDING,
        draining=asked(state),
        drained=acknowledged(state),
        attached=state.attached > 0,
        working=_works(state, observed),
    )


def _works(state: SessionState, observed: Observed) -> bool:
    shown = observed.shown.get(state.name)
    return shown is not None and shown.run == state.run and shown.reading.kind is Kind.WORKING


def learn_demand(desired: Desired, observed: Observed, memory: Memory) -> Memory:
    """Remember how many members each pool should have."""
    sizes = {
        pool.name: pools.size(pool, observed.demand.get(pool.name), memory.pools.get(pool.name))
        for pool in desired.pools
    }
    return memory if sizes == memory.pools else replace(memory, pools=sizes)


def session_of(spec: AgentSpec, observed: Observed) -> SessionState | None:
    """Return what the agent's provider saw of its session; None also when it saw nothing."""
    seen = observed.providers.get(spec.provider)
    return seen.sessions.get(spec.session) if isinstance(seen, Seen) else None


def sees(observed: Observed, provider: str) -> bool:
    """Tell whether a provider answered."""
    return isinstance(observed.providers.get(provider), Seen)
