"""Whose words count: those of the agent's own tool, in its living incarnation."""

from __future__ import annotations

from gascity.controller.hearing import Hearing
from gascity.core.observed import RUN, Alive, Exited, SessionState, Shown
from gascity.core.reports import FRESH, Report
from gascity.screens.reading import Kind, Reading

SESSIONS = {"s": SessionState("s", Alive(), meta={RUN: "r1"})}


def says(kind: Kind | None, owner: str = "me", run: str = "r1", at: float = 100.0) -> Report:
    return Report(run, kind, at, "Event", "Event", owner)


def kind_of(hearing: Hearing, now: float = 100.0) -> Kind | None:
    found = hearing.over({}, SESSIONS, ["s"], now).get("s")
    return None if found is None else found.reading.kind


def test_the_first_that_speaks_is_the_agent_and_what_it_starts_is_not() -> None:
    hearing = Hearing()

    assert hearing.take("s", says(None), "r1")
    assert hearing.take("s", says(Kind.WORKING), "r1")
    assert not hearing.take("s", says(Kind.READY, owner="nested"), "r1")
    assert not hearing.take("s", says(None, owner="nested"), "r1", ends=True)
    assert kind_of(hearing) is Kind.WORKING


def test_after_its_session_ended_the_next_is_the_agent() -> None:
    hearing = Hearing()
    hearing.take("s", says(Kind.WORKING), "r1")

    assert hearing.take("s", says(None), "r1", ends=True)
    assert kind_of(hearing) is None
    assert hearing.take("s", says(Kind.READY, owner="cleared"), "r1")
    assert kind_of(hearing) is Kind.READY


def test_the_last_words_of_a_former_self_are_dropped() -> None:
    hearing = Hearing()
    hearing.take("s", says(Kind.WORKING), "r1")

    assert not hearing.take("s", says(Kind.READY, "old", run="r0"), "r1")
    assert kind_of(hearing) is Kind.WORKING


def test_a_new_self_may_speak_before_it_is_seen() -> None:
    hearing = Hearing()
    hearing.take("s", says(Kind.READY, "old", run="r0"), "r0")

    assert hearing.take("s", says(Kind.WORKING), "")
    assert kind_of(hearing) is Kind.WORKING


def test_nothing_is_said_of_another_run_nor_of_one_that_ended() -> None:
    hearing = Hearing()
    hearing.take("s", says(Kind.WORKING, run="r2"), "")
    assert kind_of(hearing) is None

    hearing.take("s", says(Kind.WORKING), "r1")
    ended = {"s": SessionState("s", Exited(0), meta={RUN: "r1"})}
    assert hearing.over({}, ended, ["s"], 100.0) == {}


def test_what_did_not_change_is_the_same_object() -> None:
    hearing = Hearing()
    shown = {"s": Shown("r1", Reading(Kind.READY, "rule", has_box=True), 0.0, 0.0)}
    assert hearing.over(shown, SESSIONS, ["s"], 100.0) is shown

    hearing.take("s", says(Kind.WORKING), "r1")
    first = hearing.over(shown, SESSIONS, ["s"], 100.0)["s"]

    assert hearing.over(shown, SESSIONS, ["s"], 101.0)["s"] is first
    assert hearing.over(shown, SESSIONS, ["s"], 100.0 + FRESH)["s"] is shown["s"]
    assert hearing.over(shown, SESSIONS, ["s"], 101.0 + FRESH)["s"] is shown["s"]


def test_a_new_self_is_heard_while_the_last_look_still_shows_the_former_one() -> None:
    old, new = "20260301-1504050000-7-1", "20260301-1504060000-7-2"
    hearing = Hearing()
    hearing.take("s", says(Kind.READY, "old", run=old), old)

    assert hearing.take("s", says(None, "new", run=new), old)
    assert not hearing.take("s", says(Kind.READY, "old", run=old), new)
