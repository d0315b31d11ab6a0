"""Numbers as text that Prometheus reads (exposition format 0.0.4)."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

Labels = Mapping[str, str]


class Kind(StrEnum):
    """What a number does: rise only, or rise and fall."""

    COUNTER = "counter"
    GAUGE = "gauge"


@dataclass(slots=True)
class Family:
    """All numbers of one name."""

    name: str
    kind: Kind
    about: str
    samples: list[tuple[Labels, float]] = field(default_factory=list)

    def add(self, value: float, **labels: str) -> None:
        """Add one number. No two of a family have the same labels."""
        self.samples.append((labels, value))


def text_of(families: Iterable[Family], labels: Labels) -> str:
    """Return the families as text; all samples have these `labels` before their own.

    A family without samples is left out.
    """
    lines: list[str] = []
    for family in families:
        if not family.samples:
            continue
        about = family.about.replace("\\", r"\\").replace("\n", r"\n")
        lines += [f"# HELP {family.name} {about}", f"# TYPE {family.name} {family.kind}"]
        for own, value in family.samples:
            named = ",".join(f'{key}="{_escaped(each)}"' for key, each in {**labels, **own}.items())
            lines.append(f"{family.name}{{{named}}} {_number(value)}")
    return "".join(f"{line}\n" for line in lines)


def _escaped(value: str) -> str:
    clean = value.encode("utf-8", "replace").decode()
    return clean.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")


def _number(value: float) -> str:
    if math.isnan(value) or math.isinf(value):
        return "NaN" if math.isnan(value) else ("+Inf" if value > 0 else "-Inf")
    return str(int(value)) if value == int(value) and abs(value) < 2**53 else repr(float(value))
