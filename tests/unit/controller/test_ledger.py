"""What notes make of the records of runs, where they come in odd orders."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace

import pytest

from gascity.controller.ledger import MOMENT, WAITED, Ledger
from gascity.controller.noting import Began, Ended, NotUp, Pends, Sight, Up
from gascity.core.actions import EventType
from gascity.core.model import AgentSpec
from gascity.core.observed import (
    CITY_ID,
    READY,
    RUN,
    STARTING,
    Alive,
    Exited,
    Life,
    ProcessId,
    SessionState,
    Standing,
)
from gascity.runs.ids import new_run_id
from gascity.runs.info import RunInfo, Status

SPEC = AgentSpec("a", "gc-c-a", "fake", "demo", "true", "/", "f")
LATER = MOMENT + 1


class Book:
    """A ledger with the records it was asked to write."""

    def __init__(self) -> None:
        self.kept: dict[str, RunInfo] = {}
        self.ledger = Ledger("c", "c0ffee", self.kept.get, lambda _: 0)
        self.run = new_run_id()

    def info(self) -> RunInfo:
        """Write what changed; return the record of the run."""
        self.kept |= self.ledger.changed
        self.ledger.changed.clear()
        return self.kept[self.run]

    def start(self) -> None:
        self.ledger.take(Began(self.run, SPEC, "wanted by the city", "", 1000.0))
        self.ledger.take(Up(self.run))

    def see(self, *states: SessionState, began: float | None = None) -> None:
        moment = time.monotonic() if began is None else began
        self.ledger.take(Sight("fake", {state.name: state for state in states}, moment))

    def state(
        self, life: Life | None = None, city: str = "c0ffee", meta: Mapping[str, str] | None = None
    ) -> SessionState:
        return SessionState(
            "gc-c-a",
            life or Alive(),
            ProcessId(7, "boot"),
            meta={CITY_ID: city, RUN: self.run, **(meta or {})},
        )

    def end(self, kind: EventType, message: str, *, asked: bool) -> None:
        self.ledger.take(Ended(self.run, "a", "gc-c-a", kind, message, asked, None, 1010.0))

    def pass_a_moment(self) -> None:
        self.ledger.settle(time.monotonic() + LATER)


@pytest.fixture
def book() -> Book:
    return Book()


def test_a_look_that_is_older_than_a_start_says_nothing_of_it(book: Book) -> None:
    before = time.monotonic()
    book.start()

    book.see(began=before)
    book.pass_a_moment()

    assert book.info().status is Status.RUNNING


def test_a_start_that_is_under_way_is_not_missed(book: Book) -> None:
    book.ledger.take(Began(book.run, SPEC, "wanted by the city", "", 1000.0))

    book.see()
    book.pass_a_moment()

    assert book.info().status is Status.RUNNING


def test_what_is_not_seen_any_more_is_over_after_a_moment(book: Book) -> None:
    book.start()
    book.see()
    assert book.ledger.has_doubts()
    book.ledger.settle(time.monotonic())
    assert book.info().status is Status.RUNNING

    book.pass_a_moment()

    assert (book.info().status, book.info().end) == (Status.FAILED, "nobody saw how it ended")
    assert not book.ledger.has_doubts()


def test_who_is_seen_again_in_time_goes_on(book: Book) -> None:
    book.start()
    book.see()
    book.see(book.state())

    book.pass_a_moment()

    assert book.info().status is Status.RUNNING


def test_an_end_told_late_is_told_better(book: Book) -> None:
    book.start()
    book.see(book.state(Exited(code=3)))
    book.pass_a_moment()
    assert (book.info().end, book.info().crash) == ("exited with status 3", False)

    book.end(EventType.SESSION_CRASHED, "exited with status 3", asked=False)

    assert (book.info().end, book.info().crash) == ("crashed: exited with status 3", True)
    assert book.info().exit_code == 3


def test_the_first_word_on_an_end_counts(book: Book) -> None:
    book.start()
    book.end(EventType.SESSION_CRASHED, "exited with status 3", asked=False)
    crashed = book.info()

    book.end(EventType.SESSION_STOPPED, "it crashed: exited with status 3", asked=True)

    assert book.info() == crashed


def test_an_end_that_is_excused_is_neither_a_crash_nor_asked_for(book: Book) -> None:
    book.start()
    book.see(book.state(Exited(code=1)))

    book.end(EventType.SESSION_STOPPED, "its limit was used up, so it is no crash", asked=False)

    info = book.info()
    assert (info.status, info.crash, info.asked) == (Status.FAILED, False, False)
    assert info.end == "its limit was used up, so it is no crash"


def test_a_run_that_was_given_up_and_lives_is_open_again(book: Book) -> None:
    book.start()
    book.see()
    book.pass_a_moment()
    assert book.info().status is Status.FAILED

    book.see(book.state())

    info = book.info()
    assert (info.status, info.end, info.end_time) == (Status.RUNNING, "", "")
    assert info.why == "wanted by the city"


def test_a_look_that_is_older_than_an_end_does_not_open_the_record_again(book: Book) -> None:
    book.start()
    before = time.monotonic()
    book.end(EventType.SESSION_STOPPED, "the city is being stopped", asked=True)

    book.see(book.state(), began=before)

    assert (book.info().status, book.info().asked) == (Status.COMPLETED, True)


def test_sessions_of_others_have_no_records(book: Book) -> None:
    book.see(book.state(city="another"))
    book.see(replace(book.state(), meta={CITY_ID: "c0ffee", RUN: "../../etc"}))

    assert not book.ledger.changed


def test_readiness_is_told_once_the_start_is_over(book: Book) -> None:
    book.start()
    book.see(book.state(meta={STARTING: book.run, READY: "timeout"}))
    assert (book.info().ready, book.info().pid) == ("", 7)

    book.see(book.state(meta={READY: "timeout"}))

    assert book.info().ready == "timeout"


def test_a_start_that_failed_stays_one(book: Book) -> None:
    book.ledger.take(Began(book.run, SPEC, "wanted by the city", "", 1000.0))
    book.ledger.take(NotUp(book.run, "it ended at once", "oops", 1001.0))
    failed = book.info()

    book.end(EventType.SESSION_STOPPED, "x", asked=True)

    assert book.info() == failed
    assert (failed.end, failed.duration) == ("the start failed: it ended at once", 1.0)
    assert book.ledger.words[book.run] == ("a", "oops")


def test_a_run_nobody_recorded_has_a_record_of_its_end(book: Book) -> None:
    book.end(EventType.SESSION_CRASHED, "the session is gone, nobody saw how", asked=False)

    assert (book.info().agent, book.info().status, book.info().crash) == ("a", Status.FAILED, True)


def test_what_cannot_be_written_is_given_up_from_the_oldest_on(book: Book) -> None:
    for _ in range(5):
        book.run = new_run_id()
        book.start()

    book.ledger.forget(2)

    assert list(book.ledger.changed) == list(book.ledger.open)[-2:]


def pending(book: Book) -> SessionState:
    return replace(book.state(), standing=Standing.PENDING, condition="full")


def test_a_start_that_has_to_wait_goes_on_in_the_same_record(book: Book) -> None:
    book.ledger.take(Began(book.run, SPEC, "wanted by the city", "", 1000.0))
    book.ledger.take(Pends(book.run))
    book.see(pending(book))
    book.pass_a_moment()
    book.ledger.take(Began(book.run, SPEC, "it had to wait", "", 1060.0))
    book.ledger.take(Up(book.run))
    book.see(book.state())
    info = book.info()

    assert info.status is Status.RUNNING
    assert info.why == "wanted by the city"
    assert info.previous_run_id == ""


def test_a_start_that_waits_before_there_is_a_session_has_not_failed(book: Book) -> None:
    book.ledger.take(Began(book.run, SPEC, "wanted by the city", "", 1000.0))
    book.ledger.take(Pends(book.run))
    book.see()
    book.pass_a_moment()

    assert book.info().status is Status.RUNNING


def test_one_that_was_gone_before_it_came_up_did_not_start(book: Book) -> None:
    book.ledger.take(Began(book.run, SPEC, "wanted by the city", "", 1000.0))
    book.ledger.take(Pends(book.run))
    book.see()
    book.ledger.settle(time.monotonic() + WAITED)

    assert book.info().end == "the start failed: it was gone before it came up"
    assert book.info().status is Status.FAILED
    book.ledger.take(Began(book.run, SPEC, "it had to wait", "", 1060.0))
    assert book.info().status is Status.RUNNING
    assert book.info().end == ""


def test_one_that_is_pending_without_a_record_gets_none_before_it_is_up(book: Book) -> None:
    book.see(pending(book))

    assert book.ledger.changed == {}
    book.see(book.state())
    assert book.info().status is Status.RUNNING


def test_why_it_ended_is_taken_when_it_is_known_later(book: Book) -> None:
    book.start()
    book.see(book.state(Exited(137)))
    book.see(book.state(Exited(137, reason="it ran out of memory")))
    book.pass_a_moment()

    assert book.info().end == "exited with status 137: it ran out of memory"
    assert book.info().exit_code == 137
