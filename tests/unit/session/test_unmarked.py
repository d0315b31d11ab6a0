"""Typing at a program that nobody described."""

from __future__ import annotations

import time
from collections.abc import Sequence

import pytest

from gascity.errors import ProviderUnavailable
from gascity.screens.screen import Screen
from gascity.session.receipts import Delivery
from gascity.session.unmarked import deliver_unmarked


class _Fading:
    """A terminal that answers so many times, and then no more."""

    def __init__(self, answers: int) -> None:
        self.answers = answers
        self.typed: list[str] = []

    def look(self, *, timeout: float) -> Screen:
        self._answer(timeout)
        return Screen(("$ " + "".join(self.typed),), cursor=(0, 2))

    def press(self, keys: Sequence[str], *, timeout: float) -> None:
        self._answer(timeout)
        self.typed += keys

    def paste(self, text: str, *, timeout: float) -> None:
        self._answer(timeout)
        self.typed.append(text)

    def wake(self, *, timeout: float) -> None:
        self._answer(timeout)

    def _answer(self, timeout: float) -> None:
        assert timeout > 0
        self.answers -= 1
        if self.answers < 0:
            raise ProviderUnavailable("it does not answer")


@pytest.mark.parametrize("answers", [1, 2, 3, 4, 5])
def test_an_outage_after_something_was_typed_is_doubt(answers: int) -> None:
    terminal = _Fading(answers)

    receipt = deliver_unmarked(terminal, "hello", deadline=time.monotonic() + 5)

    assert receipt.delivery is Delivery.UNVERIFIED
    assert receipt.evidence == "it does not answer"


def test_an_outage_before_anything_was_typed_is_an_outage() -> None:
    terminal = _Fading(0)

    with pytest.raises(ProviderUnavailable):
        deliver_unmarked(terminal, "hello", deadline=time.monotonic() + 5)

    assert terminal.typed == []
