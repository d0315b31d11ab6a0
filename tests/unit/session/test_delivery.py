"""What delivery does besides what the zoo shows: limits that ended, and the end of a process."""

from __future__ import annotations

import contextlib
import re
import threading
import time
from collections.abc import Iterator, Sequence

import pytest

from gascity.errors import ProviderUnavailable
from gascity.screens.reading import Kind
from gascity.screens.rules import Box, Region, Rule, Rules, Talk
from gascity.screens.screen import Screen
from gascity.session.delivery import deliver_to_box, let_typing_end
from gascity.session.receipts import Delivery, Receipt
from gascity.testing.standstill import stood_still

RULES = Rules(
    backend="t",
    box=Box(re.compile(">(?P<text>.*)$"), above=re.compile("^----"), below=re.compile("^----")),
    rules=(
        Rule(
            "limit",
            Kind.LIMITED,
            Region.SCREEN,
            match=(re.compile(r"used up, again in (?P<resets>.*)"),),
            resets=re.compile(r"again in (?P<resets>.*)"),
        ),
        Rule("asks", Kind.WAITING, Region.SCREEN, match=(re.compile(r"^Allow\?"),), box=False),
        Rule("prompt", Kind.READY, Region.BOX, box=True),
    ),
    talk=Talk(settle=0.0, longest=100),
)


class Model:
    """A program with an input box under one line of text."""

    def __init__(self, said: str = "hello", drawn_at: float | None = None) -> None:
        self._said = said
        self._drawn_at = drawn_at
        self.draft = ""
        self.taken: list[str] = []
        self.pasted = threading.Event()
        self.may_submit = threading.Event()
        self.may_submit.set()

    def look(self, *, timeout: float) -> Screen:
        rows = (self._said, "----", f">{self.draft}", "----")
        return Screen(rows, drawn_at=self._drawn_at)

    def press(self, keys: Sequence[str], *, timeout: float) -> None:
        self.may_submit.wait(10)
        self.taken.append(self.draft)
        self.draft = ""

    def paste(self, text: str, *, timeout: float) -> None:
        self.draft = text
        self.pasted.set()

    def wake(self, *, timeout: float) -> None:
        pass


@contextlib.contextmanager
def free(_: float) -> Iterator[None]:
    yield


def deliver(model: Model, text: str = "some words") -> Receipt:
    return deliver_to_box(model, RULES, text, hold=free, deadline=time.monotonic() + 10)


def test_a_limit_that_ends_later_is_not_typed_at() -> None:
    model = Model("used up, again in 2 hours", drawn_at=time.time())

    receipt = deliver(model)

    assert receipt.delivery is Delivery.REFUSED
    assert receipt.evidence == "its limit is used up: used up, again in 2 hours"
    assert model.taken == []


def test_a_limit_counts_from_when_it_was_drawn() -> None:
    model = Model("used up, again in 2 hours", drawn_at=time.time() - 3 * 3600)

    assert deliver(model).delivery is Delivery.SUBMITTED


class Asking(Model):
    """A program that covers its box with a question as soon as it has a message."""

    def look(self, *, timeout: float) -> Screen:
        if not self.taken:
            return super().look(timeout=timeout)
        return Screen(("hello", f"> {self.taken[0]}", "Allow?"))


def test_a_message_is_proven_by_its_echo_above_a_question() -> None:
    receipt = deliver(Asking())

    assert receipt.delivery is Delivery.SUBMITTED
    assert receipt.evidence == "it shows the message and asks: Allow?"


class Disordered(Model):
    """A program whose screen is in disorder until it is drawn again."""

    def __init__(self) -> None:
        super().__init__()
        self.woken = 0

    def look(self, *, timeout: float) -> Screen:
        if not self.woken:
            return Screen(("half a box",))
        return super().look(timeout=timeout)

    def wake(self, *, timeout: float) -> None:
        self.woken += 1


def test_a_screen_in_disorder_is_drawn_again_for_who_waits() -> None:
    model = Disordered()

    deadline = time.monotonic() + 10
    receipt = deliver_to_box(model, RULES, "words", hold=free, deadline=deadline, wait=True)

    assert receipt.delivery is Delivery.SUBMITTED
    assert model.woken == 1


def test_a_message_that_would_not_arrive_as_it_is_is_refused() -> None:
    model = Model()

    receipt = deliver(model, "x" * 101)

    assert receipt.delivery is Delivery.REFUSED
    assert receipt.evidence == "it takes no message of more than 100 characters"
    assert not model.pasted.is_set()


def test_a_process_can_wait_for_what_it_has_typed_to_be_submitted() -> None:
    model = Model()
    model.may_submit.clear()
    delivery = threading.Thread(target=deliver, args=[model])
    delivery.start()
    assert model.pasted.wait(10)

    let_typing_end(0.01)  # gives up in time
    assert model.taken == []
    model.may_submit.set()
    let_typing_end(10)

    assert model.taken == ["some words"]
    delivery.join(10)


@pytest.mark.parametrize("timeout", [0.0, 10.0])
def test_nobody_waits_where_nothing_is_typed(timeout: float) -> None:
    let_typing_end(timeout)


class Sleepy(Model):
    """The machine stands still when words were pasted, and when they are looked for at first."""

    def __init__(self, stack: contextlib.ExitStack) -> None:
        super().__init__()
        self._stack = stack
        self._sleeps = False

    def paste(self, text: str, *, timeout: float) -> None:
        super().paste(text, timeout=timeout)
        self._sleeps = True

    def look(self, *, timeout: float) -> Screen:
        if self._sleeps:
            self._sleeps = False
            self._stack.enter_context(stood_still(120.0))
            raise ProviderUnavailable("it did not answer in time")
        return super().look(timeout=timeout)


def test_words_that_were_pasted_before_a_standstill_are_submitted_after_it() -> None:
    with contextlib.ExitStack() as stack:
        model = Sleepy(stack)

        receipt = deliver(model)

        assert receipt.delivery is Delivery.SUBMITTED
        assert model.taken == ["some words"]
