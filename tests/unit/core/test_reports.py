"""What a hook says against what the screen shows."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gascity.core.alerts import Trouble
from gascity.core.doing import doing
from gascity.core.memory import AgentMemory
from gascity.core.model import AgentSpec
from gascity.core.nudges import QueuedNudge
from gascity.core.observed import RUN, Alive, SessionState, Shown
from gascity.core.reports import FRESH, FRESH_BLIND, HOOK, SETTLED, Report, after, heard
from gascity.core.views import State
from gascity.screens.reading import Kind, Reading

SPEC = AgentSpec("a", "s", "tmux", "claude", "claude", ".", fingerprint="f")
ALIVE = SessionState("s", Alive(), meta={RUN: "r1"})
AT = 1000.0


def says(kind: Kind | None, at: float = AT) -> Report:
    return Report("r1", kind, at, "Event", "Event (x)", "me", since=at)


def shows(kind: Kind | None, since: float = AT - 100, *, box: bool = True) -> Shown:
    reading = Reading(kind, "a-rule", "bottom", "words", has_box=box, draft="d")
    return Shown("r1", reading, since, still=AT - 50)


def kind_at(shown: Shown | None, report: Report, seconds: float, *, blind: bool = False) -> object:
    found = heard(shown, report, AT + seconds, blind=blind)
    return None if found is None else found.reading.kind


@pytest.mark.parametrize("kind", [Kind.WORKING, Kind.WAITING, Kind.READY, Kind.ERROR])
def test_a_fresh_report_counts_and_an_old_one_does_not(kind: Kind) -> None:
    shown = shows(None)

    assert kind_at(shown, says(kind), FRESH - 0.1) is kind
    assert heard(shown, says(kind), AT + FRESH, blind=False) is shown


def test_a_question_without_a_rule_stands_for_as_long_as_its_screen() -> None:
    asks = shows(None, box=False)

    assert kind_at(asks, says(Kind.WAITING), 8 * 3600) is Kind.WAITING
    assert kind_at(shows(Kind.READY, since=AT + 60), says(Kind.WAITING), 61) is Kind.READY


def test_whether_something_can_be_typed_is_the_screens_to_say() -> None:
    found = heard(shows(Kind.WORKING), says(Kind.READY), AT, blind=False)

    assert found is not None
    assert (found.reading.rule, found.reading.evidence) == (HOOK, "Event (x)")
    assert (found.reading.has_box, found.reading.draft) == (True, "d")
    assert found.still == AT


@pytest.mark.parametrize("kind", [Kind.DIALOG, Kind.AUTH, Kind.LIMITED, Kind.WAITING])
@pytest.mark.parametrize("said", [Kind.WORKING, Kind.READY, Kind.ERROR])
def test_what_a_newer_screen_shows_beyond_doubt_is_not_hidden(kind: Kind, said: Kind) -> None:
    newer = shows(kind, since=AT + 1)

    assert heard(newer, says(said), AT + 1, blind=False) is newer


@pytest.mark.parametrize("kind", [Kind.DIALOG, Kind.AUTH, Kind.LIMITED, Kind.WAITING])
def test_what_is_still_on_the_screen_a_while_after_is_there(kind: Kind) -> None:
    shown = shows(kind)

    found = heard(shown, says(Kind.WORKING), AT, blind=False)
    assert found is not None
    assert found.reading.kind is Kind.WORKING
    assert found.until == AT + SETTLED
    assert heard(shown, says(Kind.WORKING), AT + SETTLED, blind=False) is shown


def test_an_agent_that_goes_on_working_after_its_turn_works() -> None:
    shown = shows(Kind.WORKING)

    assert kind_at(shown, says(Kind.READY), 1) is Kind.READY
    assert kind_at(shows(Kind.WORKING, since=AT + 0.5), says(Kind.READY), 1) is Kind.READY
    assert kind_at(shown, says(Kind.READY), SETTLED) is Kind.WORKING


@pytest.mark.parametrize("kind", [Kind.WAITING, Kind.DIALOG])
def test_a_question_that_is_on_the_screen_is_told_in_its_words(kind: Kind) -> None:
    shown = shows(kind)

    assert heard(shown, says(Kind.WAITING), AT, blind=False) is shown


@pytest.mark.parametrize("kind", [Kind.WORKING, Kind.READY, Kind.DIALOG])
def test_a_question_that_left_the_screen_was_answered(kind: Kind) -> None:
    assert kind_at(shows(kind, since=AT + 1), says(Kind.WAITING), 1) is kind
    assert kind_at(shows(Kind.WORKING), says(Kind.WAITING), 10) is Kind.WAITING


def test_a_working_agent_whose_screen_seems_ready_works() -> None:
    assert kind_at(shows(Kind.READY, since=AT + 1), says(Kind.WORKING), 10) is Kind.WORKING


def test_the_screen_of_a_former_self_says_nothing() -> None:
    former = replace(shows(Kind.DIALOG, since=AT + 1), run="r0")

    assert kind_at(former, says(Kind.WORKING), 1) is Kind.WORKING


def test_an_agent_without_a_screen_is_known_by_its_hook_alone() -> None:
    found = heard(None, says(Kind.READY), AT + 60, blind=True)

    assert found is not None
    assert found.reading.kind is Kind.READY
    assert found.reading.has_box
    assert kind_at(None, says(Kind.READY), FRESH_BLIND, blind=True) is None


def test_reports_in_a_row_say_since_when() -> None:
    first = after(None, says(Kind.WAITING))
    second = after(first, says(Kind.WAITING, AT + 5))
    third = after(second, says(Kind.WORKING, AT + 6))

    assert (second.since, second.at) == (AT, AT + 5)
    assert third.since == AT + 6
    assert after(third, replace(says(Kind.WORKING, AT + 9), run="r2")).since == AT + 9


def test_an_event_that_tells_nothing_leaves_the_last_word_standing() -> None:
    first = after(None, says(Kind.WORKING))

    assert after(first, says(None, AT + 3)) == first


def test_a_person_is_told_of_a_reported_question_once_the_screen_was_read() -> None:
    memory = AgentMemory()
    report = after(None, says(Kind.WAITING))
    early = heard(shows(None), report, AT + 1, blind=False)
    late = heard(shows(None), report, AT + SETTLED, blind=False)

    found, same = doing(SPEC, ALIVE, early, None, memory, AT + 1)
    assert (found.state, found.trouble, found.wake_at) == (State.WAITING, None, AT + SETTLED)
    assert same is memory
    found, _ = doing(SPEC, ALIVE, late, None, memory, AT + SETTLED)
    assert (found.trouble, found.about) == (Trouble.WAITING, HOOK)
    assert found.reason == "it waits for a person: Event (x)"


def test_a_report_is_looked_at_again_when_it_is_old() -> None:
    shown = heard(shows(Kind.READY), says(Kind.WORKING), AT, blind=False)

    found, _ = doing(SPEC, ALIVE, shown, None, AgentMemory(), AT)

    assert (found.state, found.wake_at) == (State.WORKING, AT + FRESH)


def test_a_message_waits_for_an_agent_that_reports_work() -> None:
    queued = QueuedNudge(1, "a", "s", "hello", at=0.0, expires_at=9e9)
    box = replace(shows(Kind.READY), reading=Reading(Kind.READY, "r", has_box=True))

    for said, actions in ((Kind.WORKING, 0), (Kind.READY, 1)):
        shown = heard(box, says(said), AT, blind=False)
        found, _ = doing(SPEC, ALIVE, shown, queued, AgentMemory(), AT)
        assert len(found.actions) == actions
