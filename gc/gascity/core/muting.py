"""Of whom nobody wants to hear: agents that a person muted."""

from __future__ import annotations

from gascity.core.memory import Memory
from gascity.core.model import City, declared


def muted_agents(city: City, memory: Memory) -> dict[str, float]:
    """Return the agents of which nobody wants to hear, with the time at which that ends."""
    found = {spec.name: memory.of(spec.session).muted_until for spec in declared(city.desired)}
    return {agent: until for agent, until in found.items() if until is not None}
