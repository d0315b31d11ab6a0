"""Since when an agent stands as it stands."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gascity.controller.standing import Standing
from gascity.controller.status import status_document
from gascity.core.memory import AgentMemory, Memory
from gascity.core.views import AgentView, State

READY = AgentView("a", "gc-a", "tmux", State.READY, run="r1", since=100.0)
UNKNOWN = AgentView("a", "gc-a", "tmux", State.UNKNOWN)
PLACE = ("gc-a", "tmux")


@pytest.fixture
def standing() -> Standing:
    return Standing()


def test_what_was_there_counts_from_the_start_of_its_session(standing: Standing) -> None:
    standing.take([READY, AgentView("b", "gc-b", "tmux", State.STOPPED)], 500.0)

    assert standing.since == {PLACE: 100.0, ("gc-b", "tmux"): 500.0}


def test_what_was_not_seen_at_first_counts_so_too(standing: Standing) -> None:
    standing.take([UNKNOWN], 500.0)
    assert standing.since == {PLACE: 500.0}

    standing.take([READY], 501.0)

    assert standing.since == {PLACE: 100.0}


def test_a_change_counts_from_when_it_was_seen(standing: Standing) -> None:
    standing.take([READY], 500.0)
    working = replace(READY, state=State.WORKING)
    standing.take([working], 510.0)
    standing.take([replace(working, reason="it seems to work", attached=1)], 520.0)

    assert standing.since == {PLACE: 510.0}


def test_an_outage_is_a_change_and_so_is_its_end(standing: Standing) -> None:
    standing.take([READY], 500.0)
    standing.take([UNKNOWN], 510.0)
    assert standing.since == {PLACE: 510.0}

    standing.take([READY], 520.0)

    assert standing.since == {PLACE: 520.0}


def test_who_is_looked_at_again_does_what_it_did(standing: Standing) -> None:
    standing.take([READY], 500.0)
    again = replace(READY, state=State.STARTING, reason="something was done to it a moment ago")
    standing.take([again], 510.0)
    standing.take([replace(again, attached=1)], 511.0)
    assert standing.since == {PLACE: 510.0}

    standing.take([READY], 512.0)
    assert standing.since == {PLACE: 100.0}

    standing.take([replace(READY, state=State.WORKING)], 513.0)
    standing.take([again], 514.0)
    standing.take([READY], 515.0)
    assert standing.since == {PLACE: 515.0}


def test_another_incarnation_counts_from_when_it_is_up(standing: Standing) -> None:
    standing.take([READY], 500.0)
    standing.take([replace(READY, state=State.STARTING)], 510.0)
    standing.take([replace(READY, state=State.STARTING, run="")], 511.0)
    standing.take([replace(READY, run="r2", since=512.0)], 513.0)

    assert standing.since == {PLACE: 513.0}


@pytest.mark.parametrize("state", [State.QUARANTINED, State.BACKOFF])
def test_who_is_down_is_so_since_what_happened(standing: Standing, state: State) -> None:
    crashed = AgentView("a", "gc-a", "tmux", state)
    failed = AgentView("b", "gc-b", "tmux", state)
    memory = Memory(
        {
            "gc-a": AgentMemory(ended_at=200.0),
            "gc-b": AgentMemory(failures=(100.0, 300.0), ended_at=200.0),
        }
    )

    standing.take([crashed, failed], 500.0, memory)

    assert standing.since == {PLACE: 200.0, ("gc-b", "tmux"): 300.0}


def test_who_comes_later_counts_from_then(standing: Standing) -> None:
    standing.take([READY], 500.0)
    late = AgentView("b", "gc-b", "tmux", State.READY, since=400.0)

    standing.take([READY, late], 600.0)

    assert standing.since[("gc-b", "tmux")] == 600.0


def test_who_is_gone_is_forgotten(standing: Standing) -> None:
    standing.take([READY], 500.0)
    standing.take([], 510.0)

    assert standing.since == {}


def test_a_session_is_not_older_than_now(standing: Standing) -> None:
    standing.take([READY], 50.0)

    assert standing.since == {PLACE: 50.0}


def test_a_move_is_told_once(standing: Standing) -> None:
    told: list[int] = []
    standing.tell = lambda: told.append(1)

    standing.take([READY], 500.0)
    standing.take([READY], 510.0)
    assert len(told) == 1
    standing.take([replace(READY, reason="because")], 520.0)

    assert len(told) == 2


def test_who_was_muted_once_is_not_shown_as_muted() -> None:
    views = [replace(READY, muted_until=until) for until in (None, 100.0, 101.0)]
    agents = status_document("town", None, views, now=100.0)["agents"]

    assert isinstance(agents, list)
    assert [agent["muted_until"] for agent in agents] == [None, None, 101.0]


def test_the_document_tells_since_when_and_what_comes_next() -> None:
    stopped = AgentView("b", "gc-b", "tmux", State.STOPPED)
    kept = status_document("town", 1, [READY, stopped], state_since={PLACE: 300.0})
    alone = status_document("town", None, [READY, stopped])

    def told(document: dict[str, object]) -> list[tuple[object, object]]:
        agents = document["agents"]
        assert isinstance(agents, list)
        return [(agent["state_since"], agent["next"]) for agent in agents]

    assert told(kept) == [(300.0, ""), (None, "`gc restart b` starts it")]
    assert told(alone) == [(100.0, ""), (None, "`gc restart b` starts it")]
