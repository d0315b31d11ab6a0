"""What the rule files say, as values. `gascity.config.screens` reads and checks the files.

All patterns are regular expressions searched for in one row at a time, `Box.first` and `Box.next`
matched from its beginning.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from gascity.screens.reading import Kind, Policy

Pattern = re.Pattern[str]


class Region(StrEnum):
    """Where on the screen a rule looks."""

    SCREEN = "screen"  # everything that is shown
    BOTTOM = "bottom"  # the last rows that are not empty, `lines` of them
    BOX = "box"  # what stands in the input box
    BENEATH = "beneath"  # the rows beneath the input box
    TURN = "turn"  # from the last message of a person down to the input box
    TITLE = "title"  # the title of the pane


@dataclass(frozen=True, slots=True)
class Box:
    """The input box: where a person types.

    It begins with the lowest row that `first` matches and goes on with rows that `next` matches;
    the group `text` of both is what stands in it. `above` must be found in the row above it (empty
    ones do not count), `below` in the row beneath its end. With `footer`, the last paragraph of
    the screen is not part of it. At most `beneath` rows stand beneath it, none with `unless`.
    `empty` says which texts are hints of the program and no draft. `inside` rows at the end of
    the box are not text. With `block`, every row of the box looks like its first.
    """

    first: Pattern
    next: Pattern | None = None
    above: Pattern | None = None
    below: Pattern | None = None
    unless: Pattern | None = None
    footer: bool = False
    block: bool = False
    beneath: int = 6
    inside: int = 0
    empty: tuple[Pattern, ...] = ()


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule: on a screen where it holds, the agent is `kind`.

    It holds when every one of `match` is found in some row of its region and none of `unless` is
    found in any, when the input box is there, or not, as `box` wants it (None: never mind), and
    when the program's version is in `versions` or not known. `lines` bounds the regions bottom and
    turn, from below; empty rows do not count. `resets` is where a limit says when it ends, in its
    group `resets`. `source` is the file the rule stands in.

    Of a dialog, `accept` and `deny` match the labels of the options to choose, `keys` are pressed
    where it has no options at all, and `policy` is what to do unless the city says otherwise.
    """

    name: str
    kind: Kind
    region: Region
    match: tuple[Pattern, ...] = ()
    unless: tuple[Pattern, ...] = ()
    box: bool | None = None
    lines: int = 15
    versions: str = ""
    resets: Pattern | None = None
    accept: Pattern | None = None
    deny: Pattern | None = None
    keys: tuple[str, ...] = ()
    policy: Policy = Policy.ASK
    source: str = ""


@dataclass(frozen=True, slots=True)
class Defuse:
    """A text that matches `when` is not sent as it is: `prefix` goes before it, `suffix` after."""

    when: Pattern
    prefix: str = ""
    suffix: str = ""


@dataclass(frozen=True, slots=True)
class Talk:
    """How to get words in.

    `submit` is pressed `settle` seconds after the text showed. `pasted` matches what the box shows
    in the place of a long text. `while_working` says that a message is taken, and kept for the
    next turn, while the agent works; `queue` is pressed then, if there is another key for that.
    `tab` takes the place of tabs. A text of more than `longest` characters (0: any) does not reach
    the agent as it is.
    """

    submit: tuple[str, ...] = ("Enter",)
    queue: tuple[str, ...] = ()
    settle: float = 0.15
    pasted: tuple[Pattern, ...] = ()
    while_working: bool = False
    tab: str = "    "
    longest: int = 0
    defuse: tuple[Defuse, ...] = ()


@dataclass(frozen=True, slots=True)
class Rules:
    """All that is known of one backend's screens. The first rule that holds, counts.

    `turn` matches the row with which a message of a person begins in the transcript, `version` the
    row that tells the program's version (group `version`). A prompt must be seen for `lasting`
    seconds before the agent counts as started.
    """

    backend: str = ""
    box: Box | None = None
    rules: tuple[Rule, ...] = ()
    talk: Talk = Talk()
    turn: Pattern | None = None
    version: Pattern | None = None
    lasting: float = 0.0

    def rule(self, name: str) -> Rule | None:
        """Return the rule of that name."""
        return next((rule for rule in self.rules if rule.name == name), None)

    def policies(self, chosen: Mapping[str, str]) -> Mapping[str, Policy]:
        """Return what to do about each dialog, with what was `chosen` for some of them."""
        return {
            rule.name: Policy(chosen.get(rule.name, rule.policy))
            for rule in self.rules
            if rule.kind is Kind.DIALOG
        }


NO_RULES = Rules()


def rules_for_prompt(prefix: str) -> Rules:
    """Return what a prompt alone tells: where its line is the last one, there is the input box."""
    shown = r"[\s\u00a0]+".join(re.escape(word) for word in prefix.split())
    box = Box(
        first=re.compile(rf"[\s\u00a0]*{shown}[\s\u00a0]*(?P<text>.*)$"),
        next=re.compile(r"(?P<text>.*)$"),
        beneath=0,
    )
    ready = Rule("prompt", Kind.READY, Region.BOX, box=True, source="ready_prompt_prefix")
    return Rules(box=box, rules=(ready,))


@dataclass(frozen=True, slots=True)
class RuleBook:
    """The rules of a city by backend."""

    by_backend: Mapping[str, Rules] = field(default_factory=dict)

    def of(self, backend: str, prompt: str = "") -> Rules:
        """Return the rules of a backend; without any, what its prompt tells."""
        found = self.by_backend.get(backend)
        if found is None:
            return rules_for_prompt(prompt) if prompt.strip() else NO_RULES
        return found
