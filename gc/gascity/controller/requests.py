"""What people ask of a running controller, and when each question can be answered.

Some are answered by the next tick (status), some when the world has come round (stop, restart),
some by a worker (nudge). Every one is answered: a condition that never comes true ends in an error
at its deadline.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gascity.agent import TIMEOUT
from gascity.controller.messages import Answer, Asked
from gascity.controller.status import status_document
from gascity.core import memory as remembering
from gascity.core.actions import Event, EventType
from gascity.core.model import AgentSpec, declared
from gascity.core.observed import AGENT
from gascity.core.views import State
from gascity.errors import GascityError, NotFound, StopTimedOut, UsageError

if TYPE_CHECKING:
    from gascity.controller.loop import Controller

PATIENCE = 60.0


@dataclass(frozen=True, slots=True)
class _Waiting:
    """A question whose answer depends on the world: `ready` gives it, or None for not yet."""

    ready: Callable[[], object | GascityError | None]
    answer: Answer
    deadline: float
    late: Callable[[], GascityError]


class Requests:
    """The open questions of one controller. Used by the loop's thread alone."""

    def __init__(self, controller: Controller) -> None:
        self._controller = controller
        self._waiting: list[_Waiting] = []

    def take(self, asked: Asked) -> None:
        """Answer now, or remember to."""
        methods: dict[str, Callable[[Asked], None]] = {
            "ping": self._ping,
            "status": self._status,
            "stop": self._stop,
            "stop_agents": self._stop_agents,
            "restart": self._restart,
            "nudge": self._nudge,
        }
        method = methods.get(asked.method)
        try:
            if method is None:
                raise UsageError(f'this controller knows no method "{asked.method}"')
            method(asked)
        except GascityError as problem:
            asked.answer(problem)

    def after_tick(self) -> None:
        """Answer what can be answered now."""
        still: list[_Waiting] = []
        for waiting in self._waiting:
            value = waiting.ready()
            if value is None and self._controller.now() >= waiting.deadline:
                value = waiting.late()
            if value is None:
                still.append(waiting)
            else:
                waiting.answer(value)
        self._waiting = still

    def deadlines(self) -> list[float]:
        """Return when the open questions must be answered."""
        return [waiting.deadline for waiting in self._waiting]

    def _ping(self, asked: Asked) -> None:
        asked.answer({"pid": os.getpid(), "city": self._controller.city.name})

    def _status(self, asked: Asked) -> None:
        controller = self._controller

        def ready() -> object:
            return status_document(controller.city.name, os.getpid(), controller.views)

        self._wait(asked, ready, PATIENCE, lambda: GascityError("no tick ended in time"))

    def _stop(self, asked: Asked) -> None:
        """End every session, then the controller."""
        controller = self._controller
        controller.closing = True
        stopped: set[str] = set()

        def ready() -> object | None:
            stopped.update(state.meta.get(AGENT, "") for state in controller.sessions().values())
            if controller.sessions() or controller.in_hand() or controller.unseen():
                return None
            controller.leave("the city was stopped")
            return {"stopped": sorted(stopped)}

        def late() -> GascityError:
            controller.closing = False
            left = ", ".join(sorted(controller.sessions())) or "none seen"
            silent = "; ".join(f"{name}: {why}" for name, why in controller.unseen().items())
            return StopTimedOut(f"not all sessions ended; left: {left}. {silent}".strip())

        grace = controller.city.daemon.shutdown_timeout
        self._wait(asked, ready, grace + TIMEOUT, late)

    def _stop_agents(self, asked: Asked) -> None:
        controller = self._controller
        specs = self._specs(asked.params)
        memory = controller.memory
        for spec in specs:
            memory = remembering.hold(memory, spec.session, remembering.HELD)
        controller.remember(
            memory,
            [
                Event(EventType.AGENT_HELD, s.name, s.session, message=remembering.HELD)
                for s in specs
            ],
        )

        def ready() -> object | None:
            left = [s.name for s in specs if s.session in controller.sessions()]
            busy = [s.name for s in specs if s.session in controller.in_hand()]
            return None if left or busy else {"stopped": [spec.name for spec in specs]}

        def late() -> GascityError:
            left = [s.name for s in specs if s.session in controller.sessions()]
            return StopTimedOut(f"still there: {', '.join(left)}")

        grace = controller.city.daemon.shutdown_timeout
        self._wait(asked, ready, grace + TIMEOUT, late)

    def _restart(self, asked: Asked) -> None:
        controller = self._controller
        specs = self._specs(asked.params)
        sessions = controller.sessions()
        memory = controller.memory
        old = {
            spec.session: sessions[spec.session].run if spec.session in sessions else ""
            for spec in specs
        }
        for session, run in old.items():
            memory = remembering.recycle(memory, session, run)
        controller.remember(memory)

        def ready() -> object | None:
            views = {view.session: view for view in controller.views}
            for spec in specs:
                view = views.get(spec.session)
                if view is None or view.state is State.STARTING:
                    return None
                if view.state is not State.READY:
                    return GascityError(f"{spec.name} did not come up: {view.reason}")
                if view.run == old[spec.session]:
                    return None
            return {"restarted": [spec.name for spec in specs]}

        def late() -> GascityError:
            return GascityError("not all of them came up in time", hint="`gc status` shows how")

        self._wait(asked, ready, PATIENCE + TIMEOUT, late)

    def _nudge(self, asked: Asked) -> None:
        (spec,) = self._specs(asked.params)
        provider = self._controller.provider(spec.provider)
        text = str(asked.params.get("text", ""))

        def job() -> None:
            try:
                asked.answer({"delivery": provider.nudge(spec.session, text, timeout=TIMEOUT)})
            except GascityError as problem:
                asked.answer(problem)

        self._controller.submit(job)

    def _wait(
        self,
        asked: Asked,
        ready: Callable[[], object | GascityError | None],
        patience: float,
        late: Callable[[], GascityError],
    ) -> None:
        deadline = self._controller.now() + patience
        self._waiting.append(_Waiting(ready, asked.answer, deadline, late))
        self._controller.look_again()

    def _specs(self, params: Mapping[str, object]) -> Sequence[AgentSpec]:
        names = params.get("agents")
        if not isinstance(names, list) or not names:
            raise UsageError("agents must be a list of names")
        known = {spec.name: spec for spec in declared(self._controller.city.desired)}
        unknown = [str(name) for name in names if name not in known]
        if unknown:
            raise NotFound(f'this controller knows no agent "{unknown[0]}"')
        return [known[name] for name in names]
