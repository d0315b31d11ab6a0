"""What people ask of a running controller, and when each question can be answered.

Some are answered by the next tick (status), some when the world has come round (stop, restart),
some by a worker (a nudge, see `message_requests`; what agents say of themselves, see
`own_requests`), some by what the last tick saw and decided (see `why_requests`). Every one is
answered: a condition that never comes true ends in an error at its deadline, and a question nobody
can make sense of ends in one at once.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gascity.agent import START_TIMEOUT, TIMEOUT
from gascity.controller.change_requests import ChangeRequests, Late, Ready, silence, unwritten
from gascity.controller.hook_requests import HookRequests
from gascity.controller.message_requests import MessageRequests, specs_of
from gascity.controller.messages import Answer, Asked
from gascity.controller.own_requests import OwnRequests
from gascity.controller.status import status_document
from gascity.controller.why_requests import WhyRequests, discreet
from gascity.core import memory as remembering
from gascity.core.actions import Event, EventType
from gascity.core.model import AgentSpec
from gascity.core.observed import AGENT, Alive
from gascity.core.views import COMING, UP, AgentView, State
from gascity.errors import GascityError, StopTimedOut, UsageError

if TYPE_CHECKING:
    from gascity.controller.loop import Controller

STATUS_PATIENCE = 2.0  # then what is known already has to do
RELOAD_PATIENCE = 30.0


@dataclass(frozen=True, slots=True)
class _Waiting:
    """A question whose answer depends on the world: `ready` gives it, or None for not yet."""

    ready: Ready
    answer: Answer
    since: float
    patience: float
    late: Late


class Requests:
    """The open questions of one controller. Used by the loop's thread alone."""

    def __init__(self, controller: Controller) -> None:
        self._controller = controller
        self._waiting: list[_Waiting] = []
        self._messages = MessageRequests(controller)
        self._changes = ChangeRequests(controller, self._wait)
        self._own = OwnRequests(controller, self._wait)
        self._why = WhyRequests(controller, self._wait)
        self._hooks = HookRequests(controller)

    def take(self, asked: Asked) -> None:
        """Answer now, or remember to."""
        methods: dict[str, Callable[[Asked], None]] = {
            "ping": self._ping,
            "status": self._status,
            "stop": self._stop,
            "stop_agents": self._stop_agents,
            "restart": self._restart,
            "reload": self._reload,
            **self._messages.methods,
            **self._changes.methods,
            **self._own.methods,
            **self._why.methods,
            **self._hooks.methods,
        }
        method = methods.get(asked.method)
        if method is None:
            asked.answer(UsageError(f'this controller knows no method "{asked.method}"'))
            return
        try:
            method(asked)
        except GascityError as problem:
            asked.answer(problem)
        except Exception as problem:  # noqa: BLE001  no question may end the supervision
            asked.answer(_fault(problem))

    def after_tick(self) -> None:
        """Answer what can be answered now."""
        waiting, self._waiting = self._waiting, []
        for one in waiting:
            value = _guarded(one.ready)
            if value is None:
                self._waiting.append(one)
            else:
                one.answer(value)

    def expire(self) -> None:
        """Answer what has waited too long."""
        now, over = self._controller.now(), self._controller.standstills().over
        waiting, self._waiting = self._waiting, []
        for one in waiting:
            if over(one.since, one.patience) <= now:
                one.answer(_guarded(one.late))
            else:
                self._waiting.append(one)

    def deadlines(self) -> list[float]:
        """Return when the open questions must be answered."""
        over = self._controller.standstills().over
        return [over(waiting.since, waiting.patience) for waiting in self._waiting]

    def _ping(self, asked: Asked) -> None:
        asked.answer({"pid": os.getpid(), "city": self._controller.city.name})

    def _status(self, asked: Asked) -> None:
        controller = self._controller

        def ready() -> object:
            views = [discreet(view, controller) for view in controller.views]
            problem = controller.reloads.problem
            return status_document(
                controller.city.name,
                os.getpid(),
                views,
                problem,
                controller.journal.behind,
                controller.scene.plan.foreign if controller.scene is not None else (),
                controller.alarms.document(),
                controller.standing.since,
                controller.now(),
            )

        if asked.params.get("known") is True:  # for one who asks whenever something moves
            asked.answer(ready())
        else:
            self._wait(asked, ready, STATUS_PATIENCE, ready)

    def _stop(self, asked: Asked) -> None:
        """End every session, then the controller. It goes on trying after its answer is late."""
        controller = self._controller
        stopped: set[str] = set()

        def ready() -> object | None:
            for state in controller.sessions().values():
                if isinstance(state.life, Alive):
                    stopped.add(state.meta.get(AGENT, ""))
            if controller.leaving and controller.journal.behind:
                return GascityError(
                    f"all sessions have ended, but that is not written down:"
                    f" {controller.journal.behind}",
                    hint="the next `gc start` takes them for crashed",
                )
            return {"stopped": sorted(stopped)} if controller.leaving else None

        def late() -> GascityError:
            left = ", ".join(sorted(controller.sessions())) or "none that can be seen"
            return StopTimedOut(
                f"not all sessions have ended; left: {left}{silence(controller)}",
                hint="the controller goes on trying and leaves when all is gone",
            )

        patience = controller.city.daemon.shutdown_timeout + _ending(controller)
        if controller.deeds.starting():
            patience += START_TIMEOUT
        controller.close_the_city()
        self._wait(asked, ready, patience, late)

    def _stop_agents(self, asked: Asked) -> None:
        controller = self._controller
        specs = specs_of(self._controller, asked.params)
        memory = controller.memory
        for spec in specs:
            memory = remembering.hold(memory, spec.session, remembering.HELD)
        controller.remember(
            memory,
            [
                Event(EventType.AGENT_HELD, spec.name, spec.session, message=remembering.HELD)
                for spec in specs
            ],
        )

        def left() -> list[str]:
            unseen = controller.unseen()
            sessions = controller.sessions()
            return [
                spec.name
                for spec in specs
                if spec.provider in unseen
                or spec.session in sessions
                or controller.deeds.in_hand(spec.session)
            ]

        def ready() -> object | GascityError | None:
            if left():
                return None
            if controller.journal.behind:
                return unwritten(controller, specs, "stopped, but the next controller starts them")
            return {"stopped": [spec.name for spec in specs]}

        def late() -> GascityError:
            return StopTimedOut(f"not known to be gone: {', '.join(left())}{silence(controller)}")

        patience = controller.city.daemon.shutdown_timeout + _ending(controller)
        self._wait(asked, ready, patience, late)

    def _restart(self, asked: Asked) -> None:
        restart = _Restart(self._controller, specs_of(self._controller, asked.params))
        self._wait(asked, restart.ready, START_TIMEOUT + _ending(self._controller), restart.late)

    def _reload(self, asked: Asked) -> None:
        late = GascityError("the city file could not be read in time")
        self._wait(asked, self._controller.reloads.ask(), RELOAD_PATIENCE, lambda: late)

    def _wait(
        self,
        asked: Asked,
        ready: Ready,
        patience: float,
        late: Late,
    ) -> None:
        since = self._controller.now()
        self._waiting.append(_Waiting(ready, asked.answer, since, patience, late))
        self._controller.look_again()


def _guarded(answer: Ready) -> object | None:
    """Return what answers a question; no question may end the supervision."""
    try:
        return answer()
    except Exception as problem:  # noqa: BLE001  as above
        return _fault(problem)


def _fault(problem: Exception) -> GascityError:
    return GascityError(f"{type(problem).__name__}: {problem}")


class _Restart:
    """Agents on their way to a new incarnation."""

    def __init__(self, controller: Controller, specs: Sequence[AgentSpec]) -> None:
        self._controller = controller
        self._specs = specs
        self._old: dict[str, str] = {}

    def ready(self) -> object | GascityError | None:
        """Answer when every agent has a new incarnation, or one cannot have it."""
        if not self._old:
            unseen = self._controller.unseen()
            if not any(spec.provider in unseen for spec in self._specs):
                self._begin()
            return None
        views = {view.session: view for view in self._controller.views}
        standings = [self._standing(spec, views.get(spec.session)) for spec in self._specs]
        for standing in standings:
            if isinstance(standing, GascityError):
                return standing
        if not all(standings):
            return None
        if self._controller.journal.behind:
            return unwritten(self._controller, self._specs, "up, but that is not written down")
        return {"restarted": [spec.name for spec in self._specs if spec.session in views]}

    def late(self) -> GascityError:
        """Say that it took too long."""
        sessions = {spec.session for spec in self._specs}
        waits = "".join(
            f"; {view.name} is pending: {self._controller.conceal(view.name, view.reason)}"
            for view in self._controller.views
            if view.session in sessions and view.state is State.PENDING
        )
        return GascityError(
            f"not all of them came up in time{waits}{silence(self._controller)}",
            hint="`gc status` shows how they stand",
        )

    def _begin(self) -> None:
        """Note which incarnations there are, now that they have been seen, and let them go."""
        sessions = self._controller.sessions()
        memory = self._controller.memory
        for spec in self._specs:
            state = sessions.get(spec.session)
            self._old[spec.session] = state.run if state is not None else ""
            memory = remembering.recycle(memory, spec.session, self._old[spec.session])
        self._controller.remember(memory)
        self._controller.look_again()

    def _standing(self, spec: AgentSpec, view: AgentView | None) -> bool | GascityError:
        """Tell whether the agent is done: a member its pool does not need is, too."""
        if view is None:
            return True
        if view.state in COMING:
            return False
        if view.state not in UP or not view.run:
            return GascityError(f"{spec.name} did not come up: {view.reason}")
        return view.run != self._old[spec.session]


def _ending(controller: Controller) -> float:
    """Return how long the slowest provider may take to end a session, beyond its grace."""
    return max((one.ending for one in controller.providers.values()), default=TIMEOUT)
