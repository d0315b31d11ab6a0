"""What comes next for an agent, in a few words."""

from __future__ import annotations

import pytest

from gascity.core.advice import next_step
from gascity.core.views import AgentView, State

NOTHING_TO_DO = {State.STARTING, State.READY, State.WORKING, State.IDLE}


@pytest.mark.parametrize("state", State)
def test_every_state_that_is_not_well_has_a_way_on(state: State) -> None:
    said = next_step(AgentView("mayor", "gc-c-mayor", "tmux", state, run="r1"))

    assert bool(said) == (state not in NOTHING_TO_DO)
    assert "{" not in said


def test_the_way_on_names_the_agent() -> None:
    view = AgentView("rigs/smith", "gc-c-rigs--smith", "tmux", State.QUARANTINED, run="r1")

    assert next_step(view) == "`gc reset rigs/smith` tries at once"


@pytest.mark.parametrize("state", State)
def test_nobody_is_sent_to_a_terminal_that_is_not_there(state: State) -> None:
    said = next_step(AgentView("mayor", "gc-c-mayor", "subprocess", state, run="r", terminal=False))

    assert bool(said) == (state not in NOTHING_TO_DO)
    assert "gc attach" not in said


def test_a_stranger_in_its_place_has_to_go() -> None:
    view = AgentView("mayor", "gc-c-mayor", "tmux", State.BLOCKED)

    assert next_step(view) == "end the session gc-c-mayor, or rename the agent"


def test_an_agent_that_drifted_is_not_said_to_be_replaced() -> None:
    view = AgentView("mayor", "gc-c-mayor", "tmux", State.WORKING, run="r1", drift=True)

    assert next_step(view) == "`gc diff mayor` shows what changed"
