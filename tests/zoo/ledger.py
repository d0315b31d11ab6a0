"""What was said to be delivered beside what a program took, and what is wrong between the two."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import NamedTuple


class Entry(NamedTuple):
    """One event of a program's log."""

    event: str
    text: str


class Sent(NamedTuple):
    """One delivery as it was answered: the outcome's name and the text that was sent."""

    delivery: str
    text: str


@dataclass(frozen=True)
class Faults:
    """What must not be: all of these are 0 when delivery is right.

    `lost` were said to be submitted and nothing came; `altered` came as another text; `doubled`
    came more than once; `stray` came although it was said not to be handed over; `executed` was
    run and not read; `answered` keys went into a dialog; `touched` counts input of any kind at a
    program that was sent nothing.
    """

    lost: int = 0
    altered: int = 0
    doubled: int = 0
    stray: int = 0
    executed: int = 0
    answered: int = 0
    touched: int = 0

    @property
    def false_submitted(self) -> int:
        """How many were said to be submitted while the program did not get that text."""
        return self.lost + self.altered

    def __add__(self, other: Faults) -> Faults:
        names = [field.name for field in fields(self)]
        return Faults(**{name: getattr(self, name) + getattr(other, name) for name in names})

    def __bool__(self) -> bool:
        return any(getattr(self, field.name) for field in fields(self))


def read_log(path: Path, begin: int = 0) -> list[Entry]:
    """Return what a program logged so far, from a byte of its log on."""
    try:
        data = path.read_bytes()[begin:]
    except FileNotFoundError:
        return []
    whole = data[: data.rfind(b"\n") + 1]  # a long line may be on its way
    return [Entry(**json.loads(line)) for line in whole.splitlines()]


def taken(entries: Iterable[Entry]) -> list[str]:
    """Return the messages that the program took, in order."""
    return [entry.text for entry in entries if entry.event == "submitted"]


def compare(sent: Sequence[Sent], entries: Sequence[Entry]) -> Faults:
    """Return what is wrong about these deliveries. Texts should differ from one another."""
    came = Counter(taken(entries))
    said = Counter(text for delivery, text in sent if delivery == "submitted")
    maybe = Counter(text for delivery, text in sent if delivery == "unverified")
    missing = (said - came).total()
    extra = came - said - maybe
    doubled = Counter({text: extra[text] for text in extra if text in said or text in maybe})
    unheard_of = (extra - doubled).total()
    altered = min(missing, unheard_of)
    quiet = all(delivery in ("refused", "queued", "absent") for delivery, _ in sent)
    return Faults(
        lost=missing - altered,
        altered=altered,
        doubled=doubled.total(),
        stray=unheard_of - altered,
        executed=sum(entry.event == "executed" for entry in entries),
        answered=sum(entry.event == "dialog" for entry in entries),
        touched=sum(entry.event == "input" for entry in entries) if quiet else 0,
    )
