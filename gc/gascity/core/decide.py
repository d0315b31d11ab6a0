"""One agent: what to do about it now.

`decide` looks at one spec, at what its provider saw of its session, and at what is remembered. What
it may do as far as the other agents are concerned is told by its `Permit`; the order among agents,
pools and orphans are `plan`'s.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from gascity.core.actions import Event, EventType, Undrain
from gascity.core.alerts import Alert, Trouble, of_agent
from gascity.core.away import BY_A_PERSON, away, noted, tried_again
from gascity.core.dead import dead, foretold
from gascity.core.decision import (
    FREE,
    Decision,
    Permit,
    Surplus,
    Unwanted,
    Wanted,
    Wish,
    event,
    is_away,
    lives,
    replaced,
    stopped,
    view,
)
from gascity.core.doing import Doing, doing
from gascity.core.draining import asked, drain
from gascity.core.drift import Waits, has_drifted, left_to_a_person, notice, replacement
from gascity.core.ends import NO_CRASH, excuse_of, how, uncounted, was_to_end
from gascity.core.idle import idle_at, idled
from gascity.core.memory import AgentMemory, Excuse, incarnate, not_later, pardon, present
from gascity.core.model import AgentSpec, OnDrift
from gascity.core.nudges import QueuedNudge
from gascity.core.observed import (
    CITY_ID,
    READY,
    RESTART_REQUESTED,
    STARTING,
    SessionState,
    Shown,
)
from gascity.core.standstill import NEVER, Standstills
from gascity.core.views import AgentView, State
from gascity.screens.reading import Kind

LOOK = 0.1  # seconds for a look that is under way
_NO_PROMPT = "it never showed its prompt"
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
    unread: bool = False,
    looked_at: float | None = None,
    stood_still: Standstills = NEVER,
) -> Decision:
    """Decide about an agent whose provider answered and whose session nobody is busy with.

    `unread` says that its screen has rules and was not read yet, `looked_at` when the look at its
    provider began, `stood_still` when nobody could do anything.
    """
    if state is not None and state.meta.get(CITY_ID) != city_id:
        return _foreign(spec, memory)
    memory, freed = _forgiven(spec, memory)
    memory = not_later(memory, now)
    memory, noted = _take_note(spec, wish, state, memory, now)
    events = (*freed, *noted)
    alive = state is not None and lives(state)
    sight = _Sight(
        shown,
        queued,
        unread=unread,
        looked_at=now if looked_at is None else looked_at,
        stood_still=stood_still,
    )
    match wish:
        case _ if state is not None and is_away(state):
            decision = away(spec, wish, state, memory, permit, now)
        case Unwanted():
            decision = stopped(spec, wish, state, memory)
        case Surplus() if alive and state is not None:
            decision = _surplus(spec, wish, state, memory, now, sight)
        case Surplus():
            down = Unwanted(State.STOPPED, wish.gone or wish.why)
            decision = stopped(spec, down, state, replace(memory, drain_since=None))
        case Wanted() if alive and state is not None:
            if shown is not None and shown.run != state.run:
                sight = replace(sight, unread=True)
            decision = _living(spec, state, memory, permit, now, sight)
        case Wanted() if memory.waits and state is None:
            decision = tried_again(spec, memory, permit, now)
        case Wanted():
            decision = dead(spec, state, memory, permit, now)
            events = foretold(events, spec, memory, decision, now)
    return replace(decision, events=(*events, *decision.events)) if events else decision


def _forgiven(spec: AgentSpec, memory: AgentMemory) -> tuple[AgentMemory, tuple[Event, ...]]:
    """Forget the bad past of another configuration, and what that waited for."""
    if memory.fingerprint == spec.fingerprint:
        return memory, ()
    freed = event(EventType.AGENT_RELEASED, spec, "", "its configuration changed")
    events = (freed,) if memory.quarantined else ()
    memory = replace(pardon(memory), waits="") if memory.fingerprint else memory
    return replace(memory, fingerprint=spec.fingerprint), events


def _take_note(
    spec: AgentSpec, wish: Wish, state: SessionState | None, memory: AgentMemory, now: float
) -> tuple[AgentMemory, tuple[Event, ...]]:
    """Learn from what is seen: an incarnation taken up, or an end that was not counted yet."""
    if state is not None and is_away(state):
        return noted(memory, state, spec.provider, now), ()
    if state is not None and lives(state):
        memory = present(memory)
        if memory.run == state.run and memory.provider == spec.provider:
            return memory, ()
        adopted = incarnate(memory, state.run, spec.provider)
        return adopted, (
            event(EventType.SESSION_ADOPTED, spec, state.run, "it was running already"),
        )
    ended = uncounted(state, memory)
    if not ended:
        if state is None and _goes_on(spec, wish, memory):
            return memory, ()
        return present(replace(memory, run="") if memory.run else memory), ()
    said = how(state, memory)
    wanted_end, excuse = was_to_end(spec, wish, state, memory), excuse_of(ended, memory, now)
    memory = replace(present(memory), run="", counted=ended, drift_since=None, excuse="")
    if wanted_end:
        if state is not None and not isinstance(wish, Wanted):
            return memory, ()  # it is cleared away, and that is told
        told = event(EventType.SESSION_STOPPED, spec, ended, f"{said}, as it was to")
        return memory, (told,)
    if excuse:
        return _excused(spec, memory, ended, said, excuse, now)
    memory = replace(memory, ended_at=now, crashed_at=now, last_end=said)
    return memory, (event(EventType.SESSION_CRASHED, spec, ended, said),)


def _goes_on(spec: AgentSpec, wish: Wish, memory: AgentMemory) -> bool:
    """Tell whether a start that had to wait is tried again with the same incarnation."""
    here = memory.provider == spec.provider
    return bool(memory.waits) and isinstance(wish, Wanted) and here


def _excused(
    spec: AgentSpec, memory: AgentMemory, ended: str, end: str, excuse: str, now: float
) -> tuple[AgentMemory, tuple[Event, ...]]:
    """An end that is no crash: it comes back when its limit has ended, or after a while."""
    limited = excuse == Excuse.LIMITED
    known = memory.excuse_until if limited else None
    resume = known if known is not None else now + spec.restarts.longest_delay
    cause = "its limit was used up" if limited else "it was not logged in"
    told = event(EventType.SESSION_STOPPED, spec, ended, f"{end}; {cause}, {NO_CRASH}")
    return replace(memory, excuse=excuse, resume_at=resume), (told,)


def _surplus(
    spec: AgentSpec,
    wish: Surplus,
    state: SessionState,
    memory: AgentMemory,
    now: float,
    sight: _Sight,
) -> Decision:
    going = drain(spec, state, memory, wish.why, wish.patience, now, sight.stood_still)
    if isinstance(going, Decision):
        return _meanwhile(going, spec, state, now, sight)
    return stopped(spec, Unwanted(State.DRAINING, f"{wish.why}; {going}"), state, memory)


def _meanwhile(
    going: Decision, spec: AgentSpec, state: SessionState, now: float, sight: _Sight
) -> Decision:
    """An agent that finishes its work is still helped with its dialogs, and a person told."""
    shown, slept = sight.shown, sight.stood_still
    found, memory = doing(spec, state, shown, None, going.memory, now, slept, unread=sight.unread)
    wakes = [time for time in (going.wake_at, found.wake_at) if time is not None]
    return replace(
        going,
        memory=memory,
        actions=(*going.actions, *found.actions),
        wake_at=min(wakes, default=None),
        troubles=found.troubles,
        blind=found.blind,
    )


@dataclass(frozen=True, slots=True)
class _Sight:
    """What is known of a living agent beside its session; see `decide`."""

    shown: Shown | None
    queued: QueuedNudge | None
    unread: bool
    looked_at: float
    stood_still: Standstills


def _living(
    spec: AgentSpec,
    state: SessionState,
    memory: AgentMemory,
    permit: Permit,
    now: float,
    sight: _Sight,
) -> Decision:
    if memory.ended_at is not None or memory.resume_at is not None:
        memory = replace(memory, ended_at=None, resume_at=None)
    if why := _asked_for(state, memory):
        if why == _BY_ITSELF and memory.counted != state.run:
            memory = replace(memory, total_requests=memory.total_requests + 1)
        return replaced(spec, state, memory, why)
    memory, told = _drift_noticed(spec, state, memory, now)
    waits: Waits | None = None
    if memory.drift_since is not None:
        shown, slept = sight.shown, sight.stood_still
        found = replacement(spec, state, memory, permit, shown, now, slept, unread=sight.unread)
        if isinstance(found, Decision):
            if found.view.state is State.DRAINING:
                found = _meanwhile(found, spec, state, now, sight)
            return replace(found, events=(*told, *found.events))
        waits = found
    if memory.drain_since is not None:
        memory = replace(memory, drain_since=None)
    decision = _at_work(spec, state, memory, now, sight, waits)
    if memory.drift_since is not None:
        lasting = left_to_a_person(spec)
        events = (*told, *decision.events)
        return replace(decision, events=events, troubles=(*lasting, *decision.troubles))
    return decision


def _asked_for(state: SessionState, memory: AgentMemory) -> str:
    """Say why a living agent has to be replaced, whatever it does."""
    if not state.run:
        return ""
    if memory.recycle == state.run:
        return BY_A_PERSON
    if state.meta.get(RESTART_REQUESTED) == state.run:
        return _BY_ITSELF
    return "its start was cut off" if state.meta.get(STARTING) == state.run else ""


def _drift_noticed(
    spec: AgentSpec, state: SessionState, memory: AgentMemory, now: float
) -> tuple[AgentMemory, tuple[Event, ...]]:
    """Remember since when it has drifted; return what has to be said of it the first time."""
    if not has_drifted(spec, state):
        if memory.drift_since is not None or memory.rolling:
            memory = replace(memory, drift_since=None, rolling="")
        return memory, ()
    if memory.rolling and spec.on_drift is OnDrift.NOTIFY:
        memory = replace(memory, rolling="")
    if memory.drift_since is not None:
        return memory, ()
    return replace(memory, drift_since=now), (notice(spec, state),)


def _at_work(
    spec: AgentSpec,
    state: SessionState,
    memory: AgentMemory,
    now: float,
    sight: _Sight,
    waits: Waits | None,
) -> Decision:
    """Decide about an agent that lives and is to go on living: what its screen asks for."""
    shown, queued = sight.shown, sight.queued
    slept = sight.stood_still
    found, memory = doing(spec, state, shown, queued, memory, now, slept, unread=sight.unread)
    unready = () if sight.unread else _unready(spec, state, shown)
    troubles = (*found.troubles, *unready)
    memory = _with_excuse(memory, state, shown)
    if asked(state):  # nobody wants that any more
        undrain = Undrain(spec.session, spec.provider, spec.name, "it is needed again")
        seen = _seen(spec, state, memory, found, shown)
        return Decision(memory, seen, (undrain,), troubles=troubles, blind=found.blind)
    idle = None
    is_free = found.state is State.READY and not found.actions and queued is None
    if is_free and waits is None and not sight.unread:
        idle = idle_at(spec, state, memory, shown, slept)
        if idle is not None and idle <= min(now, sight.looked_at):
            return idled(spec, state, memory, now)
        if idle is not None and idle <= now:  # what was seen is older than that: look first
            idle = now + LOOK
    if memory.counted == state.run:
        memory = replace(memory, counted="")  # its end was planned, and did not come to be
    seen = _seen(spec, state, memory, found, shown)
    if waits is not None:
        seen = replace(seen, reason=waits.why, drift=True, next_at=waits.until)
    wakes = [found.wake_at, idle, waits.until if waits is not None else None]
    ahead = [time for time in wakes if time is not None and time > now]
    wake_at = min(ahead, default=None)
    return Decision(
        memory, seen, found.actions, wake_at=wake_at, troubles=troubles, blind=found.blind
    )


def _seen(
    spec: AgentSpec, state: SessionState, memory: AgentMemory, found: Doing, shown: Shown | None
) -> AgentView:
    reason = found.reason or (_NO_PROMPT if _never_ready(state, shown) else "")
    return view(spec, memory, found.state, reason, state, next_at=found.next_at)


def _never_ready(state: SessionState, shown: Shown | None) -> bool:
    return shown is None and state.meta.get(READY) == "timeout"


def _unready(spec: AgentSpec, state: SessionState, shown: Shown | None) -> tuple[Alert, ...]:
    """Return the trouble of an agent that runs and was never seen to be ready."""
    if not _never_ready(state, shown):
        return ()
    return (of_agent(Trouble.UNREADY, spec, f"{spec.name} runs, but {_NO_PROMPT}"),)


def _with_excuse(memory: AgentMemory, state: SessionState, shown: Shown | None) -> AgentMemory:
    """Keep what would excuse an end, for as long as the screen says it."""
    if shown is None or shown.run != state.run or shown.reading.kind is None:
        return memory
    excuse = _EXCUSES.get(shown.reading.kind, "")
    until = shown.reading.until if excuse else None
    if (memory.excuse, memory.excuse_until) == (excuse, until):
        return memory
    return replace(memory, excuse=excuse, excuse_until=until)


def _foreign(spec: AgentSpec, memory: AgentMemory) -> Decision:
    why = f"a session named {spec.session} exists that this city did not make; it is left alone"
    alert = of_agent(Trouble.FOREIGN, spec, f"{spec.name} cannot run: {why}")
    return Decision(memory, view(spec, memory, State.BLOCKED, why, None), troubles=(alert,))
