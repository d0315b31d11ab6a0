"""A signal that comes while a process stands by, or before its controller hears for itself."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable

from gascity.controller.leading import Election, Lead
from gascity.session.leadership import Leadership, Leads, News


class Given(Leadership):
    """The lead of a city for whoever asks, at once or never."""

    def __init__(self, *news: News) -> None:
        self._news = news
        self.given_back: list[bool] = []

    def begin(self, told: Callable[[News], None]) -> None:
        for news in self._news:
            told(news)

    def leads(self) -> bool:
        return True

    def resign(self, *, give_back: bool) -> None:
        self.given_back.append(give_back)


def lead_of(given: Given) -> Lead:
    return Lead(given, Election(lambda _: None, lambda _: None))


def tell(number: int) -> None:
    os.kill(os.getpid(), number)


def test_one_who_stands_by_ends_and_gives_its_claim_back() -> None:
    given = Given()
    lead = lead_of(given)
    with lead.hearing():
        tell(signal.SIGTERM)

        assert lead.stand_by() is None
    assert given.given_back == [True]


def test_one_that_came_before_the_controller_followed_is_told_to_it() -> None:
    lead = lead_of(Given(Leads("me", "nobody led")))
    left: list[str] = []
    with lead.hearing():
        assert lead.stand_by() is not None
        tell(signal.SIGTERM)
    lead.follow(left.append)

    assert left == ["it got SIGTERM"]


def test_one_that_comes_after_that_is_told_to_it_as_well() -> None:
    lead = lead_of(Given(Leads("me", "nobody led")))
    left: list[str] = []
    with lead.hearing():
        assert lead.stand_by() is not None
        lead.follow(left.append)
        tell(signal.SIGINT)

    assert left == ["it got SIGINT"]
