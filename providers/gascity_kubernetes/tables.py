"""Reading tables of TOML: each value is what it must be, or one sentence says what it is not."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from gascity.errors import ConfigError

T = TypeVar("T")
_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
_SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_VARIABLE = re.compile(r"[-._a-zA-Z][-._a-zA-Z0-9]*")
_NAME = re.compile(r"[A-Za-z0-9]([-_.A-Za-z0-9]{0,61}[A-Za-z0-9])?")


@dataclass(frozen=True, slots=True)
class Table:
    """A table, and what it is called in a sentence; `names` renames what came from elsewhere."""

    values: Mapping[str, object]
    called: str
    names: Mapping[str, str]

    def where(self, key: str) -> str:
        """Return what a person calls a setting."""
        return self.names.get(key, f"{self.called} {key}")

    def wrong(self, key: str, what: str, *, hint: str = "") -> ConfigError:
        """Return what to raise about a setting."""
        return ConfigError(f"{self.where(key)} {what}", hint=hint)

    def only(self, known: Collection[str]) -> None:
        """Raise ConfigError for a key nobody knows, with the one that was probably meant."""
        for key in self.values:
            if key not in known:
                near = difflib.get_close_matches(key, list(known), n=1)
                hint = f'did you mean "{near[0]}"?' if near else f"known: {', '.join(known)}"
                raise ConfigError(f'{self.called} has no setting "{key}"', hint=hint)

    def text(self, key: str, default: str = "") -> str:
        """Return a text of one line; an empty one says nothing, as if it were not there."""
        value = self.values.get(key, default)
        if not isinstance(value, str):
            raise self.wrong(key, "must be a text")
        if any(sign in value for sign in "\0\r\n"):
            raise self.wrong(key, "must be a text of one line")
        return value or default

    def flag(self, key: str) -> bool:
        """Return a truth value, false if it is not there."""
        value = self.values.get(key, False)
        if not isinstance(value, bool):
            raise self.wrong(key, "must be true or false")
        return value

    def number(self, key: str, default: int, low: int, high: int) -> int:
        """Return a whole number within bounds."""
        value = self.values.get(key, default)
        if not isinstance(value, int) or isinstance(value, bool):
            raise self.wrong(key, "must be a whole number")
        if not low <= value <= high:
            raise self.wrong(key, f"must be between {low} and {high}")
        return value

    def choice(self, key: str, allowed: Sequence[str], default: str) -> str:
        """Return one of some words."""
        value = self.text(key, default)
        if value not in allowed:
            said = ", ".join(one or '""' for one in allowed)
            raise self.wrong(key, f'cannot be "{value}"', hint=f"it can be: {said}")
        return value

    def label(self, key: str, default: str = "") -> str:
        """Return a name as a namespace or a volume has one, or nothing if that is the default."""
        return self._named(key, default, _LABEL, 63, "a-z, 0-9 and dashes, at most 63 of them")

    def object_name(self, key: str) -> str:
        """Return the name of an object of the cluster, or nothing."""
        return self._named(key, "", _SUBDOMAIN, 253, "a-z, 0-9, dashes and dots")

    def path(self, key: str, default: str = "") -> str:
        """Return an absolute path in a pod, without a trailing slash."""
        value = self.text(key, default)
        if not value.startswith("/") or ":" in value or ".." in value.split("/"):
            raise self.wrong(key, f'must be an absolute path, not "{value}"')
        return value.rstrip("/") or "/"

    def pairs(self, key: str) -> tuple[tuple[str, str], ...]:
        """Return a table of texts, sorted by name."""
        value = self.values.get(key, {})
        if not isinstance(value, Mapping):
            raise self.wrong(key, 'must be a table of texts, as { name = "value" }')
        for name, inner in value.items():
            if not isinstance(inner, str):
                raise self.wrong(key, f'must hold texts only, and "{name}" is none')
        return tuple(sorted(value.items()))

    def texts(self, key: str) -> tuple[str, ...]:
        """Return a list of texts."""
        value = self.values.get(key, [])
        if not isinstance(value, list | tuple) or not all(isinstance(one, str) for one in value):
            raise self.wrong(key, "must be a list of texts")
        return tuple(value)

    def each(self, key: str, read: Callable[[Table], T]) -> tuple[T, ...]:
        """Return what is read from each table of a list."""
        value = self.values.get(key, [])
        if not isinstance(value, list | tuple) or not all(
            isinstance(one, Mapping) for one in value
        ):
            raise self.wrong(key, "must be a list of tables")
        return tuple(
            read(Table(one, f"{self.called} {key}[{at}]", {})) for at, one in enumerate(value)
        )

    def one_of(self, keys: Sequence[str]) -> str:
        """Return which of some keys is there; raises ConfigError unless it is exactly one."""
        found = [key for key in keys if self.values.get(key)]
        if len(found) != 1:
            raise ConfigError(f"{self.called} needs exactly one of {', '.join(keys)}")
        return found[0]

    def _named(
        self, key: str, default: str, pattern: re.Pattern[str], longest: int, what: str
    ) -> str:
        value = self.text(key, default)
        if value == "" == default:
            return value
        if len(value) > longest or not pattern.fullmatch(value):
            raise self.wrong(key, f'must be made of {what}, not "{value}"')
        return value


def is_object_name(text: str) -> bool:
    """Whether an object of the cluster may have that name."""
    return len(text) <= 253 and _SUBDOMAIN.fullmatch(text) is not None


def is_variable(text: str) -> bool:
    """Whether an environment variable of a container may have that name."""
    return _VARIABLE.fullmatch(text) is not None


def is_label(key: str, value: str) -> bool:
    """Whether a node may have that label."""
    prefix, slash, name = key.rpartition("/")
    is_key = _NAME.fullmatch(name) is not None and (not slash or is_object_name(prefix))
    return is_key and (not value or _NAME.fullmatch(value) is not None)
