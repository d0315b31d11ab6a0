"""Making a rule of a screen that no rule knows, and writing it into the city.

Nothing is written before the rule was seen to load and to hold on the very screen it is made from.
What stands in the city's file stays as it is, byte for byte.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
from dataclasses import dataclass, replace

from gascity.cli.account import Account
from gascity.cli.skeleton import (
    literal,
    name_for,
    patterns_for,
    reach_of,
    rule_text,
)
from gascity.config.files import LARGEST
from gascity.config.places import scan
from gascity.config.report import Report
from gascity.config.screens import FOLDER, city_rules, shipped_names
from gascity.config.source import Source
from gascity.core.naming import is_component
from gascity.errors import GascityError, UsageError
from gascity.screens.box import find_box
from gascity.screens.classify import classify
from gascity.screens.options import Options, read_options
from gascity.screens.reading import Kind
from gascity.screens.rules import Rules, rules_for_prompt
from gascity.screens.screen import Screen

FIXTURES = "fixtures"
HEADER = """\
# What this city knows of the screens of {backend}, on top of what gc knows.
# A rule with the name of one of gc's own replaces it; others are tried before gc's.
# `gc screens list {backend}` shows all, `gc screens test` tries them on screens/fixtures.
"""


@dataclass(frozen=True, slots=True)
class Lesson:
    """What is to be written: the rule's name and text, the file's new content, the screen."""

    backend: str
    name: str
    kind: Kind
    rule: str
    content: bytes
    screen: str

    @property
    def rules_file(self) -> str:
        """Where the rule goes, in the city's folder."""
        return os.path.join(FOLDER, f"{self.backend}.toml")

    @property
    def fixture(self) -> str:
        """Where the screen goes, in the city's folder."""
        return fixture_path(self.backend, self.name)


def fixture_path(backend: str, name: str) -> str:
    """Return where the saved screen of a rule lies, in the city's folder."""
    return os.path.join(FOLDER, FIXTURES, backend, f"{name}.txt")


def lesson(root: str, seen: Account, *, prompt: str, name: str, kind: Kind | None) -> Lesson:
    """Return the rule for a screen that none knows, checked. Writes nothing.

    `prompt` is what tells the agent's input box where its backend has no rules. Raises UsageError
    for what cannot be, GascityError when no rule can be made.
    """
    backend, rules = seen.seen.backend, seen.seen.rules
    _check(seen, backend)
    screen = replace(seen.seen.screen, rows=seen.rows, typed=())
    options = None if seen.reading.has_box else read_options(screen)
    taken = {rule.name for rule in rules.rules}
    chosen = _name(root, backend, name or name_for(screen, options, taken), taken)
    what = kind or _kind(seen, options)
    old = _content(os.path.join(root, FOLDER, f"{backend}.toml"))
    text = _rule(seen, screen, options, chosen, what)
    content = old + (b"\n" if old and not old.endswith(b"\n") else b"")
    content += (b"\n" if old else _begin(backend, prompt).encode()) + text.encode()
    made = Lesson(backend, chosen, what, text, content, "\n".join(screen.rows) + "\n")
    for shown in (Screen.of(made.screen), seen.seen.screen):
        if classify(shown, _loaded(made)).rule != chosen:
            raise GascityError(
                f"no rule of kind {what} could be made that holds on this screen",
                hint=_needs(what, has_box=seen.reading.has_box),
            )
    return made


def write(root: str, made: Lesson) -> None:
    """Write the screen, then the rule; never over a screen that is there already."""
    fixture = os.path.join(root, made.fixture)
    os.makedirs(os.path.dirname(fixture), exist_ok=True)
    with open(fixture, "x", encoding="utf-8") as file:
        file.write(made.screen)
    try:
        _replace(os.path.join(root, made.rules_file), made.content)
    except OSError:
        os.unlink(fixture)
        raise


def _check(seen: Account, backend: str) -> None:
    agent = seen.seen.agent
    if not backend:
        raise UsageError(
            f"{agent} is a plain command; only the screens of a backend have rules",
            hint="give it a backend of its own, [providers.NAME] with command = ...",
        )
    if not is_component(backend):
        raise UsageError(f'the name of backend "{backend}" cannot be that of a file')
    if seen.ended:
        raise UsageError(f"the program of {agent} has ended; its last screen is no rule's business")
    if seen.reading.is_blank:
        raise UsageError(f"the screen of {agent} is empty; there is nothing to learn from")
    if seen.rule is not None:
        raise UsageError(
            f'rule "{seen.rule.name}" knows this screen already: {seen.rule.kind}',
            hint=f"`gc explain {agent}` shows why; {FOLDER}/{backend}.toml can change that rule",
        )


def _name(root: str, backend: str, name: str, taken: set[str]) -> str:
    if not is_component(name):
        raise UsageError(
            f'"{name}" cannot be the name of a rule', hint="letters, digits, _ and single -"
        )
    if name in taken:
        raise UsageError(f'there is a rule "{name}" for {backend} already', hint="choose a --name")
    path = fixture_path(backend, name)
    if os.path.lexists(os.path.join(root, path)):
        raise UsageError(f"{path} exists already; it is left as it is", hint="choose a --name")
    return name


def _kind(seen: Account, options: Options | None) -> Kind:
    if seen.reading.has_box:
        raise UsageError(
            "the input box is on this screen, so it is no dialog",
            hint="say with --kind what it is: working, limited, auth, error or ready",
        )
    return Kind.WAITING if options is None else Kind.DIALOG


def _rule(seen: Account, screen: Screen, options: Options | None, name: str, kind: Kind) -> str:
    before, rows = seen.seen.screen.rows, screen.rows
    changed = {number for number, row in enumerate(rows) if row != before[number]}
    found = find_box(screen, seen.seen.rules.box)
    patterns = patterns_for(screen, options, found, changed)
    if not patterns and kind is not Kind.READY:
        raise GascityError(
            "no words on this screen could tell it from others",
            hint=f"write a rule by hand in {FOLDER}/{seen.seen.backend}.toml",
        )
    return rule_text(
        name,
        kind,
        patterns,
        has_box=found is not None,
        lines=reach_of(screen, patterns),
        options=options,
        fixture=fixture_path(seen.seen.backend, name),
    )


def _begin(backend: str, prompt: str) -> str:
    """Return how a new file begins. What the prompt told until now must be said in it."""
    text = HEADER.format(backend=backend) + "\n"
    if backend in shipped_names() or not prompt.strip():
        return text
    box = rules_for_prompt(prompt).box
    first = literal(box.first.pattern) if box is not None else ""
    text += f"[box] # as ready_prompt_prefix had it\nfirst = {first}\nnext = '(?P<text>.*)$'\n"
    return text + 'beneath = 0\n\n[[rule]]\nname = "prompt"\nkind = "ready"\nregion = "box"\n\n'


def _loaded(made: Lesson) -> Rules:
    """Return the rules as they will be. Raises GascityError when the file would not load."""
    report = Report(Source("city.toml", ""), scan(""))
    with tempfile.TemporaryDirectory() as folder:
        os.mkdir(os.path.join(folder, FOLDER))
        with open(os.path.join(folder, made.rules_file), "wb") as file:
            file.write(made.content)
        book = city_rules(folder, [made.backend], report)
        for problem in report.problems:
            raise GascityError(f"the rule would not load: {problem.message}", hint=str(problem))
        return book.of(made.backend)


def _needs(kind: Kind, *, has_box: bool) -> str:
    if kind in (Kind.DIALOG, Kind.WAITING) and has_box:
        return f"{kind} means that the input box is not there, and here it is; try another --kind"
    if kind is Kind.READY and not has_box:
        return "ready means that the input box is there, and here it is not; try another --kind"
    return "write one by hand; `gc explain -v` tells why a rule does not hold"


def _content(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read(LARGEST)
    except FileNotFoundError:
        return b""


def _replace(path: str, content: bytes) -> None:
    """Put the new content in the place of the old, at once, with the same rights."""
    path = os.path.realpath(path)
    mode = os.stat(path).st_mode & 0o7777 if os.path.exists(path) else 0o644
    handle, name = tempfile.mkstemp(dir=os.path.dirname(path), prefix=".rules-")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(name, mode)
        os.replace(name, path)
    except OSError:
        with contextlib.suppress(OSError):
            os.unlink(name)
        raise
