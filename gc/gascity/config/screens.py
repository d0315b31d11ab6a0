"""The rules by which screens are read: the shipped ones, and what a city's `screens/` changes.

The shipped rules are data of `gascity.screens`. Compiling their patterns takes a while, so a
backend's rules are made when somebody first asks for them; a city's own files are checked at once.
"""

from __future__ import annotations

import functools
import os
import re
import tomllib
from collections.abc import Collection, Iterator, Mapping
from importlib import resources
from pathlib import Path as FilePath
from typing import TYPE_CHECKING

from gascity.config.document import Document, read_document
from gascity.config.problems import ConfigProblems, quoted
from gascity.config.report import Report, did_you_mean
from gascity.screens.reading import Kind, Policy
from gascity.screens.rules import Box, Defuse, Pattern, Region, Rule, RuleBook, Rules, Talk

if TYPE_CHECKING:  # pydantic is imported only where a city is read
    from gascity.config.screen_schema import BoxTable, RuleTable, ScreensFile, TalkTable

FOLDER = "screens"
_SHIPPED = "gascity/screens/backends"
_NEEDS_NO_BOX = frozenset({Kind.DIALOG, Kind.WAITING})
_OF_DIALOGS = ("accept", "deny", "keys", "policy")


@functools.cache
def shipped(backend: str) -> Rules | None:
    """Return the rules gc has for a backend; None when it has none."""
    if backend not in shipped_names():
        return None
    from gascity.config.screen_schema import ScreensFile  # noqa: PLC0415  pydantic is slow to come

    file = f"{backend}.toml"
    text = resources.files("gascity.screens").joinpath("backends", file).read_text("utf-8")
    table = ScreensFile.model_validate(tomllib.loads(text))
    return laid_over(Rules(backend=backend), table, f"{_SHIPPED}/{file}")


@functools.cache
def shipped_names() -> frozenset[str]:
    """Return the backends gc has rules for."""
    files = resources.files("gascity.screens").joinpath("backends").iterdir()
    return frozenset(file.name[:-5] for file in files if file.name.endswith(".toml"))


def city_rules(root: str, backends: Collection[str], report: Report) -> RuleBook:
    """Return the rules of the city in the folder `root`, by backend.

    `backends` are all that the city could use. What is wrong with its files goes to the report;
    a broken file counts as absent.
    """
    own: dict[str, ScreensFile] = {}
    report.came_from(os.path.join(root, FOLDER, ""))
    for name in _own_files(root):
        report.came_from(os.path.join(root, FOLDER, f"{name}.toml"))
        if name not in backends:
            near = did_you_mean(name, backends)
            report.warn(
                f"{FOLDER}/{name}.toml is not read: no backend is called {quoted(name)}{near}"
            )
            continue
        table = _read(root, name, report)
        if table is not None:
            own[name] = table
    return RuleBook(_Shelf(own))


def check_dialogs(
    dialogs: Mapping[str, str], rules: Rules, at: tuple[str | int, ...], report: Report
) -> None:
    """Report dialogs that `rules` do not know, and policies they have no answer for."""
    known = [rule.name for rule in rules.rules if rule.kind is Kind.DIALOG]
    for name, policy in dialogs.items():
        rule = rules.rule(name)
        if rule is None or rule.kind is not Kind.DIALOG:
            report.unknown((*at, name), "dialog", name, known)
        elif not _answers(rule, policy):
            report.at((*at, name), f"dialog {quoted(name)} has no answer that would {policy} it")


def laid_over(below: Rules, table: ScreensFile, source: str) -> Rules:
    """Return `below` with what a file says: its rules in the place of their namesakes, or first."""
    own = {rule.name: rule for rule in table.rule}
    taken = {rule.name for rule in below.rules}
    kept = [
        _rule(own[rule.name], source) if rule.name in own else rule
        for rule in below.rules
        if not (rule.name in own and own[rule.name].disabled)
    ]
    new = [_rule(r, source) for r in table.rule if r.name not in taken and not r.disabled]
    return Rules(
        backend=below.backend,
        box=_box(below.box, table.box),
        rules=(*new, *kept),
        talk=_talk(below.talk, table.talk),
        turn=_compiled(table.turn) or below.turn,
        version=_compiled(table.version) or below.version,
        lasting=below.lasting if table.lasting_ms is None else table.lasting_ms / 1000,
    )


class _Shelf(Mapping[str, Rules]):
    """Rules by backend, made when they are first asked for."""

    def __init__(self, own: Mapping[str, ScreensFile]) -> None:
        self._own = own
        self._made: dict[str, Rules] = {}

    def __getitem__(self, backend: str) -> Rules:
        if backend not in self._made:
            table = self._own.get(backend)
            below = shipped(backend if table is None or not table.like else table.like)
            if table is not None:
                source = f"{FOLDER}/{backend}.toml"
                below = laid_over(below or Rules(backend=backend), table, source)
            if below is None:
                raise KeyError(backend)
            self._made[backend] = below
        return self._made[backend]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Shelf) and self._own == other._own  # without making any

    def __hash__(self) -> int:
        return hash(frozenset(self._own))

    def __iter__(self) -> Iterator[str]:
        return iter(sorted({*shipped_names(), *self._own}))

    def __len__(self) -> int:
        return len({*shipped_names(), *self._own})


def _own_files(root: str) -> list[str]:
    try:
        names = os.listdir(os.path.join(root, FOLDER))
    except OSError:
        return []
    return sorted(name[:-5] for name in names if name.endswith(".toml"))


def _read(root: str, backend: str, report: Report) -> ScreensFile | None:
    """Return a file of the city, checked; None when something is wrong with it."""
    shown = f"{FOLDER}/{backend}.toml"
    path = FilePath(root, FOLDER, f"{backend}.toml")
    hint = "a rule begins with [[rule]]"
    try:
        document = read_document(path, shown, hint, secrets=False)
    except ConfigProblems as error:
        for problem in error.problems:
            report.add(problem)
        return None
    own = document.report()
    table = _checked(document, backend, own)
    for problem in own.problems:
        report.add(problem)
    report.more += own.more
    return None if own.count else table


def _checked(document: Document, backend: str, report: Report) -> ScreensFile | None:
    from gascity.config.screen_schema import (  # noqa: PLC0415  pydantic is slow to come
        SCREEN_KEYS,
        validate_screens,
    )

    table = validate_screens(document.content)
    if isinstance(table, list):
        document.tell(table, SCREEN_KEYS, report)
        return None
    if table.like and table.like not in shipped_names():
        report.unknown(("like",), "backend with rules of gc", table.like, shipped_names())
    alone = (table.like or backend) not in shipped_names()
    if alone and table.box is not None and table.box.first is None:
        report.at(("box",), 'missing key "first"')
    seen: set[str] = set()
    for index, rule in enumerate(table.rule):
        if rule.name in seen:
            report.at(("rule", index, "name"), f"there are two rules {quoted(rule.name)}")
        seen.add(rule.name)
        if not rule.disabled:
            _check_rule(rule, ("rule", index), report)
    return table


def _check_rule(table: RuleTable, at: tuple[str | int, ...], report: Report) -> None:
    if table.kind is None:
        report.at(at, 'missing key "kind"')
        return
    rule = _rule(table, "")
    if not rule.match and rule.kind is not Kind.READY:
        report.at(at, 'missing key "match"')
    for key in _OF_DIALOGS:
        if rule.kind is not Kind.DIALOG and key in table.model_fields_set:
            report.at((*at, key), f"{quoted(key)} is for dialogs; this rule is {quoted(rule.kind)}")
    if rule.resets is not None and rule.kind is not Kind.LIMITED:
        report.at((*at, "resets"), f'"resets" is for limits; this rule is {quoted(rule.kind)}')
    if rule.kind is Kind.DIALOG and not _answers(rule, rule.policy):
        needed = '"deny"' if rule.policy is Policy.DENY else '"accept" or "keys"'
        report.at((*at, "policy"), f"to {rule.policy} this dialog, the rule needs {needed}")


def _answers(rule: Rule, policy: str) -> bool:
    """Tell whether a dialog rule says enough for a policy."""
    match policy:
        case Policy.ACCEPT:
            return rule.accept is not None or bool(rule.keys)
        case Policy.DENY:
            return rule.deny is not None
        case _:
            return True


def _rule(table: RuleTable, source: str) -> Rule:
    kind = Kind(table.kind or Kind.READY)
    box = table.box
    if box is None and kind in _NEEDS_NO_BOX:
        box = False
    elif box is None and kind is Kind.READY:
        box = True
    return Rule(
        name=table.name,
        kind=kind,
        region=Region(table.region),
        match=_all(table.match),
        unless=_all(table.unless),
        box=box,
        lines=table.lines,
        versions=table.versions,
        resets=_compiled(table.resets),
        accept=_compiled(table.accept),
        deny=_compiled(table.deny),
        keys=tuple(table.keys),
        policy=Policy(table.policy or Policy.ASK),
        source=source,
    )


def _box(below: Box | None, table: BoxTable | None) -> Box | None:
    if table is None:
        return below
    first = _compiled(table.first) or (below and below.first)
    if not first:
        return below
    low = below or Box(first)
    return Box(
        first=first,
        next=_compiled(table.next) or low.next,
        above=_compiled(table.above) or low.above,
        below=_compiled(table.below) or low.below,
        unless=_compiled(table.unless) or low.unless,
        footer=low.footer if table.footer is None else table.footer,
        block=low.block if table.block is None else table.block,
        beneath=low.beneath if table.beneath is None else table.beneath,
        inside=low.inside if table.inside is None else table.inside,
        empty=low.empty if table.empty is None else _all(table.empty),
    )


def _talk(below: Talk, table: TalkTable | None) -> Talk:
    if table is None:
        return below
    defuse = below.defuse
    if table.defuse is not None:
        defuse = tuple(Defuse(re.compile(d.when), d.prefix, d.suffix) for d in table.defuse)
    return Talk(
        submit=below.submit if table.submit is None else tuple(table.submit),
        queue=below.queue if table.queue is None else tuple(table.queue),
        settle=below.settle if table.settle_ms is None else table.settle_ms / 1000,
        pasted=below.pasted if table.pasted is None else _all(table.pasted),
        while_working=below.while_working if table.while_working is None else table.while_working,
        tab=below.tab if table.tab is None else table.tab,
        longest=below.longest if table.longest is None else table.longest,
        defuse=defuse,
    )


def _compiled(pattern: str | None) -> Pattern | None:
    return re.compile(pattern) if pattern else None


def _all(patterns: Collection[str]) -> tuple[Pattern, ...]:
    return tuple(re.compile(pattern) for pattern in patterns)
