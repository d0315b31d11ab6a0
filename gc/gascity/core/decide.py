"""One agent: what to do about it now.

`decide` looks at one spec, at what its provider saw of its session, and at what is remembered. What
it may do as far as the other agents are concerned is told by its `Permit`; the order among agents,
pools and orphans are `plan`'s.
"""

from __future__ import annotations

from dataclasses import replace

from gascity.core.actions import Alert, Event, EventType, Undrain
from gascity.core.dead import dead
from gascity.core.decision import (
    FREE,
    Decision,
    Permit,
    Surplus,
    Unwanted,
    Wanted,
    Wish,
    event,
    lives,
    replaced,
    stopped,
    view,
)
from gascity.core.doing import Doing, doing
from gascity.core.draining import acknowledged, asked, drain
from gascity.core.drift import Waits, has_drifted, notice, replacement
from gascity.core.idle import idle_at, idled
from gascity.core.memory import AgentMemory, Excuse, incarnate, not_later, pardon
from gascity.core.model import AgentSpec
from gascity.core.nudges import QueuedNudge
from gascity.core.observed import (
    CITY_ID,
    READY,
    RESTART_REQUESTED,
    STARTING,
    Exited,
    SessionState,
    Shown,
)
from gascity.core.views import AgentView, State
from gascity.screens.reading import Kind

_BY_ITSELF = "the agent asked for it"
_EXCUSES = {Kind.LIMITED: Excuse.LIMITED, Kind.AUTH: Excuse.AUTH}


def decide(
    spec: AgentSpec,
    wish: Wish,
    state: SessionState | None,
    memory: AgentMemory,
    *,
    city_id: str,
    now: float,
    permit: Permit = FREE,
    shown: Shown | None = None,
    queued: QueuedNudge | None = None,
) -> Decision:
    """Decide about an agent whose provider answered and whose session nobody is busy with."""
    if state is not None and state.meta.get(CITY_ID) != city_id:
        return Decision(memory, _foreign(spec, memory))
    freed: tuple[Event, ...] = ()
    if memory.fingerprint != spec.fingerprint:
        if memory.quarantined:
            freed = (event(EventType.AGENT_RELEASED, spec, "", "its configuration changed"),)
        memory = pardon(memory) if memory.fingerprint else memory
        memory = replace(memory, fingerprint=spec.fingerprint)
    memory = not_later(memory, now)
    memory, noted = _take_note(spec, wish, state, memory, now)
    events = (*freed, *noted)
    alive = state is not None and lives(state)
    match wish:
        case Unwanted():
            decision = stopped(spec, wish, state, memory)
        case Surplus() if alive and state is not None:
            decision = _surplus(spec, wish, state, memory, now, shown)
        case Surplus():
            down = Unwanted(State.STOPPED, wish.gone or wish.why)
            decision = stopped(spec, down, state, replace(memory, drain_since=None))
        case Wanted() if alive and state is not None:
            decision = _living(spec, state, memory, permit, now, shown, queued)
        case Wanted():
            decision = dead(spec, state, memory, permit, now)
    return replace(decision, events=(*events, *decision.events)) if events else decision


def _take_note(
    spec: AgentSpec, wish: Wish, state: SessionState | None, memory: AgentMemory, now: float
) -> tuple[AgentMemory, tuple[Event, ...]]:
    """Learn from what is seen: an incarnation taken up, or an end that was not counted yet."""
    if state is not None and lives(state):
        if memory.run == state.run and memory.provider == spec.provider:
            return memory, ()
        adopted = incarnate(memory, state.run, spec.provider)
        return adopted, (
            event(EventType.SESSION_ADOPTED, spec, state.run, "it was running already"),
        )
    ended = state.run if state is not None else memory.run
    if not ended or ended == memory.counted:
        return (replace(memory, run="") if memory.run else memory), ()
    excuse = memory.excuse if ended == memory.run else ""
    memory = replace(memory, run="", counted=ended, drift_since=None, excuse="")
    how = _how(state)
    moved = state is None and memory.provider not in ("", spec.provider)
    if moved or not isinstance(wish, Wanted) or (state is not None and _was_draining(state)):
        return memory, (event(EventType.SESSION_STOPPED, spec, ended, f"{how}, as it was to"),)
    if excuse:
        return _excused(spec, memory, ended, how, excuse, now)
    memory = replace(memory, ended_at=now, crashed_at=now, last_end=how)
    return memory, (event(EventType.SESSION_CRASHED, spec, ended, how),)


def _excused(
    spec: AgentSpec, memory: AgentMemory, ended: str, how: str, excuse: str, now: float
) -> tuple[AgentMemory, tuple[Event, ...]]:
    """An end that is no crash: it comes back when its limit has ended, or after a while."""
    limited = excuse == Excuse.LIMITED
    known = memory.excuse_until if limited else None
    resume = known if known is not None else now + spec.restarts.longest_delay
    cause = "its limit was used up" if limited else "it was not logged in"
    told = event(EventType.SESSION_STOPPED, spec, ended, f"{how}; {cause}, so it is no crash")
    return replace(memory, excuse=excuse, resume_at=resume), (told,)


def _was_draining(state: SessionState) -> bool:
    return asked(state) or acknowledged(state)


def _how(state: SessionState | None) -> str:
    match state:
        case None:
            return "the session is gone, nobody saw how"
        case SessionState(life=Exited() as end):
            return str(end)
        case SessionState():
            return "the session lives, but none of the agent's processes does"


def _surplus(
    spec: AgentSpec,
    wish: Surplus,
    state: SessionState,
    memory: AgentMemory,
    now: float,
    shown: Shown | None,
) -> Decision:
    going = drain(spec, state, memory, wish.why, wish.patience, now)
    if isinstance(going, Decision):
        return _meanwhile(going, spec, state, now, shown)
    return stopped(spec, Unwanted(State.DRAINING, f"{wish.why}; {going}"), state, memory)


def _meanwhile(
    going: Decision, spec: AgentSpec, state: SessionState, now: float, shown: Shown | None
) -> Decision:
    """An agent that finishes its work is still helped with its dialogs, and a person told."""
    found, memory = doing(spec, state, shown, None, going.memory, now)
    wakes = [time for time in (going.wake_at, found.wake_at) if time is not None]
    actions = (*going.actions, *found.actions)
    return replace(going, memory=memory, actions=actions, wake_at=min(wakes, default=None))


def _living(
    spec: AgentSpec,
    state: SessionState,
    memory: AgentMemory,
    permit: Permit,
    now: float,
    shown: Shown | None,
    queued: QueuedNudge | None,
) -> Decision:
    if memory.ended_at is not None or memory.resume_at is not None:
        memory = replace(memory, ended_at=None, resume_at=None)
    if why := _asked_for(state, memory):
        if why == _BY_ITSELF and memory.counted != state.run:
            memory = replace(memory, total_requests=memory.total_requests + 1)
        return replaced(spec, state, memory, why)
    memory, told, alerts = _drift_noticed(spec, state, memory, now)
    waits: Waits | None = None
    if memory.drift_since is not None:
        found = replacement(spec, state, memory, permit, shown, now)
        if isinstance(found, Decision):
            if found.view.state is State.DRAINING:
                found = _meanwhile(found, spec, state, now, shown)
            return replace(found, events=(*told, *found.events))
        waits = found
    if memory.drain_since is not None:
        memory = replace(memory, drain_since=None)
    decision = _at_work(spec, state, memory, now, shown, queued, waits)
    if told or alerts:
        decision = replace(
            decision, actions=(*decision.actions, *alerts), events=(*told, *decision.events)
        )
    return decision


def _asked_for(state: SessionState, memory: AgentMemory) -> str:
    """Say why a living agent has to be replaced, whatever it does."""
    if not state.run:
        return ""
    if memory.recycle == state.run:
        return "a person asked for it"
    if state.meta.get(RESTART_REQUESTED) == state.run:
        return _BY_ITSELF
    return "its start was cut off" if state.meta.get(STARTING) == state.run else ""


def _drift_noticed(
    spec: AgentSpec, state: SessionState, memory: AgentMemory, now: float
) -> tuple[AgentMemory, tuple[Event, ...], tuple[Alert, ...]]:
    """Remember since when it has drifted; return what has to be said of it the first time."""
    if not has_drifted(spec, state):
        if memory.drift_since is not None or memory.rolling:
            memory = replace(memory, drift_since=None, rolling="")
        return memory, (), ()
    if memory.drift_since is not None:
        return memory, (), ()
    told, alerts = notice(spec, state)
    return replace(memory, drift_since=now), (told,), alerts


def _at_work(
    spec: AgentSpec,
    state: SessionState,
    memory: AgentMemory,
    now: float,
    shown: Shown | None,
    queued: QueuedNudge | None,
    waits: Waits | None,
) -> Decision:
    """Decide about an agent that lives and is to go on living: what its screen asks for."""
    found, memory = doing(spec, state, shown, queued, memory, now)
    memory = _with_excuse(memory, state, shown)
    if asked(state):  # nobody wants that any more
        undrain = Undrain(spec.session, spec.provider, spec.name, "it is needed again")
        alerts = tuple(action for action in found.actions if isinstance(action, Alert))
        return Decision(memory, _seen(spec, state, memory, found, shown), (undrain, *alerts))
    idle = None
    if found.state is State.READY and not found.actions and waits is None:
        idle = idle_at(spec, state, memory, shown)
        if idle is not None and idle <= now and queued is None:
            return idled(spec, state, memory, now)
    seen = _seen(spec, state, memory, found, shown)
    if waits is not None:
        seen = replace(seen, reason=waits.why, drift=True, next_at=waits.until)
    wakes = [found.wake_at, idle, waits.until if waits is not None else None]
    ahead = [time for time in wakes if time is not None and time > now]
    return Decision(memory, seen, found.actions, wake_at=min(ahead, default=None))


def _seen(
    spec: AgentSpec, state: SessionState, memory: AgentMemory, found: Doing, shown: Shown | None
) -> AgentView:
    never = shown is None and state.meta.get(READY) == "timeout"
    reason = found.reason or ("it never showed its prompt" if never else "")
    return view(spec, memory, found.state, reason, state, next_at=found.next_at)


def _with_excuse(memory: AgentMemory, state: SessionState, shown: Shown | None) -> AgentMemory:
    """Keep what would excuse an end, for as long as the screen says it."""
    if shown is None or shown.run != state.run or shown.reading.kind is None:
        return memory
    excuse = _EXCUSES.get(shown.reading.kind, "")
    until = shown.reading.until if excuse else None
    if (memory.excuse, memory.excuse_until) == (excuse, until):
        return memory
    return replace(memory, excuse=excuse, excuse_until=until)


def _foreign(spec: AgentSpec, memory: AgentMemory) -> AgentView:
    why = f"a session named {spec.session} exists that this city did not make; it is left alone"
    return view(spec, memory, State.BLOCKED, why, None)
