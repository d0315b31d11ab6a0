"""Versions of programs, and ranges such as `>=2.1.251,<3`."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable

_PART = re.compile(r"\s*(?P<sign>>=|<=|==|>|<)\s*(?P<version>\d+(?:\.\d+)*)\s*")
_SIGNS: dict[str, Callable[[tuple[int, ...], tuple[int, ...]], bool]] = {
    ">=": operator.ge,
    "<=": operator.le,
    "==": operator.eq,
    ">": operator.gt,
    "<": operator.lt,
}


def check_range(text: str) -> None:
    """Raise ValueError for what is no range."""
    for part in text.split(",") if text else ():
        if _PART.fullmatch(part) is None:
            raise ValueError('expected a range of versions, such as ">=2.1,<3"')


def in_range(version: str, text: str) -> bool:
    """Tell whether a version is in a range; every one is in an empty range."""
    have = _numbers(version)
    for part in text.split(",") if text else ():
        found = _PART.fullmatch(part)
        if found is not None and not _SIGNS[found["sign"]](have, _numbers(found["version"])):
            return False
    return True


def _numbers(version: str) -> tuple[int, ...]:
    """Return the numbers of a version without zeros at its end: 2.0 is 2."""
    numbers = [int(number) for number in re.findall(r"\d+", version)]
    while numbers and not numbers[-1]:
        numbers.pop()
    return tuple(numbers)
