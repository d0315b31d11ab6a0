"""What is known of a screen: what it is taken for, by which rule, and what would be done."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from gascity.core.concealing import conceal_rows
from gascity.core.fingerprint import conceal
from gascity.screens.box import find_box
from gascity.screens.classify import Trial, classify, has_ended, trials
from gascity.screens.options import Options, find, read_options
from gascity.screens.reading import Kind, Policy, Reading
from gascity.screens.rules import Rule, Rules
from gascity.screens.screen import Screen


@dataclass(frozen=True, slots=True)
class Seen:
    """A screen, whose it is, and by which rules it is read.

    `agent` is "" for a saved one. `chosen` is what the city wants done about dialogs; `secrets`
    must not be shown.
    """

    agent: str
    backend: str
    screen: Screen
    rules: Rules
    chosen: Mapping[str, str] = field(default_factory=dict)
    secrets: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Account:
    """All there is to say about a screen. `would_choose` is "" where nothing would be chosen."""

    seen: Seen
    reading: Reading
    ended: bool
    rule: Rule | None
    options: Options | None
    policy: Policy | None
    would_choose: str
    trials: tuple[Trial, ...]

    def shown(self, text: str) -> str:
        """Return a text of the screen without secrets."""
        return conceal(text, self.seen.secrets)

    @property
    def rows(self) -> tuple[str, ...]:
        """The rows of the screen without secrets."""
        return conceal_rows(self.seen.screen.rows, self.seen.secrets)


def account(seen: Seen, now: float) -> Account:
    """Read a screen; `now` is when it was seen, in seconds since the epoch."""
    screen, rules = seen.screen, seen.rules
    reading = classify(screen, rules, now)
    ended = has_ended(screen)
    rule = rules.rule(reading.rule)
    options = None if reading.has_box or ended else read_options(screen)
    policy = None
    if rule is not None and rule.kind is Kind.DIALOG:
        policy = rules.policies(seen.chosen)[rule.name]
    return Account(
        seen=seen,
        reading=reading,
        ended=ended,
        rule=rule,
        options=options,
        policy=policy,
        would_choose=_choice(rule, policy, options),
        trials=() if ended else tuple(trials(screen, rules, find_box(screen, rules.box))),
    )


def document(of: Account, *, verbose: bool) -> dict[str, object]:
    """Return the account for programs."""
    seen, reading, rule = of.seen, of.reading, of.rule
    told: dict[str, object] = {
        "agent": seen.agent,
        "backend": seen.backend,
        "kind": reading.kind,
        "rule": reading.rule,
        "source": "" if rule is None else rule.source,
        "region": reading.region,
        "evidence": of.shown(reading.evidence),
        "box": reading.has_box,
        "draft": of.shown(reading.draft),
        "title": of.shown(seen.screen.title),
        "screen": list(of.rows),
        "until": reading.until,
        "dialog": _dialog(of),
    }
    if verbose:
        told["trials"] = [
            {
                "rule": trial.rule.name,
                "kind": trial.rule.kind,
                "region": trial.rule.region,
                "source": trial.rule.source,
                "holds": trial.evidence is not None,
                "why": of.shown(trial.why_not if trial.evidence is None else trial.evidence),
            }
            for trial in of.trials
        ]
    return told


def _dialog(of: Account) -> dict[str, object] | None:
    if of.options is None and of.policy is None:
        return None
    options = of.options.options if of.options is not None else ()
    return {
        "options": [
            {
                "label": of.shown(option.label),
                "number": option.number,
                "selected": of.options is not None and option is of.options.current,
            }
            for option in options
        ],
        "policy": of.policy,
        "would_choose": of.shown(of.would_choose) or None,
        "keys": list(keys_instead(of)),
    }


def keys_instead(of: Account) -> tuple[str, ...]:
    """Return the keys that would be pressed where nothing can be chosen by its label."""
    if of.rule is None or of.policy is not Policy.ACCEPT:
        return ()
    return of.rule.keys if of.options is None or of.rule.accept is None else ()


def _choice(rule: Rule | None, policy: Policy | None, options: Options | None) -> str:
    pattern = answer_of(rule, policy)
    if pattern is None or options is None:
        return ""
    found = find(options, pattern, denying=policy is Policy.DENY)
    return "" if found is None else found.label


def answer_of(rule: Rule | None, policy: Policy | None) -> re.Pattern[str] | None:
    """Return what the label of the option must match that a policy chooses."""
    if rule is None:
        return None
    return {Policy.ACCEPT: rule.accept, Policy.DENY: rule.deny}.get(policy or Policy.ASK)
