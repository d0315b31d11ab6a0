"""Which troubles are open, and what a person is told of them: once each, and not too much."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gascity.core.actions import EventType
from gascity.core.alerts import Alert, Severity
from gascity.core.model import AlertSettings
from gascity.patrol.desk import MOST, Case, Desk
from gascity.patrol.notice import Notice, NoticeKind

SETTINGS = AlertSettings(repeat_after=60.0, per_minute=0)
WAITING = Alert("waiting:s-mayor:rule", "mayor", "mayor needs a person")
LIMITED = Alert("limited:s-smith", "smith", "its limit is used up", severity=Severity.WARNING)
CITY = Alert("city", "", "the city file was refused")


def same(alert: Alert) -> Alert:
    return alert


def desk(settings: AlertSettings = SETTINGS, *taken_up: Case) -> Desk:
    return Desk("c", settings, same, taken_up)


def told(notices: list[Notice]) -> list[tuple[str, str]]:
    return [(notice.kind.value, notice.key) for notice in notices]


def test_a_trouble_is_told_once_for_as_long_as_it_lasts_and_when_it_is_over() -> None:
    one = desk()
    said = []
    for now in range(5):
        one.stand([WAITING], (), float(now))
        said += one.round(float(now))
    one.stand([], (), 65.0)
    said += one.round(65.0)

    assert told(said) == [("raised", WAITING.key), ("resolved", WAITING.key)]
    assert said[0].text == "mayor needs a person"
    assert said[1].text == "over after 1m 5s: mayor needs a person"
    assert said[1].since == 0.0


def test_each_beginning_and_end_is_an_event_once() -> None:
    one = desk()
    for now in (0.0, 1.0):
        one.stand([WAITING], (), now)
    first = one.news()
    one.stand([], (), 2.0)
    last = one.news()

    assert [event.type for event in first.events] == [EventType.ALERT_RAISED]
    assert [case.alert for case in first.kept] == [WAITING]
    assert [event.type for event in last.events] == [EventType.ALERT_RESOLVED]
    assert last.over == {WAITING.key}
    assert one.news().events == ()


def test_what_cannot_be_seen_is_not_over() -> None:
    one = desk()
    one.stand([WAITING, LIMITED], (), 0.0)
    one.round(0.0)

    one.stand([], {"s-mayor"}, 1.0)

    assert [case.alert for case in one.cases] == [WAITING]
    assert told(one.round(1.0)) == [("resolved", LIMITED.key)]


def test_a_plan_does_not_end_what_it_knows_nothing_of() -> None:
    one = desk()
    one.alarm(CITY, 0.0)
    one.stand([], (), 1.0)
    assert [case.alert for case in one.cases] == [CITY]

    one.settle("city", now=2.0)
    assert one.cases == []


def test_the_same_alarm_again_is_counted_and_not_told() -> None:
    one = desk()
    one.alarm(CITY, 0.0)
    first = one.round(0.0)
    one.alarm(replace(CITY, text="refused again"), 5.0)

    assert len(first) == 1
    assert one.round(5.0) == []
    (case,) = one.cases
    assert (case.times, case.since, case.last, case.alert.text) == (2, 0.0, 5.0, "refused again")


def test_what_comes_and_goes_is_not_told_again_at_once_but_if_it_lasts() -> None:
    one = desk()
    one.stand([WAITING], (), 0.0)
    one.round(0.0)
    one.stand([], (), 5.0)
    one.round(5.0)

    one.stand([WAITING], (), 10.0)
    assert one.round(10.0) == []
    assert one.wake_at == 60.0
    assert told(one.round(60.0)) == [("raised", WAITING.key)]


def test_a_flap_that_nobody_heard_of_is_not_told_to_be_over() -> None:
    one = desk()
    one.stand([WAITING], (), 0.0)
    one.round(0.0)
    for now in range(1, 47):
        one.stand([WAITING] if now % 2 else [], (), float(now))
        said = one.round(float(now))
        assert told(said) in ([], [("resolved", WAITING.key)])
        assert not said or now == 2


def test_more_than_a_minute_bears_become_one_word_with_the_worst_told_first() -> None:
    one = desk(replace(SETTINGS, per_minute=3))
    mild = [
        Alert(f"limited:s{n}", f"a{n}", f"limit {n}", severity=Severity.WARNING) for n in range(9)
    ]
    one.stand([*mild, WAITING], (), 0.0)

    said = one.round(0.0)

    assert [notice.kind.value for notice in said] == ["raised", "raised", "held_back"]
    assert said[0].key == WAITING.key
    assert said[2].text.startswith("8 more at once, `gc alerts` shows what is open: limit 1; ")
    assert said[2].text.endswith("and 3 more")
    one.stand([*mild, WAITING, CITY_WIDE], (), 1.0)
    assert one.round(1.0) == []
    assert one.wake_at == 60.0
    assert told(one.round(60.0)) == [("raised", CITY_WIDE.key)]


CITY_WIDE = Alert("mass-death", "", "many died")


def test_all_that_were_told_in_one_word_are_told_to_be_over() -> None:
    one = desk(replace(SETTINGS, per_minute=1))
    troubles = [Alert(f"auth:s{n}", f"a{n}", "not logged in") for n in range(3)]
    one.stand(troubles, (), 0.0)
    one.round(0.0)

    one.stand([], (), 120.0)
    (said,) = one.round(120.0)

    assert said.kind is NoticeKind.HELD_BACK
    assert "over after 2m: not logged in" in said.text


def test_what_is_milder_than_wanted_is_kept_and_not_told() -> None:
    one = desk(replace(SETTINGS, least="critical"))
    one.stand([LIMITED, WAITING], (), 0.0)

    assert told(one.round(0.0)) == [("raised", WAITING.key)]
    assert len(one.cases) == 2
    one.stand([], (), 1.0)
    assert told(one.round(1.0)) == [("resolved", WAITING.key)]


def test_an_end_is_not_told_where_nobody_wants_it() -> None:
    one = desk(replace(SETTINGS, recovery=False))
    one.stand([WAITING], (), 0.0)
    one.round(0.0)
    one.stand([], (), 1.0)

    assert one.round(1.0) == []


def test_a_muted_agent_is_told_of_when_that_ends_if_it_is_still_in_trouble() -> None:
    one = desk()
    one.stand([WAITING, LIMITED], (), 0.0)

    assert told(one.round(0.0, {"mayor": 100.0})) == [("raised", LIMITED.key)]
    assert one.wake_at == 100.0
    assert told(one.round(100.0, {"mayor": 100.0})) == [("raised", WAITING.key)]


def test_the_end_of_a_muted_agents_trouble_is_not_told() -> None:
    one = desk()
    one.stand([WAITING], (), 0.0)
    one.round(0.0)
    one.stand([], (), 1.0)

    assert one.round(1.0, {"mayor": 100.0}) == []
    assert one.round(101.0) == []


def test_a_new_controller_goes_on_where_the_one_before_ended() -> None:
    one = desk(SETTINGS, Case(WAITING, 0.0, 0.0, told=True), Case(LIMITED, 0.0, 0.0, told=True))

    one.stand([WAITING], (), 100.0)

    assert told(one.round(100.0)) == [("resolved", LIMITED.key)]


def test_what_was_not_told_before_is_told_by_the_next_controller() -> None:
    one = desk(SETTINGS, Case(WAITING, 0.0, 0.0, told=False))
    one.stand([WAITING], (), 100.0)

    assert told(one.round(100.0)) == [("raised", WAITING.key)]
    one.news()
    one.taken([WAITING.key])
    assert [case.told for case in one.news().kept] == [True]


def test_what_nobody_took_is_sent_again_when_somebody_may() -> None:
    one = desk()
    one.stand([WAITING, LIMITED], (), 0.0)
    one.round(0.0)
    one.taken([LIMITED.key])
    assert one.round(1.0) == []

    one.send_again()

    assert told(one.round(2.0)) == [("raised", WAITING.key)]
    one.taken([WAITING.key])
    one.send_again()
    assert one.round(3.0) == []


def test_the_end_of_what_may_still_be_on_its_way_is_told() -> None:
    one = desk()
    one.stand([WAITING], (), 0.0)
    one.round(0.0)
    one.stand([], (), 1.0)

    assert told(one.round(1.0)) == [("resolved", WAITING.key)]


def test_an_end_that_is_told_late_says_how_long_it_lasted() -> None:
    one = desk(replace(SETTINGS, per_minute=1))
    one.stand([WAITING], (), 0.0)
    one.round(0.0)
    one.stand([], (), 5.0)
    one.round(5.0)

    (said,) = one.round(60.0)
    assert said.text == "over after 5s: mayor needs a person"


def test_nothing_of_it_leaves_with_secrets() -> None:
    def hidden(alert: Alert) -> Alert:
        return replace(alert, text=alert.text.replace("hunter2", "[hidden]"))

    one = Desk("c", SETTINGS, hidden)
    one.stand([replace(WAITING, text="it shows hunter2")], (), 0.0)
    said = one.round(0.0)
    news = one.news()
    one.stand([], (), 1.0)
    said += one.round(1.0)

    everything = repr((said, news, one.news()))
    assert "hunter2" not in everything
    assert "[hidden]" in everything


def test_there_is_an_end_to_how_many_are_open() -> None:
    one = desk()
    for number in range(MOST + 5):
        one.alarm(Alert(f"nudge:{number}", "mayor", "may not have arrived"), float(number))

    assert len(one.cases) == MOST
    assert one.cases[0].alert.key == "nudge:5"


def test_an_end_that_was_not_told_yet_is_taken_back_when_it_comes_again() -> None:
    one = desk(replace(SETTINGS, per_minute=1))
    one.stand([WAITING], (), 0.0)
    one.round(0.0)
    one.stand([], (), 1.0)
    assert one.round(1.0) == []
    one.stand([WAITING], (), 2.0)

    assert one.round(70.0) == []
    assert [case.sent for case in one.cases] == [True]


@pytest.mark.parametrize("per_minute", [0, 1, 4])
@given(
    st.lists(
        st.tuples(
            st.frozensets(st.sampled_from(["auth:a", "waiting:b:x", "limited:c", "mass-death"])),
            st.floats(0.1, 90.0),
        ),
        max_size=40,
    )
)
def test_told_and_over_come_in_turn_and_nothing_lasting_stays_untold(
    per_minute: int, steps: list[tuple[frozenset[str], float]]
) -> None:
    one = desk(replace(SETTINGS, per_minute=per_minute))
    now = 0.0
    heard: dict[str, str] = {}
    sent: list[float] = []
    for keys, pause in [*steps, (frozenset(), 61.0), (frozenset({"auth:a"}), 61.0)]:
        now += pause
        one.stand([Alert(key, key, key) for key in sorted(keys)], (), now)
        for notice in one.round(now):
            sent.append(now)
            one.taken(notice.about)
            if not per_minute:
                assert heard.get(notice.key) != notice.kind.value
                heard[notice.key] = notice.kind.value
    for _ in range(10):
        now += 61.0
        for notice in one.round(now):
            one.taken(notice.about)

    assert all(case.told for case in one.cases)
    assert [case.alert.key for case in one.cases] == ["auth:a"]
    assert one.wake_at is None
    if per_minute:
        assert all(
            sum(at < other <= at + 59.9 for other in sent) + 1 <= per_minute * 2 for at in sent
        )
