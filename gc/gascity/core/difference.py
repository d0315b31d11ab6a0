"""Which fields of an agent's configuration changed since its session was started.

Compares two canonical texts (see `fingerprint`): the one kept with the session, and the one that
the city file comes to now. Of a secret it is told that it changed, never a value.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum

from gascity.core.fingerprint import looks_secret

CONTEXT = 2  # lines around a changed one, in a text of several
MOST_FIELDS = 5  # named in a sentence


class Change(StrEnum):
    """What became of a field."""

    CHANGED = "changed"
    ADDED = "added"
    REMOVED = "removed"


@dataclass(frozen=True, slots=True)
class FieldChange:
    """One field, such as `command` or `env.MODE`. A secret's values are left empty."""

    field: str
    change: Change
    old: str = ""
    new: str = ""
    secret: bool = False


def field_changes(old: str, new: str) -> tuple[FieldChange, ...]:
    """Return the fields in which two canonical texts differ, in order.

    Raises ValueError when one of them is no canonical text.
    """
    before, after = _fields(old), _fields(new)
    return tuple(
        _change(name, before.get(name), after.get(name))
        for name in sorted({*before, *after})
        if before.get(name) != after.get(name)
    )


def names_of(fields: tuple[FieldChange, ...]) -> str:
    """Return the names of changed fields; of a secret it is said that it is one."""
    told = [f"{one.field}, a secret" if one.secret else one.field for one in fields[:MOST_FIELDS]]
    more = len(fields) - MOST_FIELDS
    return "; ".join([*told, f"and {more} more"] if more > 0 else told)


def shown(change: FieldChange) -> Iterator[str]:
    """Yield the lines that show a change: `- old` and `+ new`, or a diff of longer texts."""
    if change.secret:
        yield f"{change.change} (its value is secret)"
        return
    old, new = change.old.split("\n"), change.new.split("\n")
    if change.change is Change.CHANGED and max(len(old), len(new)) > 1:
        for line in list(difflib.unified_diff(old, new, lineterm="", n=CONTEXT))[2:]:
            yield line if line.startswith("@@") else f"{line[:1]} {line[1:]}"
        return
    if change.change is not Change.ADDED:
        yield from (f"- {line}" for line in old)
    if change.change is not Change.REMOVED:
        yield from (f"+ {line}" for line in new)


def _fields(text: str) -> dict[str, str]:
    """Return the fields of a canonical text; whatever else it is, ValueError is raised."""
    try:
        read = json.loads(text)
        if isinstance(read, dict):
            return dict(_flat(read))
    except (ValueError, RecursionError):  # anybody may have written it, and it must end nothing
        pass
    raise ValueError("not a canonical text")


def _flat(read: Mapping[str, object]) -> Iterator[tuple[str, str]]:
    for name, value in read.items():
        if isinstance(value, dict):
            yield from ((f"{name}.{key}", str(inner)) for key, inner in value.items())
        else:
            yield name, str(value)


def _change(name: str, old: str | None, new: str | None) -> FieldChange:
    kind = Change.ADDED if old is None else Change.REMOVED if new is None else Change.CHANGED
    table, _, key = name.partition(".")
    if table == "env" and looks_secret(key):
        return FieldChange(name, kind, secret=True)
    return FieldChange(name, kind, old or "", new or "")
