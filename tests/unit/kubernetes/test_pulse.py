"""What a line of a pod's tmux tells."""

from __future__ import annotations

import pytest
from tests.unit.kubernetes.test_state import DUE, READY, RUNNING, pod

from gascity_kubernetes.pulse import Beat, is_to_be_asked, read

NOW = 1_700_000_000.0


@pytest.mark.parametrize("clock", [NOW, NOW - 3600, NOW + 3600], ids=["same", "behind", "ahead"])
def test_when_an_agent_showed_something_is_told_by_our_clock(clock: float) -> None:
    line = f"{clock:.0f}|{clock - 5:.0f}|1|50% | done"

    assert read(line, NOW) == Beat(NOW - 5, 1, "50% | done")


@pytest.mark.parametrize("line", ["", "no server running on /run/gascity/tmux", "%s|1700000000|0|"])
def test_a_line_that_tells_no_time_tells_nothing(line: str) -> None:
    assert read(line, NOW) == Beat()


SILENT = {"type": "Ready", "status": "Unknown", "reason": "NodeStatusUnknown"}


@pytest.mark.parametrize(
    ("found", "is_asked"),
    [
        (pod(RUNNING), True),
        (pod(RUNNING, conditions=(SILENT,)), False),
        (pod(RUNNING, deleted=DUE), False),
        (pod(RUNNING, annotations={}), False),
        (pod(phase="Pending", conditions=(READY,)), False),
    ],
    ids=["up", "its node is silent", "ending", "no agent yet", "pending"],
)
def test_only_a_pod_that_can_answer_is_asked(found: dict[str, object], is_asked: bool) -> None:
    assert is_to_be_asked(found, NOW) is is_asked
