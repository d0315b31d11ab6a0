"""A screen without the secrets of its agent: what is printed or written never holds one."""

from __future__ import annotations

import os

from gascity.core.fingerprint import secret_values
from gascity.core.model import AgentSpec


def secrets_of(spec: AgentSpec) -> tuple[str, ...]:
    """Return the values of an agent's environment that must not be shown, as far as known here."""
    passed = {key: os.environ.get(key, "") for key in spec.pass_env}
    return secret_values({**passed, **spec.env})
