"""What follows from what an agent shows."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gascity.core.actions import Dismiss, Nudge
from gascity.core.alerts import Severity
from gascity.core.decide import decide
from gascity.core.decision import Surplus
from gascity.core.doing import BLOCKED_AFTER, MOST_TRIES, Doing, doing
from gascity.core.memory import FRESH, AgentMemory, Memory, after_start
from gascity.core.model import AgentSpec
from gascity.core.nudges import QueuedNudge
from gascity.core.observed import CITY_ID, CONFIG_HASH, DRAIN, RUN, Alive, SessionState, Shown
from gascity.core.standstill import NEVER, Standstills
from gascity.core.views import State
from gascity.screens.reading import Kind, Policy, Reading

NOW = 1000.0
SPEC = AgentSpec("a", "gc-c-a", "tmux", "claude", "claude", "/w", "f")
STATE = SessionState("gc-c-a", Alive(), meta={RUN: "r1"})
MESSAGE = QueuedNudge(7, "a", "gc-c-a", "hello", at=0.0, expires_at=5000.0)


def shown(kind: Kind | None, **changes: object) -> Shown:
    reading = Reading(kind, rule="rule", evidence="a row", has_box=kind is Kind.READY)
    reading = replace(reading, **changes)  # type: ignore[arg-type]  # the tests name real fields
    return Shown("r1", reading, since=NOW, still=NOW, bottom=("what it shows",))


def look(
    seen: Shown | None,
    *,
    queued: QueuedNudge | None = None,
    memory: AgentMemory = FRESH,
    state: SessionState = STATE,
    spec: AgentSpec = SPEC,
    now: float = NOW,
    stood_still: Standstills = NEVER,
) -> tuple[Doing, AgentMemory]:
    return doing(spec, state, seen, queued, memory, now, stood_still=stood_still)


@pytest.mark.parametrize(
    ("kind", "state", "needs_a_person"),
    [
        (Kind.READY, State.READY, False),
        (Kind.WORKING, State.WORKING, False),
        (Kind.WAITING, State.WAITING, True),
        (Kind.LIMITED, State.LIMITED, True),
        (Kind.AUTH, State.AUTH, True),
        (Kind.ERROR, State.READY, False),
        (Kind.DIALOG, State.WAITING, True),
        (None, State.READY, False),
    ],
)
def test_each_kind_of_screen_is_a_state(
    kind: Kind | None, state: State, *, needs_a_person: bool
) -> None:
    found, _ = look(shown(kind))

    assert found.state is state
    assert bool(found.troubles) is needs_a_person
    assert found.blind is (kind is None)  # a screen that nobody knows yet ends no trouble


def test_a_screen_of_the_incarnation_before_says_nothing() -> None:
    old = replace(shown(Kind.WAITING), run="r0")

    found, _ = look(old)

    assert found.state is State.READY
    assert found.actions == ()
    assert found.troubles == ()
    assert found.blind


def test_the_reason_names_the_row_that_was_matched() -> None:
    found, _ = look(shown(Kind.ERROR, evidence="API Error: 529"))

    assert found.reason == "its last turn failed: API Error: 529"


def test_a_trouble_lasts_as_long_as_the_screen_shows_it() -> None:
    (first,) = look(shown(Kind.WAITING))[0].troubles
    (again,) = look(shown(Kind.WAITING))[0].troubles

    assert first == again
    assert first.key == "waiting:gc-c-a:rule"
    assert first.screen == "what it shows"
    assert look(shown(Kind.READY))[0].troubles == ()


def test_two_dialogs_after_one_another_are_two_troubles() -> None:
    spec = replace(SPEC, dialogs={"rule": "ask", "other": "ask"})

    (one,) = look(shown(Kind.DIALOG), spec=spec)[0].troubles
    (other,) = look(shown(Kind.DIALOG, rule="other"), spec=spec)[0].troubles

    assert one.key != other.key


@pytest.mark.parametrize("kind", [Kind.WAITING, Kind.AUTH, Kind.LIMITED, Kind.DIALOG])
def test_who_is_attached_sees_it_and_is_not_told(kind: Kind) -> None:
    found, _ = look(shown(kind), state=replace(STATE, attached=1))

    assert found.troubles == ()
    assert found.blind or kind is Kind.DIALOG


def test_what_goes_on_by_itself_is_milder_than_what_needs_somebody() -> None:
    (limited,) = look(shown(Kind.LIMITED))[0].troubles
    (waiting,) = look(shown(Kind.WAITING))[0].troubles

    assert limited.severity is Severity.WARNING
    assert waiting.severity is Severity.CRITICAL


class TestDialogs:
    def test_one_that_is_to_be_accepted_is_answered(self) -> None:
        found, _ = look(shown(Kind.DIALOG, policy=Policy.ACCEPT))

        (dismiss,) = found.actions
        assert isinstance(dismiss, Dismiss)
        assert (dismiss.rule, dismiss.policy) == ("rule", Policy.ACCEPT)
        assert found.state is State.BLOCKED

    def test_the_city_has_the_last_word(self) -> None:
        spec = replace(SPEC, dialogs={"rule": "deny"})

        found, _ = look(shown(Kind.DIALOG, policy=Policy.ACCEPT), spec=spec)

        (dismiss,) = found.actions
        assert isinstance(dismiss, Dismiss)
        assert dismiss.policy is Policy.DENY

    def test_nothing_is_pressed_where_a_person_is_to_be_asked(self) -> None:
        spec = replace(SPEC, dialogs={"rule": "ask"})

        found, _ = look(shown(Kind.DIALOG, policy=Policy.ACCEPT), spec=spec)

        assert found.state is State.WAITING
        assert found.actions == ()
        assert [alert.key for alert in found.troubles] == ["dialog:gc-c-a:rule"]

    def test_nothing_is_pressed_while_a_person_is_attached(self) -> None:
        attached = replace(STATE, attached=1)

        found, _ = look(shown(Kind.DIALOG, policy=Policy.ACCEPT), state=attached)

        assert found.actions == ()
        assert found.state is State.WAITING

    def test_after_a_few_tries_a_person_is_told(self) -> None:
        tired = replace(FRESH, dialog_tries=MOST_TRIES)

        found, _ = look(shown(Kind.DIALOG, policy=Policy.ACCEPT), memory=tired)

        assert found.state is State.BLOCKED
        assert found.actions == ()
        assert [alert.key for alert in found.troubles] == ["dialog:gc-c-a:rule"]

    def test_the_tries_are_forgotten_when_it_is_gone(self) -> None:
        tired = replace(FRESH, dialog_tries=MOST_TRIES)

        _, memory = look(shown(Kind.READY), memory=tired)

        assert memory.dialog_tries == 0


class TestUnknownScreens:
    def test_one_that_just_appeared_is_looked_at_again_later(self) -> None:
        found, _ = look(shown(None))

        assert found.state is State.READY
        assert found.wake_at == NOW + BLOCKED_AFTER

    def test_one_that_stands_still_is_blocked_and_told(self) -> None:
        found, _ = look(shown(None), now=NOW + BLOCKED_AFTER)

        assert found.state is State.BLOCKED
        assert [alert.key for alert in found.troubles] == ["blocked:gc-c-a"]

    def test_one_that_stands_still_with_the_whole_machine_is_not_blocked(self) -> None:
        slept = Standstills(((NOW + 1, NOW + 120),))

        found, _ = look(shown(None), now=NOW + 120, stood_still=slept)

        assert found.state is State.READY
        assert found.wake_at == NOW + BLOCKED_AFTER + 119

    @pytest.mark.parametrize("sign", ["has_box", "is_blank"])
    def test_an_input_box_or_nothing_at_all_is_never_blocked(self, sign: str) -> None:
        found, _ = look(shown(None, **{sign: True}), now=NOW + 10 * BLOCKED_AFTER)

        assert found.state is State.READY
        assert found.actions == ()


class TestLimits:
    def test_the_end_of_a_limit_is_when_it_is_looked_at_again(self) -> None:
        found, _ = look(shown(Kind.LIMITED, until=NOW + 60))

        assert found.state is State.LIMITED
        assert found.next_at == found.wake_at == NOW + 60

    def test_a_limit_that_has_ended_is_none(self) -> None:
        found, _ = look(shown(Kind.LIMITED, until=NOW, has_box=True), queued=MESSAGE)

        assert found.state is State.READY
        assert [type(action) for action in found.actions] == [Nudge]


class TestMessages:
    @pytest.mark.parametrize("kind", [Kind.READY, Kind.ERROR])
    def test_one_that_waits_is_given_to_an_agent_at_its_prompt(self, kind: Kind) -> None:
        found, _ = look(shown(kind, has_box=True), queued=MESSAGE)

        (nudge,) = found.actions
        assert isinstance(nudge, Nudge)
        assert nudge.nudge is MESSAGE

    @pytest.mark.parametrize(
        "kind", [Kind.WORKING, Kind.WAITING, Kind.LIMITED, Kind.AUTH, Kind.DIALOG, None]
    )
    def test_and_to_no_other(self, kind: Kind | None) -> None:
        found, _ = look(shown(kind, has_box=kind is not None), queued=MESSAGE)

        assert not any(isinstance(action, Nudge) for action in found.actions)

    def test_nor_where_a_draft_is(self) -> None:
        found, _ = look(shown(Kind.READY, draft="half a sentence"), queued=MESSAGE)

        assert found.actions == ()

    def test_an_agent_without_a_screen_gets_it_at_once(self) -> None:
        found, _ = look(None, queued=MESSAGE)

        assert [type(action) for action in found.actions] == [Nudge]


def test_what_there_was_may_last_until_the_screen_is_read_again() -> None:
    found, _ = doing(SPEC, STATE, None, None, FRESH, NOW, unread=True)

    assert found.troubles == ()
    assert found.blind


def test_an_agent_without_a_screen_has_no_trouble_with_it() -> None:
    found, _ = look(None)

    assert found.troubles == ()
    assert not found.blind


def test_tries_are_counted_on_until_the_screen_is_read_again() -> None:
    _, memory = look(None, memory=AgentMemory(dialog_tries=2))

    assert memory.dialog_tries == 2


def test_the_tries_of_a_former_self_are_forgotten_with_it() -> None:
    memory = Memory({"gc-c-a": AgentMemory(run="r0", dialog_tries=MOST_TRIES)})

    after = after_start(memory, "gc-c-a", run="r1", provider="tmux").of("gc-c-a")

    assert after.dialog_tries == 0


def test_trouble_of_an_agent_that_drains_is_told() -> None:
    state = replace(STATE, meta={RUN: "r1", DRAIN: "r1", CITY_ID: "c", CONFIG_HASH: "f"})
    spec = replace(SPEC, fingerprint="f")
    memory = AgentMemory(run="r1", provider="tmux", fingerprint="f")

    decision = decide(
        spec,
        Surplus("it is not needed", 60.0),
        state,
        memory,
        city_id="c",
        now=NOW,
        shown=shown(Kind.WAITING),
    )

    assert [alert.key for alert in decision.troubles] == ["waiting:gc-c-a:rule"]
    assert decision.view.state is State.DRAINING
