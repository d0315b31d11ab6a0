"""What a screen shows, by the rules: a pure function of a screen.

Two things come first. A program that ended shows its last screen for ever, so nothing is read from
that. And where the input box is, there is no dialog, whatever the text above it quotes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from gascity.screens.box import Found, find_box
from gascity.screens.reading import Kind, Reading
from gascity.screens.resets import parse_reset
from gascity.screens.rules import Pattern, Region, Rule, Rules
from gascity.screens.screen import Screen
from gascity.screens.versions import in_range

_DEAD = re.compile(r"^Pane is dead \(")
_FRAME = " \t\N{NO-BREAK SPACE}│┃║|"  # what stands at both ends of the rows of a framed text


@dataclass(frozen=True, slots=True)
class Trial:
    """How one rule fared on a screen: the row that proves it, or why it does not hold."""

    rule: Rule
    evidence: str | None
    why_not: str = ""


def classify(screen: Screen, rules: Rules, now: float = 0.0) -> Reading:
    """Return what the first rule that holds says. `now` is when the screen was read."""
    found = find_box(screen, rules.box)
    empty = found is None or found.is_empty
    draft = "" if found is None or empty else found.text
    if has_ended(screen):
        return Reading(evidence="its program has ended")
    for trial in trials(screen, rules, found):
        if trial.evidence is not None:
            rule = trial.rule
            return Reading(
                kind=rule.kind,
                rule=rule.name,
                region=rule.region,
                evidence=trial.evidence,
                has_box=found is not None,
                draft=draft,
                policy=rule.policy if rule.kind is Kind.DIALOG else None,
                until=_until(rule, region_rows(screen, rule, rules, found), now),
            )
    blank = not any(screen.rows)
    return Reading(has_box=found is not None, draft=draft, is_blank=blank)


def has_ended(screen: Screen) -> bool:
    """Tell whether the program of this screen is gone; a saved screen may say so itself."""
    return not screen.alive or any(_DEAD.match(row) for row in screen.bottom(1))


def trials(screen: Screen, rules: Rules, found: Found | None) -> Iterator[Trial]:
    """Try every rule in its order."""
    version = _version(screen, rules)
    for rule in rules.rules:
        if rule.box is not None and rule.box is not (found is not None):
            why = "the input box is there" if found is not None else "there is no input box"
            yield Trial(rule, None, why)
        elif version and not in_range(version, rule.versions):
            yield Trial(rule, None, f"it is for versions {rule.versions}, this is {version}")
        else:
            yield _try(rule, region_rows(screen, rule, rules, found))


def region_rows(
    screen: Screen, rule: Rule, rules: Rules, found: Found | None
) -> Sequence[str] | None:
    """Return the rows a rule looks at; None when there is no such region on this screen."""
    match rule.region:
        case Region.SCREEN:
            return screen.rows
        case Region.BOTTOM:
            return _last(screen.rows, rule.lines)
        case Region.TITLE:
            return (screen.title,)
        case Region.TURN:
            return _turn(screen, rules, found, rule.lines)
        case Region.BOX:
            return None if found is None else screen.rows[found.begin : found.end]
        case Region.BENEATH:
            return None if found is None else screen.rows[found.end :]


def _turn(screen: Screen, rules: Rules, found: Found | None, lines: int) -> Sequence[str]:
    end = len(screen.rows) if found is None else found.begin
    begin = 0
    if rules.turn is not None:
        rows = (row for row in range(end - 1, -1, -1) if rules.turn.search(screen.rows[row]))
        begin = next(rows, -1) + 1
    return _last(screen.rows[begin:end], lines)


def _last(rows: Sequence[str], count: int) -> Sequence[str]:
    """Return the last `count` rows that are not empty, and the empty ones between them."""
    begin = len(rows)
    while begin and count:
        begin -= 1
        count -= bool(rows[begin])
    return rows[begin:]


def _try(rule: Rule, rows: Sequence[str] | None) -> Trial:
    if rows is None:
        return Trial(rule, None, f"there is no {rule.region}")
    for pattern in rule.unless:
        against = next((row for row in rows if pattern.search(row)), None)
        if against is not None:
            return Trial(rule, None, f"{_said(against)!r} speaks against it")
    evidence = "" if rule.match else next((_said(row) for row in rows if row), "")
    for pattern in rule.match:
        row = _find(pattern, rows, wrapped=rule.box is False)
        if row is None:
            return Trial(rule, None, f"/{pattern.pattern}/ is not found in {rule.region}")
        evidence = evidence or _said(row)
    return Trial(rule, evidence)


def _said(row: str) -> str:
    """Return the words of a row, without its frame and the blanks between columns."""
    return " ".join(row.strip(_FRAME).split())


def _find(pattern: Pattern, rows: Sequence[str], *, wrapped: bool) -> str | None:
    """Return the row in which a pattern is found; `wrapped`, or else the paragraph.

    A paragraph has lost its column. Where the input box is, the column is what tells a program's
    own words from what they quote, so paragraphs are for screens without one.
    """
    found = next((row for row in rows if pattern.search(row)), None)
    if found is not None or not wrapped:
        return found
    return next((text for text in _paragraphs(rows) if pattern.search(text)), None)


def _paragraphs(rows: Sequence[str]) -> Iterator[str]:
    """Yield what a narrow terminal broke into several rows as one line each, without its frame."""
    words: list[str] = []
    for row in (*rows, ""):
        text = row.strip(_FRAME)
        if text:
            words.append(text)
        elif words:
            yield " ".join(words)
            words = []


def _until(rule: Rule, rows: Sequence[str] | None, now: float) -> float | None:
    if rule.kind is not Kind.LIMITED or rule.resets is None or rows is None:
        return None
    for text in (*reversed(list(_paragraphs(rows))), *reversed(rows)):
        found = rule.resets.search(text)
        until = None if found is None else parse_reset(found["resets"] or "", now)
        if until is not None:
            return until
    return None


def _version(screen: Screen, rules: Rules) -> str:
    if rules.version is None or not any(rule.versions for rule in rules.rules):
        return ""
    for row in screen.rows:
        found = rules.version.search(row)
        if found is not None:
            return found["version"]
    return ""
