"""Agents that do nothing, and agents that only seem to work."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gascity.core.actions import EventType, Remind, Start, Stop
from gascity.core.decide import decide
from gascity.core.decision import Decision, Wanted
from gascity.core.memory import AgentMemory
from gascity.core.model import AgentSpec, OnIdle, StartupHints
from gascity.core.nudges import QueuedNudge
from gascity.core.observed import CITY_ID, CONFIG_HASH, READY, RUN, Alive, SessionState, Shown
from gascity.core.standstill import NEVER, Standstills
from gascity.core.views import State
from gascity.screens.reading import Kind, Reading

NOW = 10_000.0
SPEC = AgentSpec(
    "a",
    "gc-c-a",
    "tmux",
    "claude",
    "claude",
    "/w",
    "f",
    idle_timeout=600.0,
    stall_timeout=900.0,
    hints=StartupHints(nudge="Look for work."),
)
STATE = SessionState(
    "gc-c-a",
    Alive(),
    created=0.0,
    last_activity=NOW - 700,
    meta={RUN: "r1", CITY_ID: "c", CONFIG_HASH: "f"},
)
KNOWN = AgentMemory(run="r1", provider="tmux", fingerprint="f")


def shown(kind: Kind, still: float = NOW - 700) -> Shown:
    reading = Reading(kind, rule="rule", evidence="a row", has_box=kind is Kind.READY)
    return Shown("r1", reading, since=still, still=still)


def look(
    spec: AgentSpec = SPEC,
    state: SessionState = STATE,
    memory: AgentMemory = KNOWN,
    *,
    screen: Shown | None = None,
    queued: QueuedNudge | None = None,
    now: float = NOW,
    unread: bool = False,
    looked_at: float | None = None,
    stood_still: Standstills = NEVER,
) -> Decision:
    return decide(
        spec,
        Wanted(),
        state,
        memory,
        city_id="c",
        now=now,
        shown=screen,
        queued=queued,
        unread=unread,
        looked_at=looked_at,
        stood_still=stood_still,
    )


def test_an_idle_agent_is_restarted_and_that_is_no_crash() -> None:
    decision = look()

    assert [type(action) for action in decision.actions] == [Stop, Start]
    assert [event.type for event in decision.events] == [EventType.AGENT_IDLE]
    assert (decision.memory.total_restarts, decision.memory.total_requests) == (0, 1)
    assert decision.memory.restarts == ()


def test_an_idle_agent_can_be_stopped_until_a_person_wants_it_again() -> None:
    decision = look(replace(SPEC, on_idle=OnIdle.STOP))

    assert [type(action) for action in decision.actions] == [Stop]
    assert "gc restart" in decision.memory.held


def test_an_idle_agent_can_be_reminded_again_and_again_but_not_at_once() -> None:
    spec = replace(SPEC, on_idle=OnIdle.NUDGE)

    first = look(spec)
    (remind,) = first.actions
    assert isinstance(remind, Remind)
    assert remind.text == "Look for work."
    assert look(spec, memory=first.memory, now=NOW + 599).actions == ()
    assert len(look(spec, memory=first.memory, now=NOW + 601).actions) == 1


@pytest.mark.parametrize(
    ("state", "screen"),
    [
        (replace(STATE, last_activity=NOW - 10), None),
        (replace(STATE, created=NOW - 10), None),
        (replace(STATE, attached=1), None),
        (replace(STATE, last_activity=None), None),
        (STATE, shown(Kind.READY, still=NOW - 10)),
        (STATE, shown(Kind.WORKING)),
        (STATE, shown(Kind.WAITING)),
        (STATE, shown(Kind.LIMITED)),
        (STATE, shown(Kind.AUTH)),
        (STATE, shown(Kind.DIALOG)),
    ],
)
def test_who_is_not_idle_is_left_alone(state: SessionState, screen: Shown | None) -> None:
    decision = look(state=state, screen=screen)

    assert decision.actions == ()
    assert EventType.AGENT_IDLE not in [event.type for event in decision.events]


def test_what_waits_for_it_is_delivered_first() -> None:
    message = QueuedNudge(7, "a", "gc-c-a", "hello", at=0.0, expires_at=NOW * 2)

    decision = look(screen=shown(Kind.READY), queued=message)

    assert [type(action).__name__ for action in decision.actions] == ["Nudge"]


def test_without_a_timeout_nobody_is_idle() -> None:
    assert look(replace(SPEC, idle_timeout=0.0)).actions == ()


def test_it_is_looked_at_again_when_it_may_have_become_idle() -> None:
    decision = look(state=replace(STATE, last_activity=NOW - 100))

    assert decision.actions == ()
    assert decision.wake_at == NOW + 500


def test_a_working_agent_whose_screen_stands_still_has_stalled_and_a_person_is_told() -> None:
    stalled = shown(Kind.WORKING, still=NOW - 901)

    decision = look(screen=stalled)

    (alert,) = decision.troubles
    assert alert.key == "stalled:gc-c-a"
    assert "has not changed for 900 s" in alert.text
    assert decision.view.state is State.WORKING
    moves = look(screen=shown(Kind.WORKING, still=NOW), memory=decision.memory)
    assert moves.troubles == ()
    assert moves.wake_at == NOW + 900


def test_time_in_which_nobody_could_do_anything_makes_nobody_idle() -> None:
    slept = Standstills(((NOW - 650, NOW - 10),))

    decision = look(stood_still=slept)

    assert decision.actions == ()
    assert decision.wake_at == NOW - 700 + SPEC.idle_timeout + 640
    later = look(stood_still=slept, now=NOW - 700 + SPEC.idle_timeout + 640)
    assert [event.type for event in later.events] == [EventType.AGENT_IDLE]


def test_time_in_which_nobody_could_do_anything_makes_nobody_stall() -> None:
    stands = shown(Kind.WORKING, still=NOW - 901)

    decision = look(screen=stands, stood_still=Standstills(((NOW - 100, NOW),)))

    assert decision.troubles == ()
    assert decision.wake_at == NOW + 99


def test_without_a_timeout_nobody_stalls() -> None:
    decision = look(replace(SPEC, stall_timeout=0.0), screen=shown(Kind.WORKING, still=0.0))

    assert decision.actions == ()


def test_nobody_is_idle_whose_screen_was_not_read_yet() -> None:
    assert look(unread=True).actions == ()
    former = replace(shown(Kind.READY), run="r0")
    assert look(screen=former).actions == ()


def test_nobody_is_idle_by_a_look_that_is_older_than_that() -> None:
    stale = look(state=replace(STATE, last_activity=NOW - 601), looked_at=NOW - 30)

    assert stale.actions == ()
    assert stale.wake_at is not None
    assert NOW < stale.wake_at < NOW + 1


def test_a_restart_that_did_not_come_to_its_turn_is_not_told_and_counted_twice() -> None:
    first = look()
    again = look(memory=first.memory, now=NOW + 1)

    assert [type(action) for action in again.actions] == [Stop, Start]
    assert again.events == ()
    assert again.memory.total_requests == 1

    watched = look(state=replace(STATE, attached=1), memory=again.memory, now=NOW + 2)
    assert watched.actions == ()
    assert watched.memory.counted == ""


def test_an_agent_whose_screen_is_still_to_be_read_may_have_shown_its_prompt_since() -> None:
    late = replace(STATE, last_activity=NOW, meta={**STATE.meta, READY: "timeout"})

    unread = look(state=late, unread=True)
    without_rules = look(state=late)

    assert unread.troubles == ()
    assert unread.blind
    assert [alert.key for alert in without_rules.troubles] == ["unready:gc-c-a"]
