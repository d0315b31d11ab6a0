"""One agent: what to do about it now.

`decide` looks at one spec, at what its provider saw of its session, and at what is remembered. It
never looks at another agent: the order among agents, pools and orphans are `plan`'s.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from gascity.core import restarts
from gascity.core.actions import Action, Alert, Drain, Event, EventType, Start, Stop, Undrain
from gascity.core.doing import doing
from gascity.core.memory import AgentMemory, incarnate, not_later, pardon
from gascity.core.model import AgentSpec
from gascity.core.nudges import QueuedNudge
from gascity.core.observed import (
    CITY_ID,
    CONFIG_HASH,
    DRAIN,
    DRAINED,
    READY,
    RESTART_REQUESTED,
    STARTING,
    Alive,
    Exited,
    SessionState,
    Shown,
)
from gascity.core.views import AgentView, State
from gascity.screens.reading import Kind


@dataclass(frozen=True, slots=True)
class Wanted:
    """The agent should run."""


@dataclass(frozen=True, slots=True)
class Unwanted:
    """The agent should not run, shown as `state` because of `why`."""

    state: State
    why: str


@dataclass(frozen=True, slots=True)
class Surplus:
    """The agent may finish its work, but is not needed: it drains, at most `patience` seconds."""

    why: str
    patience: float


Wish = Wanted | Unwanted | Surplus


@dataclass(frozen=True, slots=True)
class Decision:
    """What to do about one agent, what to remember, how it stands, and when to look again."""

    memory: AgentMemory
    view: AgentView
    actions: tuple[Action, ...] = ()
    events: tuple[Event, ...] = ()
    wake_at: float | None = None


def decide(
    spec: AgentSpec,
    wish: Wish,
    state: SessionState | None,
    memory: AgentMemory,
    *,
    city_id: str,
    waits_for: str,
    now: float,
    shown: Shown | None = None,
    queued: QueuedNudge | None = None,
) -> Decision:
    """Decide about an agent whose provider answered and whose session nobody is busy with."""
    if state is not None and state.meta.get(CITY_ID) != city_id:
        return Decision(memory, _foreign(spec, memory))
    if memory.fingerprint != spec.fingerprint:
        memory = pardon(memory) if memory.fingerprint else memory
        memory = replace(memory, fingerprint=spec.fingerprint)
    memory = not_later(memory, now)
    memory, events = _take_note(spec, wish, state, memory, now)
    lives = state is not None and _lives(state)
    match wish:
        case Unwanted():
            decision = _unwanted(spec, wish, state, memory)
        case Surplus() if lives and state is not None:
            decision = _surplus(spec, wish, state, memory, now)
        case Surplus():
            decision = _unwanted(spec, Unwanted(State.STOPPED, wish.why), state, memory)
        case Wanted() if lives and state is not None:
            decision = _living(spec, state, memory, now, shown, queued)
        case Wanted():
            decision = _dead(spec, state, memory, waits_for, now)
    return replace(decision, events=(*events, *decision.events)) if events else decision


def _lives(state: SessionState) -> bool:
    return isinstance(state.life, Alive) and state.agent_alive


def _take_note(
    spec: AgentSpec, wish: Wish, state: SessionState | None, memory: AgentMemory, now: float
) -> tuple[AgentMemory, tuple[Event, ...]]:
    """Learn from what is seen: an incarnation taken up, or an end that was not counted yet."""
    if state is not None and _lives(state):
        if memory.run == state.run and memory.provider == spec.provider:
            return memory, ()
        adopted = incarnate(memory, state.run, spec.provider)
        event = _event(EventType.SESSION_ADOPTED, spec, state.run, "it was running already")
        return adopted, (event,)
    ended = state.run if state is not None else memory.run
    if not ended or ended == memory.counted:
        return (replace(memory, run="") if memory.run else memory), ()
    memory = replace(memory, run="", counted=ended, drift_since=None)
    how = _how(state)
    if not isinstance(wish, Wanted) or (state is not None and _was_draining(state)):
        return memory, (_event(EventType.SESSION_STOPPED, spec, ended, f"{how}, as it was to"),)
    memory = replace(memory, ended_at=now, last_end=how)
    return memory, (_event(EventType.SESSION_CRASHED, spec, ended, how),)


def _was_draining(state: SessionState) -> bool:
    return state.run in (state.meta.get(DRAIN), state.meta.get(DRAINED))


def _how(state: SessionState | None) -> str:
    match state:
        case None:
            return "the session is gone, nobody saw how"
        case SessionState(life=Exited() as end):
            return str(end)
        case SessionState():
            return "the session lives, but none of the agent's processes does"


def _unwanted(
    spec: AgentSpec, wish: Unwanted, state: SessionState | None, memory: AgentMemory
) -> Decision:
    view = _view(spec, memory, wish.state, wish.why, state)
    if state is None:
        return Decision(memory, view)
    stop = Stop(spec.session, spec.provider, spec.name, wish.why)
    return Decision(replace(memory, counted=state.run), view, (stop,))


def _surplus(
    spec: AgentSpec, wish: Surplus, state: SessionState, memory: AgentMemory, now: float
) -> Decision:
    since = memory.drain_since if memory.drain_since is not None else now
    memory = replace(memory, drain_since=since)
    until = since + wish.patience if wish.patience > 0 else None
    if state.meta.get(DRAINED) == state.run:
        return _unwanted(
            spec, Unwanted(State.DRAINING, f"{wish.why}; it has drained"), state, memory
        )
    if until is not None and until <= now:
        why = f"{wish.why}; it did not drain within {wish.patience:g} s"
        return _unwanted(spec, Unwanted(State.DRAINING, why), state, memory)
    view = _view(spec, memory, State.DRAINING, wish.why, state, next_at=until)
    if state.meta.get(DRAIN) == state.run:
        return Decision(memory, view, wake_at=until)
    drain = Drain(spec.session, spec.provider, spec.name, state.run, wish.why)
    return Decision(memory, view, (drain,), wake_at=until)


def _living(
    spec: AgentSpec,
    state: SessionState,
    memory: AgentMemory,
    now: float,
    shown: Shown | None,
    queued: QueuedNudge | None,
) -> Decision:
    if memory.ended_at is not None or memory.drain_since is not None:
        memory = replace(memory, ended_at=None, drain_since=None)
    if memory.recycle and memory.recycle == state.run:
        return _replace(spec, state, memory, "a person asked for it")
    if state.run and state.meta.get(RESTART_REQUESTED) == state.run:
        return _replace(spec, state, memory, "the agent asked for it")
    if state.run and state.meta.get(STARTING) == state.run:
        return _replace(spec, state, memory, "its start was cut off")
    if state.meta.get(CONFIG_HASH) != spec.fingerprint:
        return _drifted(spec, state, memory, now, shown)
    if memory.drift_since is not None:
        memory = replace(memory, drift_since=None)
    found, memory = doing(spec, state, shown, queued, memory, now)
    late = "it never showed its prompt" if shown is None and _never_ready(state) else ""
    view = _view(spec, memory, found.state, found.reason or late, state, next_at=found.next_at)
    if state.run and state.meta.get(DRAIN) == state.run:
        alerts = tuple(action for action in found.actions if isinstance(action, Alert))
        if spec.pool:
            undrain = Undrain(spec.session, spec.provider, spec.name, "it is needed again")
            return Decision(memory, view, (undrain, *alerts))
        view = replace(view, state=State.DRAINING, reason="asked to drain")
        return Decision(memory, view, alerts, wake_at=found.wake_at)
    return Decision(memory, view, found.actions, wake_at=found.wake_at)


def _never_ready(state: SessionState) -> bool:
    return state.meta.get(READY) == "timeout"


def _drifted(
    spec: AgentSpec,
    state: SessionState,
    memory: AgentMemory,
    now: float,
    shown: Shown | None,
) -> Decision:
    since = memory.drift_since if memory.drift_since is not None else now
    until = since + spec.drift_patience
    works = shown is not None and shown.reading.kind is Kind.WORKING
    if (state.attached or works) and until > now:
        memory = replace(memory, drift_since=since)
        reason = "somebody is attached" if state.attached else "it is working"
        why = f"its configuration changed; {reason}, so it waits"
        view = _view(spec, memory, State.READY, why, state, next_at=until, drift=True)
        return Decision(memory, view, wake_at=until)
    return _replace(spec, state, memory, "its configuration changed")


def _replace(spec: AgentSpec, state: SessionState, memory: AgentMemory, why: str) -> Decision:
    memory = replace(memory, counted=state.run, drift_since=None)
    view = _view(spec, memory, State.STARTING, why, None)
    stop = Stop(spec.session, spec.provider, spec.name, why)
    return Decision(memory, view, (stop, Start(spec, why)))


def _dead(
    spec: AgentSpec,
    state: SessionState | None,
    memory: AgentMemory,
    waits_for: str,
    now: float,
) -> Decision:
    verdict = _verdict(spec, memory, now)
    match verdict:
        case restarts.Quarantine(until):
            return _quarantined(spec, state, memory, until)
        case restarts.Wait(until):
            view = _view(spec, memory, State.BACKOFF, _past(memory), state, next_at=until)
            return Decision(memory, view, wake_at=until)
        case restarts.Now():
            pass
    events: tuple[Event, ...] = ()
    if memory.quarantined:
        memory = replace(memory, quarantined=False)
        events = (_event(EventType.AGENT_RELEASED, spec, "", "the quarantine is over"),)
    if waits_for:
        view = _view(spec, memory, State.STARTING, f"waits for {waits_for}", state)
        return Decision(memory, view, events=events)
    why = _past(memory) or "wanted by the city"
    if memory.ended_at is not None:
        memory = replace(
            memory,
            restarts=(*restarts.recent(memory.restarts, spec.restarts.window, now), now),
            total_restarts=memory.total_restarts + 1,
            ended_at=None,
        )
    view = _view(spec, memory, State.STARTING, why, None)
    ended = state.run if state is not None else ""
    start = Start(spec, why, ended_run=ended)
    if state is None or isinstance(state.life, Exited):
        return Decision(memory, view, (start,), events)
    clear = Stop(spec.session, spec.provider, spec.name, why)
    return Decision(memory, view, (clear, start), events)


def _verdict(spec: AgentSpec, memory: AgentMemory, now: float) -> restarts.Verdict:
    """Take the stricter of what crashes and failed starts allow."""
    failed = restarts.after_failures(memory.failures, spec.restarts, now, spec.session)
    if memory.ended_at is None:
        return failed
    crashed = restarts.after_crash(
        memory.restarts, memory.ended_at, spec.restarts, now, spec.session
    )
    strictness = {restarts.Now: 0, restarts.Wait: 1, restarts.Quarantine: 2}
    return max(crashed, failed, key=lambda verdict: strictness[type(verdict)])


def _quarantined(
    spec: AgentSpec, state: SessionState | None, memory: AgentMemory, until: float
) -> Decision:
    why = f"{_past(memory)}, too often: {spec.restarts.max_restarts} restarts are used up"
    quiet = memory.quarantined
    memory = replace(memory, quarantined=True)
    view = _view(spec, memory, State.QUARANTINED, why, state, next_at=until)
    if quiet:
        return Decision(memory, view, wake_at=until)
    event = _event(EventType.AGENT_QUARANTINED, spec, memory.counted, why)
    alert = Alert(f"quarantine:{spec.session}", spec.name, f"{spec.name} is quarantined: {why}")
    return Decision(memory, view, (alert,), (event,), wake_at=until)


def _past(memory: AgentMemory) -> str:
    if memory.last_failure and memory.failures:
        return f"the start failed: {memory.last_failure}"
    return f"it crashed: {memory.last_end}" if memory.ended_at is not None else ""


def _foreign(spec: AgentSpec, memory: AgentMemory) -> AgentView:
    why = f"a session named {spec.session} exists that this city did not make; it is left alone"
    return _view(spec, memory, State.BLOCKED, why, None)


def _view(
    spec: AgentSpec,
    memory: AgentMemory,
    state: State,
    reason: str,
    session: SessionState | None,
    *,
    next_at: float | None = None,
    drift: bool = False,
) -> AgentView:
    lives = session is not None and _lives(session)
    return AgentView(
        name=spec.name,
        session=spec.session,
        provider=spec.provider,
        state=state,
        reason=reason,
        pid=session.process.pid if session and lives and session.process else None,
        run=session.run if session else "",
        since=session.created if session and lives else None,
        restarts=memory.total_restarts,
        fingerprint=spec.fingerprint,
        drift=drift,
        attached=session.attached if session else 0,
        next_at=next_at,
    )


def _event(kind: EventType, spec: AgentSpec, run: str, message: str) -> Event:
    return Event(kind, spec.name, spec.session, run, message)
