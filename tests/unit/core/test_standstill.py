"""How long a patience lasts when the machine stands still meanwhile."""

from __future__ import annotations

import pytest

from gascity.core.actions import Stop
from gascity.core.decide import decide
from gascity.core.decision import Surplus
from gascity.core.memory import AgentMemory, Memory
from gascity.core.model import AgentSpec
from gascity.core.observed import (
    CITY_ID,
    CONFIG_HASH,
    DRAIN,
    RUN,
    Alive,
    Observed,
    SessionState,
    Unseen,
)
from gascity.core.silence import PATIENCE, mind_silence
from gascity.core.standstill import NEVER, Standstills


@pytest.mark.parametrize(
    ("spans", "over"),
    [
        ((), 110.0),
        (((50.0, 90.0),), 110.0),  # before it began
        (((90.0, 104.0),), 114.0),  # it began meanwhile
        (((102.0, 105.0),), 113.0),
        (((102.0, 105.0), (112.0, 120.0)), 121.0),  # the second only counts because of the first
        (((111.0, 120.0),), 110.0),  # after it was over
    ],
)
def test_a_patience_does_not_pass_while_all_stand_still(
    spans: tuple[tuple[float, float], ...], over: float
) -> None:
    assert Standstills(spans).over(100.0, 10.0) == over


def test_who_could_not_do_anything_has_not_failed_to_drain() -> None:
    spec = AgentSpec("a", "gc-c-a", "tmux", "", "true", "/w", "f")
    meta = {RUN: "r1", CITY_ID: "c", CONFIG_HASH: "f", DRAIN: "r1"}
    state = SessionState("gc-c-a", Alive(), created=0.0, meta=meta)
    memory = AgentMemory(run="r1", provider="tmux", fingerprint="f", drain_since=100.0)
    wish = Surplus("the pool became smaller", patience=25.0)

    def actions(slept: Standstills) -> list[type]:
        decision = decide(spec, wish, state, memory, city_id="c", now=140.0, stood_still=slept)
        return [type(action) for action in decision.actions]

    assert actions(NEVER) == [Stop]
    assert actions(Standstills(((101.0, 139.0),))) == []


def test_a_provider_that_could_not_answer_is_no_trouble() -> None:
    slept = Standstills(((101.0, 199.0),))
    observed = Observed({"tmux": Unseen("it did not answer")}, stood_still=slept)

    _, found = mind_silence(observed, Memory(silent={"tmux": 100.0}), 200.0)

    assert found.troubles == ()
    assert found.wake_at == 100.0 + PATIENCE + 98.0
