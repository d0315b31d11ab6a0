"""A living agent whose configuration changed: whether it is replaced now, later, or not at all.

The change is told once. A person who is attached and a turn that is under way are waited for, at
most `drift_patience`; others who are being replaced already, for as long as they need.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from gascity.core.actions import Event, EventType
from gascity.core.alerts import Alert, Trouble, of_agent
from gascity.core.decision import Decision, Permit, event, replaced
from gascity.core.difference import FieldChange, field_changes, names_of
from gascity.core.draining import drain
from gascity.core.fingerprint import canonical
from gascity.core.launch import declared_command
from gascity.core.memory import AgentMemory
from gascity.core.model import AgentSpec, OnDrift
from gascity.core.observed import CONFIG, CONFIG_HASH, SessionState, Shown
from gascity.core.standstill import NEVER, Standstills
from gascity.screens.reading import Kind

CHANGED = "its configuration changed"


@dataclass(frozen=True, slots=True)
class Waits:
    """It is not replaced now: why, and until when that is sure."""

    why: str
    until: float | None = None


def has_drifted(spec: AgentSpec, state: SessionState) -> bool:
    """Tell whether a session runs another configuration than the city's."""
    return state.meta.get(CONFIG_HASH) != spec.fingerprint


def drifted_fields(spec: AgentSpec, state: SessionState) -> tuple[FieldChange, ...]:
    """Return what changed since a session was started; nothing where that was not kept."""
    if not has_drifted(spec, state):
        return ()
    command = declared_command(spec.base_command, spec.prompt, spec.prompt_mode, spec.prompt_flag)
    present = canonical(command, spec.env, spec.fingerprint_extra)
    try:
        return field_changes(state.meta.get(CONFIG, ""), present)
    except ValueError:
        return ()


def notice(spec: AgentSpec, state: SessionState) -> Event:
    """Return what has to be said of a change, the first time it is seen."""
    names = names_of(drifted_fields(spec, state))
    which = f" ({names})" if names else f"; `gc diff {spec.name}` shows what"
    return event(EventType.AGENT_DRIFTED, spec, state.run, f"{CHANGED}{which}")


def left_to_a_person(spec: AgentSpec) -> tuple[Alert, ...]:
    """Return the trouble of an agent that drifted and that nobody but a person replaces."""
    if spec.on_drift is not OnDrift.NOTIFY:
        return ()
    text = f"{spec.name} runs on with its old configuration; `gc restart {spec.name}` replaces it"
    return (of_agent(Trouble.DRIFT, spec, text),)


def replacement(
    spec: AgentSpec,
    state: SessionState,
    memory: AgentMemory,
    permit: Permit,
    shown: Shown | None,
    now: float,
    stood_still: Standstills = NEVER,
    *,
    unread: bool = False,
) -> Decision | Waits:
    """Replace an agent that drifted, or say what it waits for.

    One whose screen is `unread` may be at work. One that drains already goes on with that.
    """
    if spec.on_drift is OnDrift.NOTIFY:
        return Waits(f"{CHANGED}; `gc restart {spec.name}` replaces it")
    drains = spec.on_drift is OnDrift.DRAIN and memory.drain_since is not None
    if not (drains and memory.rolling == state.run):
        since = memory.drift_since if memory.drift_since is not None else now
        until = stood_still.over(since, spec.drift_patience)
        if (busy := _busy(state, shown, unread=unread)) and until > now:
            return Waits(f"{CHANGED}; {busy}, so it waits", until)
        if not permit.rolls:
            return Waits(f"{CHANGED}; others are replaced first")
        memory = replace(memory, rolling=state.run)
    if spec.on_drift is OnDrift.DRAIN:
        going = drain(spec, state, memory, CHANGED, spec.drain_timeout, now, stood_still)
        if isinstance(going, Decision):
            return replace(going, view=replace(going.view, drift=True))
        return replaced(spec, state, memory, f"{CHANGED}; {going}")
    return replaced(spec, state, memory, CHANGED, gentle=True)


def _busy(state: SessionState, shown: Shown | None, *, unread: bool) -> str:
    if state.attached:
        return "somebody is attached"
    if unread:
        return "its screen was not read yet"
    works = shown is not None and shown.run == state.run and shown.reading.kind is Kind.WORKING
    return "it is working" if works else ""
