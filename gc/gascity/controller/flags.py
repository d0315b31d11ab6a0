"""The flags that stand with a session: asked to drain, has drained, wants to be replaced.

Each flag holds the run it is meant for, so that one which comes too late means nothing to the next
incarnation. Everything here asks the provider; the controller then acts on what it sees.
"""

from __future__ import annotations

from gascity.agent import TIMEOUT
from gascity.core.draining import asked
from gascity.core.observed import (
    CITY_ID,
    DRAINED,
    RESTART_REQUESTED,
    Alive,
    SessionState,
)
from gascity.errors import GascityError, NotRunning, SessionNotFound
from gascity.session.provider import SessionProvider


def should_drain(state: SessionState, run: str) -> bool:
    """Tell whether the incarnation `run` should drain: so should one that another has replaced."""
    return asked(state) or run != state.run


def living(provider: SessionProvider, session: str, agent: str) -> SessionState:
    """Return how the agent's session stands. Raises NotRunning."""
    state = provider.observe(timeout=TIMEOUT).get(session)
    mine = state is not None and state.meta.get(CITY_ID) == provider.context.city_id
    if state is None or not mine or not isinstance(state.life, Alive):
        raise not_running(agent)
    return state


def acknowledge(provider: SessionProvider, session: str, agent: str, run: str = "") -> str:
    """Note that the incarnation has drained, and return it; `run` is the one that says so.

    Raises GascityError, and touches nothing, when it is not the one that lives or was not asked to.
    """
    state = _the_one(provider, session, agent, run)
    if not asked(state):
        raise GascityError(
            f"{agent} was not asked to drain", hint="`gc drain-check` ends with 0 when it is"
        )
    _set(provider, session, agent, DRAINED, state.run)
    return state.run


def request_restart(provider: SessionProvider, session: str, agent: str, run: str = "") -> str:
    """Note that the incarnation wants to be replaced, and return it.

    Raises GascityError, and touches nothing, when it is not the one that lives or has to drain.
    """
    state = _the_one(provider, session, agent, run)
    if asked(state):
        raise GascityError(
            f"{agent} is asked to drain, so it is not replaced",
            hint="`gc drain-ack` says that its work is done",
        )
    _set(provider, session, agent, RESTART_REQUESTED, state.run)
    return state.run


def not_running(agent: str) -> NotRunning:
    """Return the error for an agent that does not run."""
    return NotRunning(f"{agent} is not running", hint="`gc status` tells why")


def _the_one(provider: SessionProvider, session: str, agent: str, run: str) -> SessionState:
    state = living(provider, session, agent)
    if run and run != state.run:
        raise GascityError(
            f"{agent} lives as run {state.run} now, and this is {run}: nothing was changed",
            hint="what is left of an earlier incarnation should end",
        )
    return state


def _set(provider: SessionProvider, session: str, agent: str, key: str, run: str) -> None:
    try:
        provider.set_meta(session, key, run, timeout=TIMEOUT)
    except SessionNotFound as problem:
        raise not_running(agent) from problem
