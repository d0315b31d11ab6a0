"""What must be true of every account, whatever a city lives through."""

from __future__ import annotations

from dataclasses import replace

from gascity.controller.planned import NOW, plan_document, step
from gascity.core.case import Scene
from gascity.core.model import declared
from gascity.core.why import Why, account


def assert_explained(scene: Scene) -> None:
    """Fail unless every agent has a cause in one line, with a controller and without one."""
    names = {spec.name for spec in declared(scene.desired)}
    names |= {view.name for view in scene.plan.views} | {name for _, name in scene.plan.foreign}
    for kept in (True, False):
        for name in names:
            _assert_sound(account(replace(scene, kept=kept), name), name)
    steps = [step(action, NOW) for action in scene.plan.actions]
    document = plan_document(scene, steps)

    assert len(document) == 3


def _assert_sound(found: Why | None, name: str) -> None:
    assert found is not None, f"{name} has no account"
    assert found.cause, f"{name} is {found.state} without a cause"
    assert "\n" not in found.cause
    assert found.inputs
