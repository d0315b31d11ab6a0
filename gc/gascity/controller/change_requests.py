"""What people ask of a running controller to change: reset, drain, undrain, mute, unmute.

A change of mind is kept in memory, the plan acts on it, and the answer tells how each agent stands
after that.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from gascity.agent import START_TIMEOUT, TIMEOUT
from gascity.controller.message_requests import specs_of
from gascity.controller.messages import Asked
from gascity.core import by_hand, draining
from gascity.core.memory import FOREVER, Memory
from gascity.core.model import AgentSpec
from gascity.core.observed import Alive, SessionState
from gascity.core.spans import span
from gascity.core.views import State
from gascity.core.wishes import NOT_NEEDED
from gascity.errors import GascityError, StopTimedOut, UsageError

if TYPE_CHECKING:
    from gascity.controller.loop import Controller

Ready = Callable[[], object | GascityError | None]
Late = Callable[[], object | GascityError]
Wait = Callable[[Asked, Ready, float, Late], None]
PATIENCE = START_TIMEOUT + TIMEOUT  # a session that is brought up can be asked nothing before
LONGEST = 86_400.0
DOWN = (State.STOPPED, State.SUSPENDED)


class ChangeRequests:
    """Answers them. Used by the loop's thread alone."""

    def __init__(self, controller: Controller, wait: Wait) -> None:
        self._controller = controller
        self._wait = wait
        self.methods: Mapping[str, Callable[[Asked], None]] = {
            "reset": self._reset,
            "drain": self._drain,
            "undrain": self._undrain,
            "mute": self._mute,
            "unmute": self._unmute,
        }

    def _reset(self, asked: Asked) -> None:
        controller = self._controller
        specs = specs_of(controller, asked.params)
        before = controller.memory
        controller.remember(*by_hand.reset(before, specs))
        was = {spec.session: by_hand.burden(before.of(spec.session)) for spec in specs}

        def ready() -> object:
            return {
                "agents": [
                    {**self._standing(spec), "forgotten": was[spec.session]} for spec in specs
                ]
            }

        self._wait(asked, ready, TIMEOUT, ready)

    def _drain(self, asked: Asked) -> None:
        controller = self._controller
        specs = specs_of(controller, asked.params)
        until_gone = asked.params.get("wait") is True
        patience = _patience(asked.params) if until_gone else PATIENCE
        controller.remember(*by_hand.drain(controller.memory, specs))
        done = self._is_down if until_gone else self._is_asked

        def ready() -> object | GascityError | None:
            back = [s.name for s in specs if not controller.memory.of(s.session).drained]
            if back:
                return GascityError(f"the drain was taken back: {', '.join(back)}")
            return self._told(specs) if all(map(done, specs)) else None

        def late() -> GascityError:
            left = ", ".join(spec.name for spec in specs if not done(spec))
            if until_gone:
                return StopTimedOut(
                    f"not down in time: {left}{silence(controller)}",
                    hint="they go on draining; `gc status` shows how they stand",
                )
            return GascityError(
                f"not known to be asked to drain: {left}{silence(controller)}",
                hint="it is kept: they are asked as soon as that can be done",
            )

        self._wait(asked, ready, patience, late)

    def _undrain(self, asked: Asked) -> None:
        controller = self._controller
        specs = specs_of(controller, asked.params)
        controller.remember(*by_hand.undrain(controller.memory, specs))

        def ready() -> object | GascityError | None:
            return self._told(specs) if all(map(self._is_free, specs)) else None

        def late() -> GascityError:
            left = ", ".join(spec.name for spec in specs if not self._is_free(spec))
            return GascityError(
                f"not known to be told to go on: {left}{silence(controller)}",
                hint="it is kept: they are told as soon as that can be done",
            )

        self._wait(asked, ready, PATIENCE, late)

    def _mute(self, asked: Asked) -> None:
        controller = self._controller
        specs = specs_of(controller, asked.params)
        until, how_long = muting(asked.params.get("seconds"), controller.now())
        controller.remember(*by_hand.mute(controller.memory, specs, until, how_long))
        self._answer_muted(asked, specs)

    def _unmute(self, asked: Asked) -> None:
        controller = self._controller
        specs = specs_of(controller, asked.params)
        controller.remember(*by_hand.unmute(controller.memory, specs))
        self._answer_muted(asked, specs)

    def _answer_muted(self, asked: Asked, specs: Sequence[AgentSpec]) -> None:
        controller = self._controller

        def ready() -> object | GascityError:
            if controller.journal.behind:
                return unwritten(controller, specs, "done, but the next controller forgets it")
            return {"agents": [muted(spec, controller.memory) for spec in specs]}

        self._wait(asked, ready, TIMEOUT, ready)

    def _is_asked(self, spec: AgentSpec) -> bool:
        """Tell whether it knows that it has to drain, or does not run."""
        state = self._alive(spec)
        if state is None:
            return self._is_down(spec)
        told = draining.asked(state) or draining.acknowledged(state)
        deeds = self._controller.deeds
        # While it is being told, it stands as somebody to whom something is done.
        return told and not (deeds.in_hand(spec.session) or deeds.outran_a_look(spec.session))

    def _is_down(self, spec: AgentSpec) -> bool:
        """Tell whether it is known not to run. A session that is being done to is not."""
        return self._alive(spec) is None and self._standing(spec)["state"] in DOWN

    def _is_free(self, spec: AgentSpec) -> bool:
        """Tell whether it is not to drain any more, or drains for another reason than a person."""
        if spec.provider in self._controller.unseen():
            return False
        deeds = self._controller.deeds
        if spec.session in deeds.starting():
            return True
        if deeds.in_hand(spec.session) or deeds.outran_a_look(spec.session):
            return False
        state = self._alive(spec)
        goes_on = state is None or not draining.asked(state)
        return goes_on or self._standing(spec)["state"] == State.DRAINING

    def _alive(self, spec: AgentSpec) -> SessionState | None:
        state = self._controller.sessions().get(spec.session)
        return state if state is not None and isinstance(state.life, Alive) else None

    def _told(self, specs: Sequence[AgentSpec]) -> object | GascityError:
        """Return how agents stand, or that what was wished of them is not written down."""
        if self._controller.journal.behind:
            return unwritten(self._controller, specs, "done, but the next controller forgets it")
        return self._standings(specs)

    def _standings(self, specs: Sequence[AgentSpec]) -> dict[str, object]:
        return {"agents": [self._standing(spec) for spec in specs]}

    def _standing(self, spec: AgentSpec) -> dict[str, object]:
        """Return how an agent stands; a pool's empty places have no view."""
        views = self._controller.views
        view = next((view for view in views if view.session == spec.session), None)
        if view is None:
            return standing(spec.name, State.STOPPED, NOT_NEEDED)
        return standing(spec.name, view.state, self._controller.conceal(view.name, view.reason))


def standing(agent: str, state: str, reason: str) -> dict[str, object]:
    """Return how an agent stands, as `gc drain --json` prints it. Its keys are a promise."""
    return {"name": agent, "state": str(state), "reason": reason}


def muted(spec: AgentSpec, memory: Memory) -> dict[str, object]:
    """Return whether an agent is muted and until when, as `gc mute --json` prints it.

    Null is not at all, or until somebody takes it back.
    """
    until = memory.of(spec.session).muted_until
    ends = None if until is None or until >= FOREVER else until
    return {"name": spec.name, "muted": until is not None, "muted_until": ends}


def muting(seconds: object, now: float) -> tuple[float, str]:
    """Return until when something is muted for that long, and how to say so. Raises UsageError."""
    if seconds is None:
        return FOREVER, "until `gc unmute`"
    if not isinstance(seconds, int | float) or isinstance(seconds, bool) or not seconds > 0:
        raise UsageError("seconds must be a number of them")
    return min(now + seconds, FOREVER), f"for {span(seconds)}"


def unwritten(controller: Controller, specs: Sequence[AgentSpec], done: str) -> GascityError:
    """Say that something was done and is not written down: a new controller undoes it."""
    names = ", ".join(spec.name for spec in specs)
    return GascityError(
        f"{names}: {done}: {controller.journal.behind}",
        hint="it is written as soon as that is possible; `gc doctor` looks at the folder",
    )


def silence(controller: Controller) -> str:
    """Say which providers do not answer, as the end of a sentence."""
    return "".join(f"; {name}: {why}" for name, why in controller.unseen().items())


def _patience(params: Mapping[str, object]) -> float:
    given = params.get("timeout")
    if not isinstance(given, int | float) or isinstance(given, bool) or not 0 < given <= LONGEST:
        raise UsageError("timeout must be a number of seconds")
    return float(given)
