"""What people and agents ask of a running controller to change: reset, drain, and to be replaced.

A change of mind is kept in memory, the plan acts on it, and the answer tells how each agent stands
after that. What an agent says of itself becomes a flag of its session, set by a worker: the loop
makes no blocking call.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gascity.agent import START_TIMEOUT, TIMEOUT
from gascity.controller import flags
from gascity.controller.message_requests import specs_of
from gascity.controller.messages import Asked
from gascity.controller.workers import Workers
from gascity.core import changes
from gascity.core.model import AgentSpec, declared
from gascity.core.observed import DRAIN, DRAINED, Alive, SessionState
from gascity.core.views import UP, AgentView, State
from gascity.core.wishes import NOT_NEEDED
from gascity.errors import GascityError, NotFound, StopTimedOut, UsageError

if TYPE_CHECKING:
    from gascity.controller.loop import Controller

Ready = Callable[[], object | GascityError | None]
Late = Callable[[], object | GascityError]
Wait = Callable[[Asked, Ready, float, Late], None]
PATIENCE = START_TIMEOUT + TIMEOUT  # a session that is brought up can be asked nothing before
LONGEST = 86_400.0
DOWN = (State.STOPPED, State.SUSPENDED)


@dataclass(frozen=True, slots=True)
class _Whom:
    """The session a request is about; `run` is the incarnation that asks, "" for somebody else."""

    agent: str
    session: str
    provider: str
    run: str


class ChangeRequests:
    """Answers them. Used by the loop's thread, but for the setting of flags."""

    def __init__(self, controller: Controller, wait: Wait) -> None:
        self._controller = controller
        self._wait = wait
        self._workers = Workers()  # of their own: supervision does not queue behind them
        self.methods: Mapping[str, Callable[[Asked], None]] = {
            "reset": self._reset,
            "drain": self._drain,
            "undrain": self._undrain,
            "drain_check": self._drain_check,
            "drain_ack": self._drain_ack,
            "request_restart": self._request_restart,
            "replacement": self._replacement,
        }

    # --- what a person wants

    def _reset(self, asked: Asked) -> None:
        controller = self._controller
        specs = specs_of(controller, asked.params)
        before = controller.memory
        controller.remember(*changes.reset(before, specs))
        was = {spec.session: changes.burden(before.of(spec.session)) for spec in specs}

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
        controller.remember(*changes.drain(controller.memory, specs))
        done = self._is_down if until_gone else self._is_asked

        def ready() -> object | None:
            return self._standings(specs) if all(map(done, specs)) else None

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
        controller.remember(*changes.undrain(controller.memory, specs))

        def ready() -> object | None:
            return self._standings(specs) if all(map(self._is_free, specs)) else None

        def late() -> GascityError:
            left = ", ".join(spec.name for spec in specs if not self._is_free(spec))
            return GascityError(
                f"not known to be told to go on: {left}{silence(controller)}",
                hint="it is kept: they are told as soon as that can be done",
            )

        self._wait(asked, ready, PATIENCE, late)

    def _is_asked(self, spec: AgentSpec) -> bool:
        """Tell whether it knows that it has to drain, or does not run."""
        state = self._alive(spec)
        if state is not None:
            return state.run in (state.meta.get(DRAIN), state.meta.get(DRAINED))
        return self._is_down(spec)

    def _is_down(self, spec: AgentSpec) -> bool:
        """Tell whether it is known not to run. A session that is being done to is not."""
        return self._alive(spec) is None and self._standing(spec)["state"] in DOWN

    def _is_free(self, spec: AgentSpec) -> bool:
        """Tell whether nothing asks it to drain any more."""
        if spec.provider in self._controller.unseen():
            return False
        if spec.session in self._controller.deeds.starting():
            return True
        state = self._alive(spec)
        flagged = state is not None and flags.is_asked_to_drain(state)
        return not flagged and not self._controller.deeds.in_hand(spec.session)

    def _alive(self, spec: AgentSpec) -> SessionState | None:
        state = self._controller.sessions().get(spec.session)
        return state if state is not None and isinstance(state.life, Alive) else None

    def _standings(self, specs: Sequence[AgentSpec]) -> dict[str, object]:
        return {"agents": [self._standing(spec) for spec in specs]}

    def _standing(self, spec: AgentSpec) -> dict[str, object]:
        """Return how an agent stands; a pool's empty places have no view."""
        view = self._view(spec.session)
        if view is None:
            return standing(spec.name, State.STOPPED, NOT_NEEDED)
        return standing(spec.name, view.state, self._controller.conceal(view.name, view.reason))

    def _view(self, session: str) -> AgentView | None:
        views = self._controller.views
        return next((view for view in views if view.session == session), None)

    # --- what an agent says of itself

    def _drain_check(self, asked: Asked) -> None:
        whom = self._whom(asked.params)

        def look() -> object | GascityError | None:
            state = self._controller.sessions().get(whom.session)
            if state is None or not isinstance(state.life, Alive):
                return None
            drains = flags.is_asked_to_drain(state, whom.run)
            return {"agent": whom.agent, "run": whom.run or state.run, "drain": drains}

        if (answer := look()) is not None:
            asked.answer(answer)
            return

        def ready() -> object | GascityError | None:
            silent = whom.provider in self._controller.unseen()
            return look() or (None if silent else flags.not_running(whom.agent))

        def late() -> GascityError:
            return GascityError(f"{whom.agent} cannot be seen{silence(self._controller)}")

        self._wait(asked, ready, TIMEOUT, late)

    def _drain_ack(self, asked: Asked) -> None:
        whom = self._whom(asked.params)
        provider = self._controller.provider(whom.provider)

        def job() -> None:
            run = flags.acknowledge(provider, whom.session, whom.agent, whom.run)
            asked.answer({"agent": whom.agent, "run": run})
            self._controller.wake()

        self._have_done(asked, job)

    def _request_restart(self, asked: Asked) -> None:
        whom = self._whom(asked.params)
        provider = self._controller.provider(whom.provider)
        waits = asked.params.get("wait") is not False

        def job() -> None:
            run = flags.request_restart(provider, whom.session, whom.agent, whom.run)
            if waits:
                old = {"agent": whom.agent, "session": whom.session, "run": run}
                self._controller.post(Asked("replacement", old, asked.answer))
            else:
                asked.answer({"agent": whom.agent, "run": run})
            self._controller.wake()

        self._have_done(asked, job)

    def _replacement(self, asked: Asked) -> None:
        """Answer when another incarnation than `run` is up, or cannot be."""
        whom = self._whom(asked.params)
        controller = self._controller

        def ready() -> object | GascityError | None:
            view = self._view(whom.session)
            if view is None:
                return GascityError(f"{whom.agent} is no longer wanted, so it was not replaced")
            if view.run == whom.run or view.state in (State.STARTING, State.UNKNOWN):
                return None
            if view.state not in UP or not view.run:
                why = controller.conceal(view.name, view.reason)
                return GascityError(f"{whom.agent} did not come up again: {why}")
            return {"agent": whom.agent, "run": view.run}

        def late() -> GascityError:
            return GascityError(
                f"{whom.agent} was not replaced in time{silence(controller)}",
                hint="`gc status` shows how it stands",
            )

        self._wait(asked, ready, PATIENCE, late)

    def _have_done(self, asked: Asked, job: Callable[[], None]) -> None:
        def guarded() -> None:
            try:
                job()
            except GascityError as problem:
                asked.answer(problem)
            except Exception as problem:  # noqa: BLE001  a provider is foreign code: its bug is an answer
                asked.answer(GascityError(f"{type(problem).__name__}: {problem}"))

        self._workers.submit(guarded)

    def _whom(self, params: Mapping[str, object]) -> _Whom:
        """Return whom a request is about: also a session that is no longer declared.

        Raises UsageError, NotFound or NotRunning.
        """
        agent, session, run = (params.get(key, "") for key in ("agent", "session", "run"))
        if not (isinstance(agent, str) and isinstance(session, str) and isinstance(run, str)):
            raise UsageError("agent, session and run must be texts")
        specs = declared(self._controller.city.desired)
        spec = next(
            (
                each
                for each in specs
                if session == each.session or (not session and agent == each.name)
            ),
            None,
        )
        if spec is None and not session:
            raise NotFound(f'this controller knows no agent "{agent}"')
        session = spec.session if spec is not None else session
        known = self._controller.memory.of(session)
        provider = known.provider if known.run or spec is None else spec.provider
        if not provider:
            raise flags.not_running(agent)
        return _Whom(agent or session, session, provider, run)


def standing(agent: str, state: str, reason: str) -> dict[str, object]:
    """Return how an agent stands, as `gc drain --json` prints it. Its keys are a promise."""
    return {"name": agent, "state": str(state), "reason": reason}


def silence(controller: Controller) -> str:
    """Say which providers do not answer, as the end of a sentence."""
    return "".join(f"; {name}: {why}" for name, why in controller.unseen().items())


def _patience(params: Mapping[str, object]) -> float:
    given = params.get("timeout")
    if not isinstance(given, int | float) or isinstance(given, bool) or not 0 < given <= LONGEST:
        raise UsageError("timeout must be a number of seconds")
    return float(given)
