"""Asking one provider what there is, and turning every kind of silence into `Unseen`."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from dataclasses import replace

from gascity import awake
from gascity.controller.clock import Clock
from gascity.core.decision import is_away
from gascity.core.model import AgentSpec
from gascity.core.observed import Alive, Observation, Seen, SessionState, Unseen
from gascity.errors import GascityError
from gascity.session.provider import SessionProvider

TIMEOUT = 5.0
NEWBORN = 30.0  # a launcher may take this long until the agent's own process shows


def look(provider: SessionProvider, specs: Iterable[AgentSpec]) -> Observation:
    """Return what `provider` sees, with the second layer of liveness asked where there is one.

    One that did not answer while the machine stood still had no time for that: it is asked again.
    """
    specs, began = list(specs), awake.elapsed()
    seen = _look(provider, specs)
    if isinstance(seen, Unseen) and any(ended > began for _, ended in awake.standstills()):
        return _look(provider, specs)
    return seen


def _look(provider: SessionProvider, specs: Iterable[AgentSpec]) -> Observation:
    try:
        sessions = of_this_machine(provider, provider.observe(timeout=TIMEOUT))
        _ask_for_processes(provider, sessions, specs)
    except GascityError as problem:
        return Unseen(problem.message)
    except Exception as problem:  # noqa: BLE001  a provider is foreign code: its bug is an outage
        return Unseen(f"it failed with {type(problem).__name__}: {problem}")
    return Seen(sessions)


def of_this_machine(
    provider: SessionProvider, sessions: Mapping[str, SessionState]
) -> dict[str, SessionState]:
    """Return the sessions without the processes of other machines: here they are somebody else."""
    if provider.is_local:
        return dict(sessions)
    return {name: replace(state, process=None) for name, state in sessions.items()}


def _ask_for_processes(
    provider: SessionProvider,
    sessions: dict[str, SessionState],
    specs: Iterable[AgentSpec],
) -> None:
    wanted = {
        spec.session: spec.hints.process_names
        for spec in specs
        if spec.hints.process_names
        and (state := sessions.get(spec.session)) is not None
        and isinstance(state.life, Alive)
        and not is_away(state)
        and not _newborn(state)
    }
    if wanted:
        for name, alive in provider.processes_alive(wanted, timeout=TIMEOUT).items():
            if not alive:
                sessions[name] = replace(sessions[name], agent_alive=False)


def _newborn(state: SessionState) -> bool:
    """Tell whether it is young on the clock that its time of creation was read from."""
    if state.created is None:
        return False
    grown = Clock().standstills().over(state.created, NEWBORN)
    return state.created - NEWBORN < time.time() < grown


def seen_sessions(observations: Mapping[str, Observation]) -> dict[str, SessionState]:
    """Return all sessions that were seen, by name."""
    return {
        name: state
        for seen in observations.values()
        if isinstance(seen, Seen)
        for name, state in seen.sessions.items()
    }
