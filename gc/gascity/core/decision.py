"""What is decided about one agent, in the words that all who decide share."""

from __future__ import annotations

from dataclasses import dataclass, replace

from gascity.core.actions import Action, Event, EventType, Start, Stop
from gascity.core.alerts import Alert
from gascity.core.memory import AgentMemory
from gascity.core.model import AgentSpec
from gascity.core.observed import Alive, SessionState, Standing
from gascity.core.views import AgentView, State


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
    """The agent may finish its work, but is not needed: it drains, at most `patience` seconds.

    No patience is no limit. `gone` says why it is down afterwards.
    """

    why: str
    patience: float
    gone: str = ""


Wish = Wanted | Unwanted | Surplus


@dataclass(frozen=True, slots=True)
class Permit:
    """What an agent may do now as far as the others are concerned.

    `waits_for` names what must be up before it is started. It may be restarted after a crash if
    it `restarts`, and replaced because of its configuration if it `rolls`.
    """

    waits_for: str = ""
    restarts: bool = True
    rolls: bool = True


FREE = Permit()


@dataclass(frozen=True, slots=True)
class Decision:
    """What to do about one agent, what to remember, how it stands, and when to look again.

    `troubles` are all that a person should know of it; a decision that is `blind` does not know
    them all, and those there were before may last.
    """

    memory: AgentMemory
    view: AgentView
    actions: tuple[Action, ...] = ()
    events: tuple[Event, ...] = ()
    wake_at: float | None = None
    troubles: tuple[Alert, ...] = ()
    blind: bool = False


def lives(state: SessionState) -> bool:
    """Tell whether the session runs, and the agent in it."""
    return isinstance(state.life, Alive) and state.agent_alive


def is_away(state: SessionState) -> bool:
    """Tell whether the session exists and is not up: it is pending, lost, or about to end."""
    return isinstance(state.life, Alive) and state.standing is not Standing.UP


def is_up(state: SessionState) -> bool:
    """Tell whether the agent lives, and where it can be worked with."""
    return lives(state) and not is_away(state)


def stopped(
    spec: AgentSpec, wish: Unwanted, state: SessionState | None, memory: AgentMemory
) -> Decision:
    """End what is there of an agent that should not run."""
    memory = replace(memory, rolling="") if memory.rolling else memory
    seen = view(spec, memory, wish.state, wish.why, state)
    if state is None:
        return Decision(memory, seen)
    stop = Stop(spec.session, spec.provider, spec.name, wish.why, run=state.run)
    return Decision(replace(memory, counted=state.run), seen, (stop,))


def replaced(
    spec: AgentSpec,
    state: SessionState,
    memory: AgentMemory,
    why: str,
    *,
    gentle: bool = False,
) -> Decision:
    """Put a new incarnation in the place of one that lives."""
    memory = replace(memory, counted=state.run, drain_since=None)
    stop = Stop(spec.session, spec.provider, spec.name, why, gentle, state.run)
    seen = view(spec, memory, State.STARTING, why, None)
    return Decision(memory, seen, (stop, Start(spec, why)))


def view(
    spec: AgentSpec,
    memory: AgentMemory,
    state: State,
    reason: str,
    session: SessionState | None,
    *,
    next_at: float | None = None,
    drift: bool = False,
) -> AgentView:
    """Return how an agent stands."""
    pending = session is not None and session.standing is Standing.PENDING
    alive = session is not None and lives(session) and not pending
    return AgentView(
        name=spec.name,
        session=spec.session,
        provider=spec.provider,
        state=state,
        reason=reason,
        pid=session.process.pid if session and alive and session.process else None,
        run=session.run if session else "",
        since=session.created if session and alive else None,
        restarts=memory.total_restarts,
        failures=memory.total_failures,
        requests=memory.total_requests,
        fingerprint=spec.fingerprint,
        drift=drift,
        attached=session.attached if session else 0,
        next_at=next_at,
        muted_until=memory.muted_until,
        terminal=session is None or session.terminal,
    )


def event(kind: EventType, spec: AgentSpec, run: str, message: str) -> Event:
    """Return what happened to an agent."""
    return Event(kind, spec.name, spec.session, run, message)
