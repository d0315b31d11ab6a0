"""The rules of the zoo: all its programs draw the same kind of box."""

from __future__ import annotations

import re
from dataclasses import replace

from gascity.screens.reading import Kind, Policy
from gascity.screens.rules import Box, Defuse, Region, Rule, RuleBook, Rules, Talk

_BOX = Box(
    first=re.compile(r"❯\u00a0(?P<text>.*)$"),  # noqa: RUF001  the mark that real tools use
    next=re.compile(r"(?:  (?P<text>.*))?$"),
    above=re.compile(r"^─{10}"),
    below=re.compile(r"^─{10}"),
    beneath=4,
    empty=(re.compile(r"^Press up to edit queued messages$"),),
)
_RULES = (
    Rule(
        "trust",
        Kind.DIALOG,
        Region.BOTTOM,
        match=(re.compile(r"Do you trust this folder"),),
        box=False,
        accept=re.compile(r"^Yes"),
        deny=re.compile(r"^No"),
        policy=Policy.ASK,
    ),
    Rule(
        "permission",
        Kind.WAITING,
        Region.BOTTOM,
        match=(re.compile(r"Do you want to proceed"),),
        box=False,
    ),
    Rule("login", Kind.AUTH, Region.BOTTOM, match=(re.compile(r"Please log in"),), box=False),
    Rule(
        "limit",
        Kind.LIMITED,
        Region.TURN,
        match=(re.compile(r"You've hit your limit · resets (?P<resets>.+)"),),
    ),
    Rule(
        "working", Kind.WORKING, Region.BENEATH, match=(re.compile(r"esc to interrupt"),), box=True
    ),
    Rule("box", Kind.READY, Region.BOX, box=True),
)
_TALK = Talk(
    pasted=(re.compile(r"^\[Pasted text #\d+ \+\d+ lines\]$"),),
    defuse=(
        Defuse(re.compile(r"\A\s*!|\A\s*/\w+(?:\s|\Z)"), prefix="[nudge] "),
        Defuse(re.compile(r"[\\@]\s*\Z"), suffix=" ."),
    ),
)
ZOO = Rules(
    backend="zoo",
    box=_BOX,
    rules=_RULES,
    talk=_TALK,
    turn=re.compile(r"^❯ "),  # noqa: RUF001  as above
)
BOOK = RuleBook(
    {
        "zoo": ZOO,
        "zoo-queueing": replace(ZOO, talk=replace(_TALK, while_working=True)),
        "zoo-lasting": replace(ZOO, lasting=2.0),
    }
)


def backend_of(program: str) -> str:
    """Return whose rules hold for a program."""
    lasting = ("late-dialog", "late-flushing")
    return {"queueing": "zoo-queueing", **dict.fromkeys(lasting, "zoo-lasting")}.get(program, "zoo")
