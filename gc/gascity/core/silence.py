"""Providers that do not answer.

Their agents are left as they are. A short silence is nobody's concern; of a longer one a person is
told, once.
"""

from __future__ import annotations

from dataclasses import replace

from gascity.core.actions import Alert
from gascity.core.memory import Memory, Silence
from gascity.core.observed import Observed, Unseen

PATIENCE = 30.0


def mind_silence(
    observed: Observed, memory: Memory, now: float
) -> tuple[Memory, tuple[Alert, ...], float | None]:
    """Return the memory with who is silent, what has to be said, and when to look again."""
    silent: dict[str, Silence] = {}
    alerts: list[Alert] = []
    wakes: list[float] = []
    for provider, seen in observed.providers.items():
        if not isinstance(seen, Unseen):
            continue
        known = memory.silent.get(provider, Silence(now))
        known = replace(known, since=min(known.since, now))
        if not known.told and known.since + PATIENCE <= now:
            text = f"{provider} has not answered for {PATIENCE:g} s: {seen.reason}"
            alerts.append(Alert(f"provider:{provider}", "", f"{text}; its agents are left alone"))
            known = replace(known, told=True)
        if not known.told:
            wakes.append(known.since + PATIENCE)
        silent[provider] = known
    if silent != memory.silent:
        memory = replace(memory, silent=silent)
    return memory, tuple(alerts), min(wakes, default=None)
