"""Hooks in a JSON settings file: Claude Code and Gemini CLI write them alike.

    {"hooks": {"Stop": [{"matcher": "*", "hooks": [{"type": "command", "command": "..."}]}]}}

Ours are added behind the user's own, and known again by their command. All else stays as it is, in
its order; a file that JSON proper cannot hold without a loss is not touched.
"""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, NoReturn

from gascity.hooks.hooked import Hooked, Untouchable, command
from gascity.screens.reading import Kind

Json = Any  # whatever a settings file may hold
Groups = Mapping[str, Mapping[str, object]]
"""Our hooks: for each event one group, as the tool wants it."""

EMPTY = b"{}\n"
START, END = "SessionStart", "SessionEnd"  # what both call the events of their own sessions
_INDENT = re.compile(rb"\{\r?\n([ \t]+)\"")
_OURS = r"(?:^|/)(?:gc|gascity)'? hook (?:report|prime) {backend}(?: \w+)?$"


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool with such a file at `place` in the work folder. It primes itself at its start.

    `of_tools` are the events of tools, which want to be told of which; `prime` and `report` are the
    time limits of hooks in the tool's own unit. Where `named`, each hook has a name.
    """

    name: str
    place: str
    events: Mapping[str, Kind | None]
    of_tools: Collection[str]
    prime: int
    report: int
    details: Mapping[tuple[str, str], Kind | None] = field(default_factory=dict)
    named: bool = False

    def hooked(self) -> Hooked:
        """Return what is to be known of it."""
        return Hooked(
            self.name,
            self.events,
            lambda work_dir, _env: os.path.join(work_dir, self.place),
            lambda content, gc: merged(content, self.name, self._groups(gc)),
            lambda content: stripped(content, self.name),
            EMPTY,
            self.details,
            end_event=END,
            primes=True,
        )

    def _groups(self, gc: str) -> Groups:
        return {event: self._group(gc, event) for event in self.events}

    def _group(self, gc: str, event: str) -> dict[str, object]:
        primes = event == START
        words = ("prime", self.name) if primes else ("report", self.name, event)
        entry: dict[str, object] = {"name": f"gc-{event}"} if self.named else {}
        entry |= {"type": "command", "command": command(gc, *words)}
        entry["timeout"] = self.prime if primes else self.report
        matcher: dict[str, object] = {"matcher": "*"} if event in self.of_tools else {}
        return {**matcher, "hooks": [entry]}


def merged(content: bytes | None, backend: str, groups: Groups) -> bytes:
    """Return the settings with our hooks in them; the very same bytes if they are there already."""
    before = {} if content is None or not content.strip() else _parsed(content)
    settings = _without(before, backend)
    hooks = dict(settings.get("hooks", {}))
    for event, group in groups.items():
        hooks[event] = [*hooks.get(event, []), dict(group)]
    settings = {**settings, "hooks": hooks}
    if content is not None and settings == before:
        return content
    return _written(settings, content)


def stripped(content: bytes, backend: str) -> bytes:
    """Return the settings without our hooks; the very same bytes if there are none."""
    before = _parsed(content) if content.strip() else {}
    settings = _without(before, backend)
    if settings == before:
        return content
    return _written(settings, content) if settings else EMPTY


def _without(settings: dict[str, Json], backend: str) -> dict[str, Json]:
    """Return the settings without our hooks; what only held them goes with them."""
    ours = re.compile(_OURS.format(backend=re.escape(backend)))
    hooks = settings.get("hooks", {})
    if not isinstance(hooks, dict):
        raise Untouchable('"hooks" is no object there')
    kept = {event: _groups_without(event, groups, ours) for event, groups in hooks.items()}
    kept = {event: groups for event, groups in kept.items() if groups or not hooks[event]}
    if not kept and hooks:
        return {key: value for key, value in settings.items() if key != "hooks"}
    return {**settings, "hooks": kept} if "hooks" in settings else dict(settings)


def _groups_without(event: str, groups: Json, ours: re.Pattern[str]) -> list[Json]:
    if not isinstance(groups, list):
        raise Untouchable(f'"hooks" has no list for "{event}" there')
    kept: list[Json] = []
    for group in groups:
        entries = group.get("hooks") if isinstance(group, dict) else None
        if not isinstance(entries, list):
            kept.append(group)
            continue
        left = [entry for entry in entries if not _is_ours(entry, ours)]
        if left or not entries:
            kept.append({**group, "hooks": left})
    return kept


def _is_ours(entry: Json, ours: re.Pattern[str]) -> bool:
    command = entry.get("command") if isinstance(entry, dict) else None
    return isinstance(command, str) and ours.search(command) is not None


def _parsed(content: bytes) -> dict[str, Json]:
    try:
        found = json.loads(
            content.decode("utf-8"),
            object_pairs_hook=_once,
            parse_constant=_no_constant,
            parse_float=_finite,
        )
    except UnicodeDecodeError:
        raise Untouchable("it is not UTF-8 text") from None
    except RecursionError:
        raise Untouchable("it is nested too deeply") from None
    except ValueError as problem:
        raise Untouchable(
            f"it is not JSON: {problem}", hint="JSON proper has no comments and no trailing commas"
        ) from None
    if not isinstance(found, dict):
        raise Untouchable("it holds no JSON object")
    return found


def _once(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise Untouchable("a key stands in it twice")
    return found


def _finite(text: str) -> float:
    number = float(text)
    if math.isinf(number):
        raise Untouchable(f"the number {text} is too large")
    return number


def _no_constant(word: str) -> NoReturn:
    raise Untouchable(f"{word} is no JSON")


def _written(settings: dict[str, Json], like: bytes | None) -> bytes:
    """Return the text, indented as the file was and with the end it had."""
    found = _INDENT.match(like.lstrip()) if like else None
    indent = found[1].decode() if found else "  "
    end = "\n" if like is None or like.endswith(b"\n") or not like.strip() else ""
    try:
        return (json.dumps(settings, indent=indent, ensure_ascii=False) + end).encode()
    except UnicodeEncodeError:  # half a character, which only its number can write
        return (json.dumps(settings, indent=indent) + end).encode()
