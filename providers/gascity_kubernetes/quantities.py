"""Amounts as Kubernetes writes them: "500m", "1Gi", "2", "1e3"."""

from __future__ import annotations

import re
from fractions import Fraction

_WRITTEN = re.compile(
    r"(?P<number>\d+(\.\d*)?|\.\d+)(?P<unit>[KMGTPE]i|[numkMGTPE]|[eE][+-]?\d{1,2})?"
)
_UNITS: dict[str, int] = {"n": -3, "u": -2, "m": -1, "k": 1, "M": 2, "G": 3, "T": 4, "P": 5, "E": 6}


def read_quantity(text: str) -> Fraction:
    """Return an amount as a number; raises ValueError for what is none."""
    found = _WRITTEN.fullmatch(text)
    if found is None:
        raise ValueError(text)
    number, unit = Fraction(found["number"]), found["unit"] or ""
    if unit.endswith("i"):
        return number * Fraction(1024) ** _UNITS[unit[0].replace("K", "k")]
    if unit[1:]:
        return number * Fraction(10) ** int(unit[1:])
    return number * Fraction(1000) ** _UNITS.get(unit, 0)
