"""Where each key of a TOML text stands, which `tomllib` does not tell.

The scan is made before anyone parses the text, so it takes any text: it never raises, looks at
each character a bounded number of times, and stops where the text stops being TOML. It also finds
the two things that would make the parser slow or overflow its stack (deep nesting, keys of many
parts), and the values that must not be shown because of their key.
"""

from __future__ import annotations

import bisect
import re
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, field

from gascity.core.fingerprint import looks_secret

Path = tuple[str | int, ...]

ADDRESSES = frozenset({"webhook", "apprise"})  # whoever knows one can write there
DEEPEST = 32  # levels of arrays and inline tables; a city needs three
LONGEST_KEY = 8  # parts of a dotted key; the parser takes quadratic time over them
_NOTED = 1000  # elements of one array whose places are kept

_BLANK = re.compile(r"(?:[ \t\r\n]|#[^\n]*)*+")
_SPACE = re.compile(r"[ \t]*+")
_BARE = re.compile(r"[A-Za-z0-9_-]++")
_SCALAR = re.compile(r"[^,\]}#\n]*+")
_ENDS = {  # by opening quotes: what comes next in such a string, its end or an escape
    '"""': re.compile(r'\\.|"{3,5}', re.DOTALL),
    "'''": re.compile(r"'{3,5}"),
    '"': re.compile(r'\\.|["\n]'),
    "'": re.compile(r"['\n]"),
}


@dataclass(frozen=True, slots=True)
class Limit:
    """Something in the text that must not be given to the parser."""

    offset: int
    message: str


@dataclass(frozen=True, slots=True)
class Places:
    """The result of a scan; offsets count characters from the start of the text."""

    offsets: dict[Path, int]
    secrets: Sequence[tuple[int, int]]
    limit: Limit | None

    def offset(self, path: Path) -> int:
        """Return where `path` stands: its key, in arrays its value, else what it would be in."""
        while path and path not in self.offsets:
            path = path[:-1]
        return self.offsets.get(path, 0)


def scan(text: str) -> Places:
    """Return the places of all keys in `text`, up to where it stops being TOML."""
    scanner = _Scanner(text)
    try:
        scanner.document()
    except _Stopped as stopped:
        return Places(scanner.offsets, scanner.secrets, stopped.limit)
    return Places(scanner.offsets, scanner.secrets, None)


class Lines:
    """Line and column, both from 1, of offsets in a text."""

    def __init__(self, text: str) -> None:
        self._starts = [0, *(found.end() for found in re.finditer("\n", text))]

    def place(self, offset: int) -> tuple[int, int]:
        """Return the line and column of an offset."""
        line = bisect.bisect_right(self._starts, offset)
        return line, offset - self._starts[line - 1] + 1

    def offset(self, line: int, column: int) -> int:
        """Return the offset of a place; one that does not exist gives the nearest that does."""
        return self._starts[min(max(line, 1), len(self._starts)) - 1] + max(column, 1) - 1


class _Stopped(Exception):
    def __init__(self, limit: Limit | None = None) -> None:
        super().__init__()
        self.limit = limit


@dataclass(slots=True)
class _Open:
    """An array or inline table that is being scanned."""

    close: str
    path: Path
    secret: bool
    count: int = field(default=0)


class _Scanner:
    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.offsets: dict[Path, int] = {}
        self.secrets: list[tuple[int, int]] = []
        self.sizes: dict[Path, int] = {}  # of arrays of tables, so far

    def document(self) -> None:
        table: Path = ()
        self._skip(_BLANK)
        while self.at < len(self.text):
            if self.text.startswith("[", self.at):
                table = self._header()
            else:
                keys = self._pair(table)
                self._value(table + keys, secret=_any_secret(keys))
            self._skip(_BLANK)

    def _header(self) -> Path:
        start = self.at
        double = self.text.startswith("[[", start)
        self.at += 2 if double else 1
        keys = self._keys()
        self._expect("]]" if double else "]")
        path: Path = ()
        for key in keys[:-1]:
            path = self._latest((*path, key))
            self.offsets.setdefault(path, start)
        path = (*path, keys[-1])
        self.offsets.setdefault(path, start)
        if double:
            self.sizes[path] = self.sizes.get(path, 0) + 1
        path = self._latest(path)
        self.offsets.setdefault(path, start)
        return path

    def _latest(self, path: Path) -> Path:
        return (*path, self.sizes[path] - 1) if path in self.sizes else path

    def _pair(self, table: Path) -> tuple[str, ...]:
        """Scan `key =` and return the parts of the key."""
        start = self.at
        keys = self._keys()
        self._expect("=")
        for depth in range(1, len(keys) + 1):
            self.offsets.setdefault(table + keys[:depth], start)
        self._skip(_SPACE)
        return keys

    def _value(self, path: Path, *, secret: bool) -> None:
        """Scan one value with all that is in it, without recursion."""
        stack: list[_Open] = []
        while True:
            start = self.at
            match self.text[start : start + 1]:
                case "[":
                    stack.append(_Open("]", path, secret))
                    self.at += 1
                case "{":
                    stack.append(_Open("}", path, secret))
                    self.at += 1
                case _:
                    self._scalar(secret=secret)
            if len(stack) > DEEPEST:
                raise _Stopped(Limit(start, f"nested more than {DEEPEST} levels deep"))
            if not self._to_next(stack):
                return
            inside = stack[-1]
            path, secret = inside.path, inside.secret
            if inside.close == "}":
                keys = self._pair(path)
                path, secret = path + keys, secret or _any_secret(keys)
            else:
                path = (*path, inside.count)
                if inside.count < _NOTED:
                    self.offsets.setdefault(path, self.at)
                inside.count += 1

    def _to_next(self, stack: list[_Open]) -> bool:
        """Move to the next value or pair in the innermost open thing; close those that end."""
        while stack:
            self._skip(_BLANK)
            match self.text[self.at : self.at + 1]:
                case "":
                    raise _Stopped
                case ",":
                    self.at += 1
                case "]" | "}" as close:
                    if close != stack.pop().close:
                        raise _Stopped
                    self.at += 1
                case _:
                    return True
        return False

    def _scalar(self, *, secret: bool) -> None:
        start = self.at
        quotes = self._quotes()
        complete = self._string(quotes) if quotes else self._skip(_SCALAR)
        if secret:
            self.secrets.append((start, self.at))
        if not complete:
            raise _Stopped

    def _quotes(self) -> str:
        for quotes in _ENDS:
            if self.text.startswith(quotes, self.at):
                return quotes
        return ""

    def _string(self, quotes: str) -> bool:
        """Move behind the string, or to the end of what can be part of it; tell which."""
        at = self.at + len(quotes)
        while (found := _ENDS[quotes].search(self.text, at)) is not None:
            at = found.end()
            if found[0].startswith(quotes):
                self.at = at
                return True
            if found[0] == "\n":
                break
        self.at = len(self.text) if found is None else found.start()
        return False

    def _keys(self) -> tuple[str, ...]:
        start = self.at
        keys: list[str] = []
        while True:
            self._skip(_SPACE)
            keys.append(self._key())
            if len(keys) > LONGEST_KEY:
                raise _Stopped(Limit(start, f"a key of more than {LONGEST_KEY} parts"))
            self._skip(_SPACE)
            if not self.text.startswith(".", self.at):
                return tuple(keys)
            self.at += 1

    def _key(self) -> str:
        start = self.at
        quotes = self.text[start : start + 1]
        if quotes not in {'"', "'"}:
            if not self._skip(_BARE):
                raise _Stopped
            return self.text[start : self.at]
        if not self._string(quotes):
            raise _Stopped
        quoted = self.text[start : self.at]
        if quotes == "'" or "\\" not in quoted:
            return quoted[1:-1]
        try:
            return next(iter(tomllib.loads(f"{quoted} = 0")))
        except ValueError:
            raise _Stopped from None

    def _expect(self, text: str) -> None:
        self._skip(_SPACE)
        if not self.text.startswith(text, self.at):
            raise _Stopped
        self.at += len(text)

    def _skip(self, pattern: re.Pattern[str]) -> bool:
        found = pattern.match(self.text, self.at)
        self.at = found.end() if found else self.at
        return found is not None


def is_hidden(key: str) -> bool:
    """Tell whether the value of a key must not be shown."""
    return looks_secret(key) or key in ADDRESSES


def _any_secret(keys: Sequence[str]) -> bool:
    return any(is_hidden(key) for key in keys)
