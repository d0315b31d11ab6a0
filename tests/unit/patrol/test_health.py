"""Whether a city is well, in every state of an agent."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import pytest

from gascity.controller.status import status_document
from gascity.core.views import AgentView, State
from gascity.patrol.health import Health, health, unanswered

BAD = {State.BLOCKED, State.AUTH, State.QUARANTINED, State.BACKOFF, State.UNKNOWN, State.LOST}
NOTED = {State.WAITING, State.LIMITED, State.SUSPENDED, State.DRAINING, State.STOPPED}
NOTED |= {State.PENDING, State.ENDING}
Fields = dict[str, object]


def agent(name: str, state: State, reason: str = "", *, drift: bool = False) -> AgentView:
    return AgentView(name, f"gc-town-{name}", "tmux", state, reason, drift=drift)


def alert(text: str, name: str = "", severity: str = "critical", *, muted: bool = False) -> Fields:
    return {
        "key": f"k:{name}:{text}",
        "agent": name,
        "severity": severity,
        "text": text,
        "since": 100.0,
        "last": 200.0,
        "times": 1,
        "muted": muted,
    }


def of(
    *views: AgentView,
    alerts: Iterable[Fields] = (),
    pid: int | None = 1,
    config: str = "",
    journal: str = "",
) -> Health:
    document = status_document("town", pid, views, config, journal)
    return health({**document, "alerts": list(alerts)}, 500.0)


def texts(found: Health) -> list[str]:
    return [problem.text for problem in found.problems]


@pytest.mark.parametrize("state", State)
def test_every_state_is_well_noted_or_a_trouble(state: State) -> None:
    found = of(agent("a", state, "so"))

    assert found.healthy is (state not in BAD)
    assert texts(found) == ([f"a is {state}: so"] if state in BAD else [])
    assert [note.text for note in found.notes] == ([f"a is {state}: so"] if state in NOTED else [])


def test_a_city_that_nobody_keeps_is_not_well() -> None:
    found = of(agent("a", State.STOPPED, "no controller runs"), pid=None)

    assert texts(found) == ["no controller runs"]
    assert not found.notes


def test_a_refused_file_and_a_lost_journal_are_told() -> None:
    found = of(agent("a", State.READY), config="city.toml:1:1: no", journal="the disk is full")

    assert texts(found) == [
        "the city file is refused, an older city runs: city.toml:1:1: no",
        "what happens is not written down: the disk is full",
    ]


def test_the_worst_comes_first() -> None:
    found = of(
        agent("a", State.BACKOFF),
        agent("b", State.QUARANTINED),
        alerts=[alert("m", severity="warning"), alert("z")],
    )

    assert [(one.severity, one.text) for one in found.problems] == [
        ("critical", "z"),
        ("critical", "b is quarantined"),
        ("warning", "m"),
        ("warning", "a is backoff"),
    ]


def test_what_is_only_good_to_know_is_no_trouble() -> None:
    found = of(agent("a", State.READY), alerts=[alert("x", "a", "info")])

    assert found.healthy
    assert [note.text for note in found.notes] == ["x"]


def test_a_severity_of_a_newer_gc_counts_as_the_worst() -> None:
    assert not of(agent("a", State.READY), alerts=[alert("x", "a", "fatal")]).healthy


def test_an_alert_and_its_agent_are_one_line() -> None:
    found = of(
        agent("a", State.BACKOFF, "crashed 5 times"),
        alerts=[alert("a is quarantined: crashed 5 times", "a"), alert("else", "a", "warning")],
    )

    assert [(one.text, one.severity, one.since) for one in found.problems] == [
        ("a is backoff: crashed 5 times", "critical", 100.0),
        ("else", "warning", 100.0),
    ]


def test_who_is_muted_is_noted_and_no_trouble() -> None:
    found = of(
        agent("a", State.BLOCKED, "a dialog"),
        agent("b", State.READY),
        agent("c", State.BLOCKED),
        alerts=[alert("help", "a", muted=True), alert("odd", "b", muted=True)],
    )

    assert texts(found) == ["c is blocked"]
    assert [note.text for note in found.notes] == ["a is blocked: a dialog (muted)", "b is muted"]


def test_who_is_muted_needs_no_alert_for_that() -> None:
    now_muted = replace(agent("a", State.BACKOFF), muted_until=501.0)
    once_muted = replace(agent("b", State.BACKOFF), muted_until=499.0)
    found = of(now_muted, once_muted)

    assert texts(found) == ["b is backoff"]
    assert [note.text for note in found.notes] == ["a is backoff (muted)"]


@pytest.mark.parametrize("state", [State.WAITING, State.LIMITED, State.PENDING])
def test_whoever_waits_is_a_problem_once_a_person_is_to_be_told(state: State) -> None:
    raised = {**alert("a needs you", "a"), "key": f"{state}:gc-town-a"}
    seen_anyway = of(agent("a", state, "asks something"))
    found = of(agent("a", state, "asks something"), alerts=[raised])

    assert seen_anyway.healthy
    assert [note.text for note in seen_anyway.notes] == [f"a is {state}: asks something"]
    assert texts(found) == [f"a is {state}: asks something"]
    assert not found.notes


def test_what_the_controller_says_itself_is_one_problem() -> None:
    city, journal = ({**alert("it is broken"), "key": key} for key in ("city", "journal"))

    assert len(of(alerts=[city], config="it is broken").problems) == 1
    assert len(of(alerts=[journal], journal="it is broken").problems) == 1


def test_a_trouble_lasts_as_long_as_its_state() -> None:
    document = status_document("town", 1, [agent("a", State.BACKOFF)])
    rows = document["agents"]
    assert isinstance(rows, list)
    rows[0]["state_since"] = 50.0

    assert health(document, 500.0).problems[0].since == 50.0


def test_drift_that_waits_is_noted() -> None:
    found = of(agent("a", State.WORKING, drift=True))

    assert found.healthy
    assert found.notes[0].text == "a runs with an older configuration, and waits to be replaced"


def test_a_document_without_alerts_will_do() -> None:
    document = status_document("town", 1, [agent("a", State.READY)])
    document.pop("alerts", None)

    assert health(document, 500.0).document() == {
        "healthy": True,
        "city": "town",
        "problems": [],
        "notes": [],
    }


def test_a_controller_that_says_nothing_is_a_trouble() -> None:
    found = unanswered("town", "it does not answer")

    assert found.document()["problems"] == [
        {
            "severity": "critical",
            "agent": "",
            "state": "",
            "text": "it does not answer",
            "since": None,
        }
    ]
