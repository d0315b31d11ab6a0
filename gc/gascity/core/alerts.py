"""Troubles that a person should know of, as a plan finds them.

A plan tells of all troubles there are, each time: whoever compares them with those of the plan
before knows which began and which are over. `key` names a trouble, equal for as long as it lasts:
its kind, then the session or the provider it is about, then what sets apart two of the same kind.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from gascity.core.model import AgentSpec


class Severity(StrEnum):
    """How much a trouble matters: good to know, worth a look, or nothing goes on without one."""

    INFO = "info"
    WARNING = "warning"
    CRITICAL = "critical"


@dataclass(frozen=True, slots=True)
class Alert:
    """One trouble, in a sentence; `agent` is "" for one of the city itself.

    `screen` is what the agent shows, where that says more than words.
    """

    key: str
    agent: str
    text: str
    screen: str = ""
    severity: Severity = Severity.CRITICAL


class Trouble(StrEnum):
    """The kinds of trouble that a plan finds: the first part of their keys."""

    QUARANTINE = "quarantine"
    WAITING = "waiting"
    DIALOG = "dialog"
    BLOCKED = "blocked"
    AUTH = "auth"
    LIMITED = "limited"
    STALLED = "stalled"
    UNREADY = "unready"
    FOREIGN = "foreign"
    DRIFT = "drift"
    PENDING = "pending"
    LOST = "lost"
    PROVIDER = "provider"
    MASS_DEATH = "mass-death"


_MILD = frozenset(
    {Trouble.LIMITED, Trouble.STALLED, Trouble.UNREADY, Trouble.DRIFT, Trouble.PENDING}
)


def of_agent(
    kind: Trouble, spec: AgentSpec, text: str, *, about: str = "", screen: str = ""
) -> Alert:
    """Return the trouble of an agent; those of one kind differ by what they are `about`."""
    key = ":".join(part for part in (kind.value, spec.session, about) if part)
    severity = Severity.WARNING if kind in _MILD else Severity.CRITICAL
    return Alert(key, spec.name, text, screen, severity)


def is_planned(key: str) -> bool:
    """Tell whether a trouble is one that every plan tells of for as long as it lasts."""
    return key.partition(":")[0] in _PLANNED


def whose(key: str) -> str:
    """Return the session or provider that a trouble is of; the empty string for the city's."""
    return (*key.split(":"), "")[1]


_PLANNED = frozenset(kind.value for kind in Trouble)
