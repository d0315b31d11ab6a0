"""What the schema refuses, in sentences for the author of a city.

A sentence says what was expected and what kind of thing is there, never the value: it may be a
secret, or a number too long to print.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime, time

from gascity.config.places import Path
from gascity.config.problems import quoted
from gascity.config.report import did_you_mean

_TABLES = (
    "agents",
    "copy_files",
    "rule",
    "defuse",
)  # the lists of tables; all others are lists of strings
_QUOTED = re.compile(r"'([^']*)'")  # how the validator lists the choices there are
_EXPECTED = {
    "string_type": "a string",
    "int_type": "an integer",
    "bool_type": "true or false",
    "dict_type": "a table",
    "model_type": "a table",
}
_KINDS: tuple[tuple[type, str], ...] = (  # bool before int: it is one
    (bool, "true or false"),
    (int, "an integer"),
    (float, "a number"),
    (str, "a string"),
    (list, "a list"),
    (dict, "a table"),
    (datetime, "a date"),
    (date, "a date"),
    (time, "a time"),
)


@dataclass(frozen=True, slots=True)
class RawError:
    """An error as the validator reports it."""

    type: str
    loc: Path
    input: object
    context: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Fault:
    """A sentence about the key at `path`."""

    path: Path
    message: str
    hint: str = ""


def sentence(error: RawError, keys: Mapping[str, tuple[str, ...]]) -> Fault:
    """Return the sentence for one error; `keys` are all there are, by the table they stand in."""
    path = error.loc[:-1] if error.loc and error.loc[-1] == "[key]" else error.loc
    match error.type:
        case "extra_forbidden":
            return _unknown(path, keys)
        case "dict_type" if len(path) == 2 and path[0] == "session":
            return _unknown(path, keys)
        case "missing":
            return Fault(path, f"missing key {quoted(str(path[-1]))}")
        case "value_error":
            return Fault(path, str(error.context.get("error", "")))
        case "literal_error":
            return _choice(path, error)
        case "greater_than_equal":
            return Fault(path, f"expected at least {error.context['ge']}")
        case "less_than_equal":
            return Fault(path, f"expected at most {error.context['le']}")
        case "list_type":
            return _list(path, error)
        case _:
            expected = _EXPECTED.get(error.type, "something else here")
            return Fault(path, f"expected {expected}, got {_kind(error.input)}", _hint(error))


def heading(table: Path) -> str:
    """Return the heading under which the keys of the table at `table` stand."""
    match table:
        case ():
            return ""
        case ("agents", int()):
            return "[[agents]]"
        case ("agents", int(), "pool"):
            return "[agents.pool]"
        case ("agents", int(), "copy_files", int()):
            return "copy_files"
        case ("providers", _):
            return "[providers.NAME]"
        case ("providers", _, "run"):
            return "[providers.NAME.run]"
        case ("rule", int()):
            return "[[rule]]"
        case ("talk", "defuse", int()):
            return "[[talk.defuse]]"
        case _:
            return f"[{table[0]}]"


def _unknown(path: Path, keys: Mapping[str, tuple[str, ...]]) -> Fault:
    here, key = heading(path[:-1]), str(path[-1])
    message = f"unknown key {quoted(key)}{did_you_mean(key, keys.get(here, ()))}"
    if here == "[session]":
        hint = "settings of a session provider stand in a table of their own, [session.NAME]"
        return Fault(path, message, hint)
    homes = [table or "the top" for table, known in keys.items() if key in known]
    return Fault(path, message, f"{quoted(key)} belongs in {' or '.join(homes)}" if homes else "")


def _choice(path: Path, error: RawError) -> Fault:
    choices = _QUOTED.findall(str(error.context.get("expected", "")))
    message = f"expected {', '.join(map(quoted, choices[:-1]))} or {quoted(choices[-1])}"
    if not isinstance(error.input, str):
        return Fault(path, f"{message}, got {_kind(error.input)}")
    return Fault(path, f"{message}, got {quoted(error.input)}{did_you_mean(error.input, choices)}")


def _list(path: Path, error: RawError) -> Fault:
    key = path[-1] if path else ""
    expected = "a list of tables" if key in _TABLES else "a list of strings"
    hint = ""
    if path in {("agents",), ("rule",)} and isinstance(error.input, dict):
        thing = "agent" if path == ("agents",) else "rule"
        hint = f"write [[{path[0]}]], with two brackets, above each {thing}"
    elif key not in _TABLES and isinstance(error.input, str):
        hint = "put it in brackets: [ ... ]"
    return Fault(path, f"expected {expected}, got {_kind(error.input)}", hint)


def _hint(error: RawError) -> str:
    if error.type == "string_type" and isinstance(error.input, int | float):
        return "put it in quotes"
    if error.type in {"bool_type", "int_type"} and isinstance(error.input, str):
        return "write it without quotes"
    return ""


def _kind(value: object) -> str:
    for kind, name in _KINDS:
        if isinstance(value, kind):
            return name
    return "something else"
