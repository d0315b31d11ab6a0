"""A crash that is told says what follows, and how often it was so."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from tests.unit.core.test_ends import CITY, ENDED, KNOWN, NOW, POLICY, SPEC

from gascity.core.actions import EventType
from gascity.core.dead import _ordinal
from gascity.core.decide import decide
from gascity.core.decision import Permit, Wanted
from gascity.core.model import RestartPolicy


def told(restarts: int = 0, policy: RestartPolicy = POLICY, permit: Permit | None = None) -> str:
    spec = replace(SPEC, restarts=policy)
    memory = replace(KNOWN, restarts=(NOW - 50,) * restarts)
    decision = decide(
        spec, Wanted(), ENDED, memory, city_id=CITY, now=NOW, permit=permit or Permit()
    )
    (message,) = [e.message for e in decision.events if e.type is EventType.SESSION_CRASHED]
    return message


def test_the_first_one_is_started_again_at_once() -> None:
    assert told() == "exited with status 1; starts again at once"


def test_a_later_one_waits_and_is_counted() -> None:
    assert re.fullmatch(
        r"exited with status 1; starts again in (0\.9|1\.[01]) s \(2nd time within 600 s\)", told(1)
    )
    slow = replace(POLICY, first_delay=40.0)
    assert re.search(r"; starts again in [34]\d s \(2nd time", told(1, slow))


def test_an_hour_is_called_so() -> None:
    assert told(1, replace(POLICY, window=3600.0)).endswith(" s (2nd time this hour)")


def test_a_quarantine_is_told_by_itself() -> None:
    assert told(3) == "exited with status 1 (4th time within 600 s)"


def test_one_that_waits_for_another_does_not_start_at_once() -> None:
    assert told(permit=Permit(waits_for="mayor")) == "exited with status 1"


@pytest.mark.parametrize(
    ("number", "word"),
    [
        (1, "1st"),
        (2, "2nd"),
        (3, "3rd"),
        (4, "4th"),
        (11, "11th"),
        (22, "22nd"),
        (113, "113th"),
    ],
)
def test_numbers_are_spoken(number: int, word: str) -> None:
    assert _ordinal(number) == word
