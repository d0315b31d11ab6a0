"""Whether a run lives, by what a controller says of its agent."""

from __future__ import annotations

import pytest

from gascity.cli.records import is_there
from gascity.controller.status import agent_document
from gascity.core.views import AgentView, State


@pytest.mark.parametrize(
    ("view", "there"),
    [
        (AgentView("a", "s", "p", State.READY, pid=7, since=1.0), True),
        (AgentView("a", "s", "far", State.READY, since=1.0), True),
        (AgentView("a", "s", "far", State.LOST, since=1.0), True),
        (AgentView("a", "s", "far", State.PENDING), True),
        (AgentView("a", "s", "p", State.BACKOFF, run="r1"), False),
    ],
)
def test_one_on_another_machine_lives_without_a_process_here(view: AgentView, there: bool) -> None:
    assert is_there(agent_document(view, None, 0.0)) is there
