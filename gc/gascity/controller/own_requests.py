"""What agents say and ask of themselves, from inside their sessions.

Asked are sessions, not declared agents: a member that its pool no longer has may still drain. What
an agent says becomes a flag of its session, set by a worker, for the loop makes no blocking call.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gascity.agent import TIMEOUT
from gascity.controller import flags
from gascity.controller.change_requests import PATIENCE, Wait, silence
from gascity.controller.messages import Asked, Wake
from gascity.controller.workers import Workers
from gascity.core.model import declared
from gascity.core.observed import Alive
from gascity.core.views import COMING, UP, State
from gascity.errors import GascityError, NotFound, UsageError

if TYPE_CHECKING:
    from gascity.controller.loop import Controller


@dataclass(frozen=True, slots=True)
class _Whom:
    """The session a request is about; `run` is the incarnation that asks, "" for somebody else."""

    agent: str
    session: str
    provider: str
    run: str


class OwnRequests:
    """Answers them. Used by the loop's thread, but for the setting of flags."""

    def __init__(self, controller: Controller, wait: Wait) -> None:
        self._controller = controller
        self._wait = wait
        self._workers = Workers()  # of their own: supervision does not queue behind them
        self.methods: Mapping[str, Callable[[Asked], None]] = {
            "drain_check": self._drain_check,
            "drain_ack": self._drain_ack,
            "request_restart": self._request_restart,
            "replacement": self._replacement,
        }

    def _drain_check(self, asked: Asked) -> None:
        whom = self._whom(asked.params)

        def look() -> object | GascityError | None:
            state = self._controller.sessions().get(whom.session)
            if state is None or not isinstance(state.life, Alive):
                return None
            run = whom.run or state.run
            return {"agent": whom.agent, "run": run, "drain": flags.should_drain(state, run)}

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
        provider = self._controller.providers[whom.provider]

        def job() -> None:
            run = flags.acknowledge(provider, whom.session, whom.agent, whom.run)
            asked.answer({"agent": whom.agent, "run": run})
            self._controller.post(Wake())

        self._have_done(asked, job)

    def _request_restart(self, asked: Asked) -> None:
        whom = self._whom(asked.params)
        provider = self._controller.providers[whom.provider]
        waits = asked.params.get("wait") is not False

        def job() -> None:
            run = flags.request_restart(provider, whom.session, whom.agent, whom.run)
            if waits:
                old = {"agent": whom.agent, "session": whom.session, "run": run}
                self._controller.post(Asked("replacement", old, asked.answer))
            else:
                asked.answer({"agent": whom.agent, "run": run})
            self._controller.post(Wake())

        self._have_done(asked, job)

    def _replacement(self, asked: Asked) -> None:
        """Answer when another incarnation than `run` is up, or cannot be."""
        whom = self._whom(asked.params)
        controller = self._controller

        def ready() -> object | GascityError | None:
            view = next((each for each in controller.views if each.session == whom.session), None)
            if view is None:
                return GascityError(f"{whom.agent} is no longer wanted, so it was not replaced")
            if view.run == whom.run or view.state in COMING or view.state is State.UNKNOWN:
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
