"""What an agent seems to be doing, read from its screen.

A reading names the rule it comes from and the line that rule matched, so that everything decided
on it can be explained.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Kind(StrEnum):
    """What a screen can show."""

    READY = "ready"  # the input box, and nothing going on
    WORKING = "working"
    WAITING = "waiting"  # for a person: to allow something, to answer a question
    LIMITED = "limited"  # the account's limit is used up
    AUTH = "auth"  # nobody is logged in
    ERROR = "error"  # the last turn failed, and the agent waits for the next
    DIALOG = "dialog"  # a question that a rule knows how to answer


class Policy(StrEnum):
    """What to do about a dialog."""

    ACCEPT = "accept"
    DENY = "deny"
    ASK = "ask"  # tell a person, and wait


@dataclass(frozen=True, slots=True)
class Reading:
    """What one screen was taken for. `kind` is None when no rule matched.

    `has_box` says that the agent's input box is on the screen, `draft` what stands unsent in it.
    `policy` is what a dialog's rule says to do about it. `until` is when a limit ends, in seconds
    since the epoch; None when the screen does not say. `is_blank` says that there is nothing at
    all to read.
    """

    kind: Kind | None = None
    rule: str = ""
    region: str = ""
    evidence: str = ""
    has_box: bool = False
    draft: str = ""
    policy: Policy | None = None
    until: float | None = None
    is_blank: bool = False

    @property
    def is_unknown(self) -> bool:
        """Whether there is something to be read that no rule knows, and no input box."""
        return self.kind is None and not self.has_box and not self.is_blank

    @property
    def matters(self) -> tuple[object, ...]:
        """What a decision can depend on: the same when only a count of seconds differs."""
        evidence = "" if self.kind is Kind.WORKING else self.evidence
        return (self.kind, self.rule, evidence, self.has_box, self.draft, self.is_blank)
