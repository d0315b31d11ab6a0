"""When an agent counts as up, told from its screen."""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence

import pytest

from gascity.screens.reading import Kind, Policy
from gascity.screens.rules import Box, Region, Rule, Rules
from gascity.screens.screen import Screen
from gascity.session.locks import SessionBusy
from gascity.session.readiness import (
    LASTING_TROUBLE,
    MOST_ANSWERS,
    STANDS_STILL,
    ScreenReadiness,
    Stand,
    record,
)

BOX = "----\n> \n----"
DIALOG = "Trust it?\n> 1. Yes\n  2. No\nEnter to confirm"
LOGIN = "Please log in"
RULES = Rules(
    backend="t",
    box=Box(
        first=re.compile(">(?P<text>.*)$"), above=re.compile("^----"), below=re.compile("----")
    ),
    rules=(
        Rule(
            "trust",
            Kind.DIALOG,
            Region.BOTTOM,
            match=(re.compile("Trust it"),),
            box=False,
            accept=re.compile("^Yes"),
            deny=re.compile("^No"),
        ),
        Rule("login", Kind.AUTH, Region.BOTTOM, match=(re.compile("log in"),), box=False),
        Rule("prompt", Kind.READY, Region.BOX, box=True),
    ),
)


class Model:
    """A program that shows a text, and a box after Enter on its first option."""

    def __init__(self, shows: str, *, attached: int = 0, deaf: bool = False) -> None:
        self.shows = shows
        self.keys: list[str] = []
        self.time = 0.0
        self._attached = attached
        self._deaf = deaf

    def look(self, *, timeout: float) -> Screen:
        rows = tuple(self.shows.split("\n"))
        return Screen(rows, attached=self._attached)

    def press(self, keys: Sequence[str], *, timeout: float) -> None:
        self.keys += keys
        if "Enter" in keys and not self._deaf:
            self.shows = BOX

    def paste(self, text: str, *, timeout: float) -> None:
        raise AssertionError(text)

    def wake(self, *, timeout: float) -> None:
        raise AssertionError


@contextlib.contextmanager
def free(_: float) -> Iterator[None]:
    yield


def taken(_: float) -> contextlib.AbstractContextManager[None]:
    raise SessionBusy("somebody else types")


def watch(
    model: Model,
    rules: Rules = RULES,
    policies: Mapping[str, Policy] | None = None,
    hold: object = free,
) -> ScreenReadiness:
    chosen = {"trust": Policy.ACCEPT} if policies is None else policies
    return ScreenReadiness(model, rules, chosen, hold, now=lambda: model.time)  # type: ignore[arg-type]  # a lock


def test_an_input_box_is_ready() -> None:
    assert watch(Model(BOX)).stand(timeout=5) is Stand.READY


@pytest.mark.parametrize("shows", ["", "loading", "1. Yes"])
def test_anything_else_is_not_yet(shows: str) -> None:
    assert watch(Model(shows)).stand(timeout=5) is Stand.NOT_YET


def test_a_box_that_is_drawn_before_a_dialog_must_last() -> None:
    model = Model(BOX)
    lasting = Rules("t", RULES.box, RULES.rules, lasting=4.0)
    readiness = watch(model, lasting, {"trust": Policy.ASK})

    assert readiness.stand(timeout=5) is Stand.NOT_YET
    model.time = 3.0
    model.shows = DIALOG
    assert readiness.stand(timeout=5) is Stand.STUCK
    model.shows = BOX
    model.time = 5.0
    assert readiness.stand(timeout=5) is Stand.NOT_YET
    model.time = 8.9
    assert readiness.stand(timeout=5) is Stand.NOT_YET
    model.time = 9.0
    assert readiness.stand(timeout=5) is Stand.READY


def test_a_dialog_is_answered_and_kept_on_record() -> None:
    model = Model(DIALOG)
    readiness = watch(model)

    assert readiness.stand(timeout=5) is Stand.NOT_YET
    assert readiness.stand(timeout=5) is Stand.READY

    assert model.keys == ["Enter"]
    ((name, given),) = readiness.answers
    kept = json.loads(record(name, given))
    assert (kept["dialog"], kept["done"], kept["chosen"]) == ("trust", True, "Yes")
    assert kept["before"] == DIALOG.split("\n")
    assert kept["after"] == BOX.split("\n")


@pytest.mark.parametrize("policies", [{"trust": Policy.ASK}, {}])
def test_a_dialog_for_a_person_ends_the_wait(policies: Mapping[str, Policy]) -> None:
    model = Model(DIALOG)

    assert watch(model, policies=policies).stand(timeout=5) is Stand.STUCK

    assert model.keys == []


def test_a_dialog_is_left_to_the_person_who_is_there() -> None:
    model = Model(DIALOG, attached=1)

    assert watch(model).stand(timeout=5) is Stand.NOT_YET

    assert model.keys == []


def test_nobody_types_into_the_hands_of_another() -> None:
    model = Model(DIALOG)

    assert watch(model, hold=taken).stand(timeout=5) is Stand.NOT_YET

    assert model.keys == []


def test_a_dialog_that_cannot_be_answered_ends_the_wait() -> None:
    readiness = watch(Model(DIALOG.replace("Yes", "Perhaps")))

    for _ in range(MOST_ANSWERS):
        assert readiness.stand(timeout=0.5) is Stand.NOT_YET

    assert readiness.stand(timeout=0.5) is Stand.STUCK


def test_a_screen_that_no_rule_knows_and_that_stands_still_ends_the_wait() -> None:
    model = Model("What is this? 1%")
    readiness = watch(model)

    assert readiness.stand(timeout=5) is Stand.NOT_YET
    model.time = STANDS_STILL
    model.shows = "What is this? 99%"
    assert readiness.stand(timeout=5) is Stand.NOT_YET
    model.time += STANDS_STILL
    assert readiness.stand(timeout=5) is Stand.STUCK


def test_a_blank_screen_is_waited_for() -> None:
    model = Model("")
    readiness = watch(model)

    assert readiness.stand(timeout=5) is Stand.NOT_YET
    model.time = 10 * STANDS_STILL
    assert readiness.stand(timeout=5) is Stand.NOT_YET


def test_a_login_screen_that_lasts_ends_the_wait() -> None:
    model = Model(LOGIN)
    readiness = watch(model)

    assert readiness.stand(timeout=5) is Stand.NOT_YET
    model.time = LASTING_TROUBLE
    assert readiness.stand(timeout=5) is Stand.STUCK
