"""What a person can change about agents, as a new memory and the events that tell of it.

The controller and the commands that work without one make the same change with these.
"""

from __future__ import annotations

from collections.abc import Sequence

from gascity.core import memory as remembering
from gascity.core.actions import Event, EventType
from gascity.core.memory import AgentMemory, Memory
from gascity.core.model import AgentSpec

UNDRAINED = "a person took the drain back"
RESET = "a person reset it"

Change = tuple[Memory, list[Event]]


def reset(memory: Memory, specs: Sequence[AgentSpec]) -> Change:
    """Forget crashes, failed starts and quarantine; tell of those that were quarantined."""
    events = []
    for spec in specs:
        if memory.of(spec.session).quarantined:
            events.append(_event(EventType.AGENT_RELEASED, spec, RESET))
        memory = remembering.reset(memory, spec.session)
    return memory, events


def drain(memory: Memory, specs: Sequence[AgentSpec]) -> Change:
    """Have agents finish their work and stay down; tell of those that were not to drain before."""
    events = []
    for spec in specs:
        if not memory.of(spec.session).drained:
            events.append(_event(EventType.AGENT_HELD, spec, remembering.DRAINED))
        memory = remembering.drain(memory, spec.session)
    return memory, events


def undrain(memory: Memory, specs: Sequence[AgentSpec]) -> Change:
    """Have agents go on, or come back; tell of those that were to drain."""
    events = []
    for spec in specs:
        if memory.of(spec.session).drained:
            events.append(_event(EventType.AGENT_RELEASED, spec, UNDRAINED))
        memory = remembering.undrain(memory, spec.session)
    return memory, events


def mute(memory: Memory, specs: Sequence[AgentSpec], until: float, how_long: str) -> Change:
    """Have nobody told of these agents' troubles until then."""
    events = []
    for spec in specs:
        events.append(_event(EventType.AGENT_MUTED, spec, f"alerts of it are muted {how_long}"))
        memory = remembering.mute(memory, spec.session, until)
    return memory, events


def unmute(memory: Memory, specs: Sequence[AgentSpec]) -> Change:
    """Have people told of these agents' troubles again; tell of those that were muted."""
    events = []
    for spec in specs:
        if memory.of(spec.session).muted_until is not None:
            events.append(_event(EventType.AGENT_UNMUTED, spec, "alerts of it are told again"))
        memory = remembering.mute(memory, spec.session, None)
    return memory, events


def burden(agent: AgentMemory) -> str:
    """Say what a reset forgets: "quarantine", "crashes", "rest", or "" where there is nothing."""
    if agent.quarantined:
        return "quarantine"
    if agent.restarts or agent.failures or agent.ended_at is not None:
        return "crashes"
    return "rest" if agent.resume_at is not None else ""


def _event(kind: EventType, spec: AgentSpec, message: str) -> Event:
    return Event(kind, spec.name, spec.session, message=message)
