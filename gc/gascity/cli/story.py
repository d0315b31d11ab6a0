"""The account of a screen for people: the screen in a frame, and one line for each thing known."""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Iterator

from gascity.cli.account import Account, answer_of, keys_instead
from gascity.cli.rulebook import has_rules
from gascity.config.problems import quoted, visible
from gascity.screens.reading import Policy

ROWS = 20  # of the screen, from below


def told(of: Account, *, verbose: bool) -> str:
    """Return the whole text."""
    lines = [*_frame(of), *_facts(of), *_advice(of)]
    if verbose:
        lines += ["", *_tried(of)]
    return "\n".join(line.rstrip() for line in lines) + "\n"


def _frame(of: Account) -> Iterator[str]:
    """Yield the bottom of the screen; an arrow marks the row that matched."""
    rows = of.rows
    row = _matched(of)
    first = max(len(rows) - ROWS, 0)
    if row is not None:
        first = min(first, row)
    left_out = f" rows above: {first}" if first else ""
    yield f"┌──{left_out}"
    for number in range(first, len(rows)):
        mark = "▶" if number == row else "│"
        yield f"{mark} {_cut(_plain(rows[number]))}"
    if not rows:
        yield "│ (nothing)"
    yield "└──"


def _matched(of: Account) -> int | None:
    wanted = of.reading.evidence
    rows = of.seen.screen.rows
    if of.rule is None or of.rule.region == "title" or not wanted:
        return None
    return next((n for n in range(len(rows) - 1, -1, -1) if rows[n].strip() == wanted), None)


def _cut(row: str) -> str:
    """Return a row as wide as the terminal allows; a pipe takes all of it."""
    width = shutil.get_terminal_size().columns - 3
    return row if not sys.stdout.isatty() or len(row) <= width else f"{row[: width - 1]}…"


def _facts(of: Account) -> Iterator[str]:
    reading, rule = of.reading, of.rule
    whose = f"{of.seen.agent} ({of.seen.backend or 'a plain command'})"
    yield fact("agent" if of.seen.agent else "backend", whose if of.seen.agent else of.seen.backend)
    if of.seen.screen.title:
        yield fact("title", quoted(of.shown(of.seen.screen.title)))
    yield fact("kind", _kind(of))
    if rule is not None:
        yield fact("rule", f"{rule.name}, from {rule.source}")
        yield fact("region", _region(of))
        evidence = of.shown(reading.evidence)
        yield fact("evidence", _plain(evidence) if evidence else "the region is there")
    if not of.ended:
        yield fact("input box", _box(of))
    if reading.until is not None:
        when = time.strftime("%Y-%m-%d %H:%M %Z", time.localtime(reading.until))
        yield fact("until", when)
    yield from _dialog(of)


def _kind(of: Account) -> str:
    if of.ended:
        return "none: its program has ended, and this is its last screen"
    if of.reading.kind is not None:
        return str(of.reading.kind)
    if of.reading.is_blank:
        return "none: the screen is empty"
    if not has_rules(of.seen.rules):
        return "none: there are no rules for it"
    return "none: no rule knows this screen"


def _region(of: Account) -> str:
    if of.rule is None or of.rule.region not in ("bottom", "turn"):
        return of.reading.region
    return f"{of.reading.region} ({of.rule.lines} lines)"


def _box(of: Account) -> str:
    if not of.reading.has_box:
        return "not on the screen"
    draft = of.shown(of.reading.draft)
    return f"there, with {quoted(draft)} unsent in it" if draft else "there, empty"


def _dialog(of: Account) -> Iterator[str]:
    for number, option in enumerate(of.options.options if of.options is not None else ()):
        mark = ">" if of.options is not None and option is of.options.current else " "
        digit = "" if option.number is None else f"{option.number}. "
        label = f"{mark} {digit}{_plain(of.shown(option.label))}"
        yield fact("" if number else "options", label)
    if of.policy is None:
        return
    yield fact("policy", f"{of.policy}: {_would(of)}")
    if of.seen.screen.attached and of.policy is not Policy.ASK:
        yield fact("", "somebody is attached, and nothing is pressed while they are")


def _would(of: Account) -> str:
    if of.policy is Policy.ASK:
        attach = f"; `gc attach {of.seen.agent}` to answer it" if of.seen.agent else ""
        return f"a person is told, and nothing is pressed{attach}"
    if of.would_choose:
        return f"{quoted(of.shown(of.would_choose))} would be chosen"
    if keys := keys_instead(of):
        return f"{' '.join(keys)} would be pressed"
    pattern = answer_of(of.rule, of.policy)
    if of.options is None:
        return "nothing would be pressed: no options can be read"
    shown = f"/{pattern.pattern}/" if pattern is not None else "its answer"
    return f"nothing would be pressed: not exactly one option matches {shown}"


def _advice(of: Account) -> Iterator[str]:
    unknown = of.reading.kind is None and not of.ended and not of.reading.is_blank
    if not unknown:
        return
    yield ""
    if of.seen.agent and of.seen.backend:
        yield f"`gc screens learn {of.seen.agent}` makes a rule of this screen"
    elif of.seen.agent:
        yield "a plain command has no rules; a backend, [providers.NAME], can have some"
    else:
        yield f"a rule for it goes into screens/{of.seen.backend}.toml of your city"


def _tried(of: Account) -> Iterator[str]:
    yield "rules in the order they are tried:" if of.trials else "no rules were tried"
    found = False
    for trial in of.trials:
        name = f"  {trial.rule.name} ({trial.rule.kind}, {trial.rule.region})"
        if trial.evidence is None:
            yield f"{name}: no, {_plain(of.shown(trial.why_not))}"
        else:
            yield f"{name}: {'would hold too' if found else 'holds'}"
            found = True


def fact(name: str, text: str) -> str:
    """Return one line of what is known."""
    return f"{name + ':' if name else '':<11}{text}"


def _plain(text: str) -> str:
    return visible(text.replace("\N{NO-BREAK SPACE}", " "))
