"""The shape of a file of screen rules: which keys there are, of which type, within which bounds.

What the rules mean is in `gascity.screens.rules`; how a city's file lies over the shipped one is
in `gascity.config.screens`. Like `schema`, it knows pydantic and is imported where it is needed.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Annotated, Literal

from pydantic import AfterValidator, BeforeValidator, Field, ValidationError

from gascity.config.problems import quoted
from gascity.config.report import did_you_mean
from gascity.config.schema import Count, Milliseconds, Name, PolicyName, Table, Text
from gascity.config.sentences import RawError
from gascity.screens.versions import check_range

LONGEST_PATTERN = 500
NAMED_KEYS = (
    *("Enter", "Escape", "Tab", "BTab", "Space", "BSpace", "Up", "Down", "Left", "Right"),
    *("Home", "End", "PPage", "NPage", "DC", "IC", *(f"F{number}" for number in range(1, 13))),
)
_MODIFIED = re.compile(r"[CM]-[!-~]")


def _pattern(value: str) -> str:
    if len(value) > LONGEST_PATTERN:
        raise ValueError(f"expected a pattern of at most {LONGEST_PATTERN} characters")
    try:
        re.compile(value)
    except (re.error, OverflowError, RecursionError) as error:
        raise ValueError(f"this is not a regular expression: {error}") from None
    return value


def _with_group(group: str) -> AfterValidator:
    def check(value: str) -> str:
        if group not in re.compile(value).groupindex:
            raise ValueError(f"the pattern needs a group (?P<{group}>...)")
        return value

    return AfterValidator(check)


def _listed(value: object) -> object:
    return [value] if isinstance(value, str) else value


def _key(value: str) -> str:
    if len(value) == 1 and value.isprintable():
        return value
    if value in NAMED_KEYS or _MODIFIED.fullmatch(value):
        return value
    near = did_you_mean(value, NAMED_KEYS)
    raise ValueError(
        f"there is no key {quoted(value)}{near}"
        if near
        else 'expected a key, such as "Enter", "Down", "C-c" or "y"'
    )


def _range(value: str) -> str:
    check_range(value)
    return value


PatternText = Annotated[str, AfterValidator(_pattern)]
TextPattern = Annotated[PatternText, _with_group("text")]
VersionPattern = Annotated[PatternText, _with_group("version")]
ResetsPattern = Annotated[PatternText, _with_group("resets")]
Patterns = Annotated[list[PatternText], BeforeValidator(_listed)]
Key = Annotated[str, AfterValidator(_key)]
Keys = Annotated[list[Key], BeforeValidator(_listed)]
Range = Annotated[str, AfterValidator(_range)]
Rows = Annotated[int, Field(ge=0, le=1000)]
KindName = Literal["ready", "working", "waiting", "limited", "auth", "error", "dialog"]
RegionName = Literal["screen", "bottom", "box", "beneath", "turn", "title"]


class BoxTable(Table):
    """`[box]`: the input box."""

    first: TextPattern | None = None
    next: TextPattern | None = None
    above: PatternText | None = None
    below: PatternText | None = None
    unless: PatternText | None = None
    footer: bool | None = None
    block: bool | None = None
    beneath: Rows | None = None
    inside: Rows | None = None
    empty: Patterns | None = None


class DefuseTable(Table):
    """One `[[talk.defuse]]`."""

    when: PatternText
    prefix: Text = ""
    suffix: Text = ""


class TalkTable(Table):
    """`[talk]`: how to get words in."""

    submit: Keys | None = None
    queue: Keys | None = None
    settle_ms: Milliseconds | None = None
    pasted: Patterns | None = None
    while_working: bool | None = None
    tab: Text | None = None
    longest: Count | None = None
    defuse: list[DefuseTable] | None = None


class RuleTable(Table):
    """One `[[rule]]`."""

    name: Name
    kind: KindName | None = None
    region: RegionName = "bottom"
    match: Patterns = Field(default_factory=list)
    unless: Patterns = Field(default_factory=list)
    box: bool | None = None
    lines: Annotated[int, Field(ge=1, le=1000)] = 15
    versions: Range = ""
    resets: ResetsPattern | None = None
    accept: PatternText | None = None
    deny: PatternText | None = None
    keys: Keys = Field(default_factory=list)
    policy: PolicyName | None = None
    disabled: bool = False


class ScreensFile(Table):
    """The whole file."""

    like: Text = ""
    turn: PatternText | None = None
    version: VersionPattern | None = None
    lasting_ms: Milliseconds | None = None
    box: BoxTable | None = None
    talk: TalkTable | None = None
    rule: list[RuleTable] = Field(default_factory=list)


SCREEN_KEYS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        heading: tuple(table.model_fields)
        for heading, table in (
            ("", ScreensFile),
            ("[box]", BoxTable),
            ("[talk]", TalkTable),
            ("[[talk.defuse]]", DefuseTable),
            ("[[rule]]", RuleTable),
        )
    }
)
"""Every key there is, by the table it stands in."""


def validate_screens(content: Mapping[str, object]) -> ScreensFile | list[RawError]:
    """Return the file, or everything that is wrong with its shape."""
    try:
        return ScreensFile.model_validate(content)
    except ValidationError as error:
        raw = error.errors(include_url=False)
        return [RawError(e["type"], e["loc"], e["input"], e.get("ctx", {})) for e in raw]
