"""An agent that should run and does not: when it may be started again, and how often.

Crashes and failed starts are counted apart, and the stricter of the two counts. What ended because
its limit was used up or its login was over did not crash: it waits until that may have passed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from gascity.core import restarts
from gascity.core.actions import Event, EventType, Start, Stop
from gascity.core.alerts import Trouble, of_agent
from gascity.core.decision import Decision, Permit, event, view
from gascity.core.memory import AgentMemory, Excuse
from gascity.core.model import AgentSpec, RestartPolicy
from gascity.core.observed import Exited, SessionState
from gascity.core.views import AgentView, State

WANTED = "wanted by the city"
HOUR = 3600.0
BRAKED = 1.0  # seconds after which it is asked again whether there is a place
_EXCUSED: Mapping[str, tuple[State, Trouble, str]] = {
    Excuse.LIMITED: (State.LIMITED, Trouble.LIMITED, "it ended when its limit was used up"),
    Excuse.AUTH: (State.AUTH, Trouble.AUTH, "it ended when it was not logged in"),
}


def dead(
    spec: AgentSpec, state: SessionState | None, memory: AgentMemory, permit: Permit, now: float
) -> Decision:
    """Decide about an agent that should run and does not."""
    if memory.resume_at is not None and memory.resume_at > now:
        return _excused(spec, state, memory, memory.resume_at)
    match _verdict(spec, memory, now):
        case restarts.Quarantine(until):
            return _quarantined(spec, state, memory, until, now)
        case restarts.Wait(until):
            seen = view(spec, memory, State.BACKOFF, _past(memory), state, next_at=until)
            return Decision(memory, seen, wake_at=until)
        case restarts.Now():
            pass
    events: tuple[Event, ...] = ()
    if memory.quarantined:
        memory = replace(memory, quarantined=False)
        events = (event(EventType.AGENT_RELEASED, spec, "", "the quarantine is over"),)
    if permit.waits_for:
        seen = view(spec, memory, State.STARTING, f"waits for {permit.waits_for}", state)
        return Decision(memory, seen, events=events)
    if memory.ended_at is not None and not permit.restarts:
        why = f"{_past(memory)}; many died at once, so they come back a few at a time"
        seen = view(spec, memory, State.BACKOFF, why, state)
        return Decision(memory, seen, events=events, wake_at=now + BRAKED)
    return _start(spec, state, memory, events, now)


def _start(
    spec: AgentSpec,
    state: SessionState | None,
    memory: AgentMemory,
    events: tuple[Event, ...],
    now: float,
) -> Decision:
    why = _past(memory) or WANTED
    if memory.ended_at is not None:
        memory = replace(
            memory,
            restarts=(*restarts.recent(memory.restarts, spec.restarts.window, now), now),
            total_restarts=memory.total_restarts + 1,
            ended_at=None,
        )
    if memory.resume_at is not None:
        memory = replace(memory, resume_at=None, excuse="")
    seen = view(spec, memory, State.STARTING, why, None)
    start = Start(spec, why, ended_run=state.run if state is not None else "")
    if state is None or isinstance(state.life, Exited):
        return Decision(memory, seen, (start,), events, blind=True)
    clear = Stop(spec.session, spec.provider, spec.name, why, run=state.run)
    return Decision(memory, seen, (clear, start), events, blind=True)


def _excused(
    spec: AgentSpec, state: SessionState | None, memory: AgentMemory, until: float
) -> Decision:
    known = _EXCUSED.get(memory.excuse)
    if known is None:
        why = "it ended, and that was no crash"
        seen = view(spec, memory, State.BACKOFF, why, state, next_at=until)
        return Decision(memory, seen, wake_at=until)
    shown, trouble, why = known
    seen = view(spec, memory, shown, why, state, next_at=until)
    alert = of_agent(trouble, spec, f"{spec.name} needs a person: {why}")
    return Decision(memory, seen, wake_at=until, troubles=(alert,))


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
    spec: AgentSpec, state: SessionState | None, memory: AgentMemory, until: float, now: float
) -> Decision:
    why = f"{_past(memory)}, too often: {_too_often(spec.restarts, memory, now)}"
    quiet = memory.quarantined
    memory = replace(memory, quarantined=True)
    seen = view(spec, memory, State.QUARANTINED, why, state, next_at=until)
    events = () if quiet else (event(EventType.AGENT_QUARANTINED, spec, memory.counted, why),)
    alert = of_agent(Trouble.QUARANTINE, spec, f"{spec.name} is quarantined: {why}")
    return Decision(memory, seen, (), events, wake_at=until, troubles=(alert,))


def _too_often(policy: RestartPolicy, memory: AgentMemory, now: float) -> str:
    """Say how many there were of what is counted: starts that failed, else restarts."""
    most, failed = policy.max_restarts, len(restarts.recent(memory.failures, policy.window, now))
    if failed > most:
        return f"{failed} starts failed"
    return "1 restart is used up" if most == 1 else f"{most} restarts are used up"


def foretold(
    events: tuple[Event, ...], spec: AgentSpec, memory: AgentMemory, then: Decision, now: float
) -> tuple[Event, ...]:
    """Return the events; the detail of a crash is what follows, and how often it was so."""
    if not any(event.type is EventType.SESSION_CRASHED for event in events):
        return events
    match then.view:
        case AgentView(state=State.BACKOFF, next_at=float(until)):
            left = max(until - now, 0.1)
            after = f"starts again in {left:.{0 if left >= 10 else 1}f} s"
        case AgentView(state=State.STARTING) if then.actions:
            after = "starts again at once"
        case _:  # what it waits for is an event of its own, or shown
            after = ""
    count = len(restarts.recent(memory.restarts, spec.restarts.window, now)) + 1
    window = spec.restarts.window
    within = "this hour" if window == HOUR else f"within {window:g} s"
    often = f"({_ordinal(count)} time {within})" if count > 1 else ""
    return tuple(
        replace(event, detail=f"{after} {often}".strip())
        if event.type is EventType.SESSION_CRASHED
        else event
        for event in events
    )


def _ordinal(number: int) -> str:
    teen = number % 100 in (11, 12, 13)
    return f"{number}{'th' if teen else {1: 'st', 2: 'nd', 3: 'rd'}.get(number % 10, 'th')}"


def _past(memory: AgentMemory) -> str:
    if memory.last_failure and memory.failures:
        return f"the start failed: {memory.last_failure}"
    return f"it crashed: {memory.last_end}" if memory.ended_at is not None else ""
