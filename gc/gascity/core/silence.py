"""Providers that do not answer.

Their agents are left as they are. A short silence is nobody's concern; a longer one is a trouble.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from gascity.core.alerts import Alert, Trouble
from gascity.core.memory import Memory
from gascity.core.observed import Observed, Unseen

PATIENCE = 30.0


@dataclass(frozen=True, slots=True)
class Silences:
    """Who is silent: the troubles that are, who may become one, and when to look again."""

    troubles: tuple[Alert, ...] = ()
    unsure: frozenset[str] = frozenset()
    wake_at: float | None = None


def mind_silence(observed: Observed, memory: Memory, now: float) -> tuple[Memory, Silences]:
    """Return the memory with since when who is silent, and what follows from that."""
    silent: dict[str, float] = {}
    troubles: list[Alert] = []
    waits: dict[str, float] = {}
    for provider, seen in observed.providers.items():
        if not isinstance(seen, Unseen):
            continue
        silent[provider] = since = min(memory.silent.get(provider, now), now)
        if (over := observed.stood_still.over(since, PATIENCE)) <= now:
            text = f"{provider} has not answered for {PATIENCE:g} s: {seen.reason}"
            key = f"{Trouble.PROVIDER.value}:{provider}"
            troubles.append(Alert(key, "", f"{text}; its agents are left alone"))
        else:
            waits[provider] = over
    if silent != memory.silent:
        memory = replace(memory, silent=silent)
    found = Silences(tuple(troubles), frozenset(waits), min(waits.values(), default=None))
    return memory, found
