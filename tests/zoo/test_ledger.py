"""The ledger sees every way in which a delivery can go wrong."""

from __future__ import annotations

import pytest
from tests.zoo.ledger import Entry, Faults, Sent, compare

A, B = Sent("submitted", "a"), Sent("submitted", "b")


def took(*texts: str) -> list[Entry]:
    return [Entry("submitted", text) for text in texts]


@pytest.mark.parametrize(
    ("sent", "entries", "faults"),
    [
        ([A, B], took("a", "b"), Faults()),
        ([A, B], took("b"), Faults(lost=1)),
        ([A], took("a", "a"), Faults(doubled=1)),
        ([A], took("a\n"), Faults(altered=1)),
        ([A, B], took("ab"), Faults(lost=1, altered=1)),
        ([Sent("unverified", "a")], took(), Faults()),
        ([Sent("unverified", "a")], took("a"), Faults()),
        ([Sent("unverified", "a")], took("a", "a"), Faults(doubled=1)),
        ([Sent("refused", "a")], took("a"), Faults(stray=1)),
        ([Sent("refused", "a")], [Entry("input", "a")], Faults(touched=1)),
        ([A], [*took("a"), Entry("executed", "!ls")], Faults(executed=1)),
        ([A], [*took("a"), Entry("dialog", "ENTER")], Faults(answered=1)),
    ],
)
def test_every_fault_is_counted(sent: list[Sent], entries: list[Entry], faults: Faults) -> None:
    assert compare(sent, entries) == faults


def test_what_came_altered_or_not_at_all_was_falsely_called_submitted() -> None:
    assert compare([A, B], took("ab")).false_submitted == 2
