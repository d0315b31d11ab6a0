"""Reading a unit as systemd does: lines, words, quotes, specifiers and variables.

Written from the manual pages (`systemd.syntax`, `systemd.service`, `systemd.exec`), and not from
what writes the units.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

_ESCAPES = {"n": "\n", "t": "\t", "s": " ", "\\": "\\", '"': '"', "'": "'"}


@dataclass
class Unit:
    """The keys of all sections, each with its values in order."""

    values: dict[str, list[str]] = field(default_factory=dict)

    def one(self, key: str) -> str:
        (value,) = self.values[key]
        return value

    def command(self, key: str) -> list[str]:
        """Return the words a command is run with, variables replaced (there are none set)."""
        program, *rest = [_specified(word) for word in _words(self.one(key))]
        return [program, *(_without_variables(word) for word in rest)]

    def path(self, key: str) -> str:
        """Return a path that is the whole value."""
        path = _specified(self.one(key).removeprefix("-"))
        return re.sub(r"(/\.)+$", "", path)

    def environment(self) -> dict[str, str]:
        pairs = [_specified(w) for line in self.values["Environment"] for w in _words(line)]
        return dict(pair.split("=", 1) for pair in pairs)


def read_unit(text: str) -> Unit:
    unit = Unit()
    joined = ""
    for raw in re.split(r"[\n\r\0]", text):
        line = raw.strip(" \t") if not joined else raw.rstrip(" \t")
        if line.lstrip(" \t").startswith(("#", ";")):
            continue
        if line.endswith("\\"):
            joined += line[:-1] + " "
            continue
        line, joined = joined + line, ""
        if not line or line.startswith("["):
            continue
        key, _, value = line.partition("=")
        unit.values.setdefault(key.strip(), []).append(value.strip(" \t"))
    assert not joined
    return unit


def _words(line: str) -> list[str]:
    found: list[str] = []
    word: str | None = None
    quote = ""
    letters = iter(line)
    for letter in letters:
        if letter == "\\":
            word = (word or "") + _ESCAPES[next(letters)]
        elif quote and letter == quote:
            quote = ""
        elif not quote and letter in "\"'":
            quote, word = letter, word or ""
        elif not quote and letter in " \t":
            found += [] if word is None else [word]
            word = None
        else:
            word = (word or "") + letter
    assert not quote
    return found + ([] if word is None else [word])


def _specified(text: str) -> str:
    """Replace specifiers; any but `%%` would be a mistake here."""
    assert not re.search(r"(?<!%)(%%)*%(?!%)", text), text
    return text.replace("%%", "%")


def _without_variables(word: str) -> str:
    return re.sub(r"\$(\$|\{\w*\}|\w+)", lambda m: "$" if m[1] == "$" else "", word)
