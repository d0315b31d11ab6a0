"""Dialogs at random: what one may look like, what it asks, and which option is the right one."""

from __future__ import annotations

import random
import re
from dataclasses import dataclass

from tests.zoo.dialogs import QUESTION, Spec

from gascity.screens.reading import Kind, Policy
from gascity.screens.rules import Box, Region, Rule, Rules

GLYPHS = "❯›>●▶▸→»◉◆*"  # noqa: RUF001 - the glyphs of real tools
NUMBERS = ("", "{}.", "{})", "({})")
SUFFIXES = ("", "", "", " (recommended)", " ✔", " and do not ask again", " 👍", " · esc")
LONG = " in this session and in all those that come after it in the same folder"
PREFIXES = ("", "", "", "", "✔ ", "👉 ", "[a] ")

# What is wanted, and what stands beside it. None of the second matches the first.
ASKED = (
    ("Yes, I accept", ("No, exit", "No, I do not say: Yes, I accept", "Ask me later")),
    (
        "I accept",
        ("No, I do not accept", "I don't say that I accept", "Never say I accept", "Quit"),
    ),
    ("Yes, I trust this folder", ("No, exit", "Trust nothing", "Show me the folder")),
    (
        "Yes, I have read all of the above and I trust this folder",
        ("No, I have read all of the above and I leave", "Yes, I have read it and I leave"),
    ),
    ("Trust folder", ("Trust parent folder (home)", "Don't Trust folder (work)", "Leave")),
    ("Trust and continue", ("Back to the list", "Don’t trust", "Quit")),  # noqa: RUF001 - as real
    ("はい、信頼します", ("いいえ", "終了 (exit)", "後で")),
    ("Allow once", ("Allow always", "No, suggest changes (esc)", "Never allow once")),
)
REFUSED = (
    ("No, exit", ("Yes, I accept", "Yes, and exit later", "Ask me later")),
    ("No", ("Yes", "Yes, and say no more", "Show me more")),
    ("Don't trust", ("Trust folder (work)", "Trust parent folder (home)")),
)
QUOTES = (
    (),
    (),
    ("● I saw this dialog:", "  ❯ 1. Yes, I accept", "    2. No, exit", ""),  # noqa: RUF001 - as real
    ("> Trust folder", "  Don't trust", "", "That is what it said."),
    ("1. Create a file", "2. No, exit", "3. Be specific", ""),
    ("", "* one", "* two", "* Yes, I accept", ""),
)


@dataclass(frozen=True)
class Case:
    """A dialog and the one right answer; `is_clear` when a person could tell it from the screen."""

    spec: Spec
    columns: int
    policy: Policy
    pattern: re.Pattern[str]
    wanted: int
    is_clear: bool = True

    @property
    def rules(self) -> Rules:
        dialog = Rule(
            "question",
            Kind.DIALOG,
            Region.SCREEN,
            match=(re.compile("Quick check"),),
            box=False,
            accept=self.pattern if self.policy is Policy.ACCEPT else None,
            deny=self.pattern if self.policy is Policy.DENY else None,
        )
        box = Box(
            first=re.compile("❯\N{NO-BREAK SPACE}(?P<text>.*)$"),  # noqa: RUF001 - as real tools
            above=re.compile("^─"),
            below=re.compile("^─"),
        )
        ready = Rule("box", Kind.READY, Region.BOX, box=True)
        return Rules(box=box, rules=(dialog, ready))

    @property
    def rule(self) -> Rule:
        return self.rules.rules[0]


def make_case(chance: random.Random) -> Case:
    policy = Policy.DENY if chance.random() < 0.25 else Policy.ACCEPT
    text, others = chance.choice(REFUSED if policy is Policy.DENY else ASKED)
    beside = chance.sample(others, chance.randint(1, len(others)))
    wanted = chance.randint(0, len(beside))
    labels = list(beside)
    labels.insert(wanted, text)
    # Nothing is put before a refusal that a pattern would not know.
    prefix = chance.choice(PREFIXES)
    labels = [prefix + label + chance.choice(SUFFIXES) for label in labels]
    if chance.random() < 0.3:
        long = chance.randrange(len(labels))
        labels[long] += LONG
    is_clear = True
    if chance.random() < 0.04:
        place = chance.choice((0, len(labels)))
        labels.insert(place, prefix + text + " too")  # two of a kind
        wanted += place == 0
        is_clear = False
    spec = _looks(chance, labels, wanted)
    if not spec.glyph.strip():
        is_clear = False
    # A digit is the only way in, and there is none to see.
    if not spec.arrows and not (spec.digits and spec.numbers) and spec.default != wanted:
        is_clear = False
    columns = chance.choice((40, 40, 60, 80, 120, 200, chance.randint(40, 200)))
    start = "^" if policy is Policy.DENY and not prefix else ""
    pattern = re.compile(start + re.escape(text) + r"(?!\w)")
    return Case(spec, columns, policy, pattern, wanted, is_clear)


def _looks(chance: random.Random, labels: list[str], wanted: int) -> Spec:
    glyph = chance.choice(GLYPHS) if chance.random() > 0.03 else " "
    numbers = chance.choice(NUMBERS)
    gap = chance.random() < 0.2
    odd = chance.random() < 0.15
    details = tuple(chance.choice(("", "What this does", "It is quick")) for _ in labels)
    quirk = chance.choice(("", "", "slow", "lag", "deaf", "swallow", "digits", "late"))
    return Spec(
        labels=tuple(labels),
        default=chance.randrange(len(labels)),
        numbers=numbers,
        start=chance.choice((0, 2, 3)) if odd else 1,
        glyph=glyph,
        mark="○" if glyph in "●◉◆" and chance.random() < 0.5 else " ",
        frame=chance.choice(("", "", "│", "┃")),
        indent=chance.choice((0, 1, 1, 2, 4)),
        above=chance.choice(QUOTES),
        question=_question(chance, labels),
        details=details if chance.random() < 0.2 else (),
        gap=gap,
        footer=chance.choice(
            (("Enter to confirm · Esc to cancel",), (), ("(Use Enter to select)",))
        ),
        wrap=chance.choice(("hang", "hang", "deep", "flat" if numbers else "deep", "hard")),
        digits=chance.choice(("choose", "move"))
        if quirk == "digits"
        else chance.choice(("", "move")),
        arrows=quirk != "digits",
        rounds=chance.random() < 0.5,
        swallow=chance.choice((1, 2)) if quirk == "swallow" else 0,
        burst=chance.random() < 0.5,
        slow=chance.uniform(0.0, 0.6) if quirk == "slow" else _late(chance, quirk),
        lag=chance.uniform(0.0, 0.8) if quirk == "lag" else 0.0,
        deaf=chance.uniform(0.0, 1.2) if quirk == "deaf" else 0.0,
        next=chance.random() < 0.5,
    )


def _late(chance: random.Random, quirk: str) -> float:
    return chance.uniform(0.6, 2.4) if quirk == "late" else 0.0


def _question(chance: random.Random, labels: list[str]) -> tuple[str, ...]:
    quoted = chance.choice(labels)
    return chance.choice(
        (
            (QUESTION,),
            ("Quick check", "", f'Choose "{quoted}" if you want to go on.'),
            (f"Quick check: {quoted}?",),
            ("Quick check", "1. Read what is said here.", "2. Then choose."),
        )
    )
