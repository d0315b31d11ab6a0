"""The document that `gc plan --json` prints: what is to be done, and what waits and for what.

Under a controller, what was decided is being done already, so the document tells that instead of
planning it a second time.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from gascity.controller.standing import Place
from gascity.controller.status import agent_document
from gascity.core.actions import Action, Start
from gascity.core.advice import next_step
from gascity.core.case import Case, Scene, cases
from gascity.core.causes import cause, reason_of
from gascity.core.views import State

NOW, UNDER_WAY, TURN = "now", "under way", "waits for its turn"
_WAITS = frozenset(
    {
        State.STARTING,
        State.PENDING,
        State.WAITING,
        State.BLOCKED,
        State.LIMITED,
        State.AUTH,
        State.BACKOFF,
        State.QUARANTINED,
        State.DRAINING,
        State.ENDING,
        State.LOST,
        State.UNKNOWN,
    }
)


def plan_document(
    scene: Scene,
    steps: Iterable[dict[str, object]],
    state_since: Mapping[Place, float] | None = None,
) -> dict[str, object]:
    """Return what is done in a scene, and what waits. Its keys are a promise to scripts."""
    steps = list(steps)
    done_to = {step["session"] for step in steps}
    waiting = [view for view in scene.plan.views if view.drift or view.state in _WAITS]
    return {
        "actions": steps,
        "waiting": [
            _wait(one)
            for one in cases(scene, waiting)
            if one.view.session not in done_to and one.former is None  # its former self is told of
        ],
        "agents": [agent_document(view, state_since, scene.now) for view in scene.plan.views],
    }


def step(action: Action, when: str) -> dict[str, object]:
    """Return one action as the document has it."""
    return {
        "action": type(action).__name__.lower(),
        "agent": action.spec.name if isinstance(action, Start) else action.agent,
        "session": action.session,
        "why": action.why,
        "when": when,
    }


def _wait(case: Case) -> dict[str, object]:
    return {
        "agent": case.view.name,
        "state": str(case.view.state),
        "why": reason_of(case),
        "until": cause(case).until,
        "next": next_step(case.view),
    }
