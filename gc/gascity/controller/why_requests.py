"""What people ask of a running controller about its decisions: why, and what comes next.

Answered from what the last tick saw and decided, never by deciding anew: an explanation that was
made apart could contradict what is done.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, replace
from typing import TYPE_CHECKING

from gascity.controller.change_requests import Wait
from gascity.controller.messages import Asked
from gascity.controller.planned import TURN, UNDER_WAY, plan_document, step
from gascity.core.case import Scene
from gascity.core.views import AgentView
from gascity.core.why import account
from gascity.errors import GascityError, NotFound, UsageError

if TYPE_CHECKING:
    from gascity.controller.loop import Controller

PATIENCE = 2.0  # for a new look; then what is known already has to do


class WhyRequests:
    """Answers them. Used by the loop's thread alone."""

    def __init__(self, controller: Controller, wait: Wait) -> None:
        self._controller = controller
        self._wait = wait
        self.methods: Mapping[str, Callable[[Asked], None]] = {
            "why": self._why,
            "plan": self._plan,
        }

    def _why(self, asked: Asked) -> None:
        controller, name = self._controller, asked.params.get("agent")
        if not isinstance(name, str):
            raise UsageError("agent must be a name")

        def ready() -> object | GascityError:
            scene = controller.scene
            if scene is None:
                return _undecided()
            problem = controller.reloads.problem
            found = account(scene, name, config_problem=problem)
            if found is None:
                return NotFound(f'this controller knows no agent "{name}"')
            return asdict(found.spoken(lambda text: controller.conceal(found.name, text)))

        self._wait(asked, ready, PATIENCE, ready)

    def _plan(self, asked: Asked) -> None:
        controller = self._controller

        def ready() -> object | GascityError:
            return _undecided() if controller.scene is None else self._document(controller.scene)

        self._wait(asked, ready, PATIENCE, ready)

    def _document(self, scene: Scene) -> dict[str, object]:
        controller = self._controller
        views = tuple(discreet(view, controller) for view in scene.plan.views)
        steps = [
            step(action, UNDER_WAY if begun else TURN)
            for action, begun in controller.deeds.under_way()
        ]
        for one in steps:
            one["why"] = controller.conceal(str(one["agent"]), str(one["why"]))
        shown = replace(scene, plan=replace(scene.plan, views=views))
        return plan_document(shown, steps, controller.standing.since)


def discreet(view: AgentView, controller: Controller) -> AgentView:
    """A reason may quote a screen: leave out the secrets its agent was given."""
    if not view.reason:
        return view
    return replace(view, reason=controller.conceal(view.name, view.reason))


def _undecided() -> GascityError:
    return GascityError("no provider has answered yet, so nothing is decided")
