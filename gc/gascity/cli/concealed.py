"""A screen without the secrets of its agent: what is printed or written never holds one.

The city file and this shell may have other values than the agent was started with. Those are in its
process, as long as it lives.
"""

from __future__ import annotations

import os

from gascity.core.fingerprint import secret_values
from gascity.core.model import AgentSpec
from gascity.core.observed import SessionState
from gascity.session import processes
from gascity.session.provider import SessionProvider


def secrets_of(spec: AgentSpec | None, state: SessionState | None) -> tuple[str, ...]:
    """Return the values of an agent's environment that must not be shown, longest first.

    `spec` is None for one that is not declared, `state` for one that does not run.
    """
    known: set[str] = set()
    if spec is not None:
        passed = {key: os.environ.get(key, "") for key in spec.pass_env}
        known.update(secret_values({**passed, **spec.env}))
    if state is not None and state.process is not None:
        known.update(secret_values(processes.environment(state.process)))
    return tuple(sorted(known, key=len, reverse=True))


def secrets_now(spec: AgentSpec, provider: SessionProvider, *, timeout: float) -> tuple[str, ...]:
    """Return `secrets_of` an agent as it runs now.

    Ask before you look at its screen: of one that has ended meanwhile, nobody knows them. Raises
    ProviderUnavailable.
    """
    found = provider.observe(timeout=timeout).get(spec.session)
    return secrets_of(spec, found if provider.is_local else None)
