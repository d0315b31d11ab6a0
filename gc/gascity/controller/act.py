"""Carrying actions out: each ends in an outcome, whatever happens."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from gascity.agent import TIMEOUT, Agent, Home
from gascity.core.actions import Drain, Event, EventType, SessionAction, Start, Stop, Undrain
from gascity.core.observed import DRAIN
from gascity.errors import GascityError, StartFailed
from gascity.runs.ids import new_run_id
from gascity.session.provider import SessionProvider

KEPT_LINES = 200


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one action. `failure` is empty when it went well; `run` is what started."""

    action: SessionAction
    event: Event
    run: str = ""
    failure: str = ""


@dataclass(frozen=True, slots=True)
class Hands:
    """What acting needs: the providers, the agents' home, patience, and a place for last words."""

    providers: Mapping[str, SessionProvider]
    home: Home
    grace: float
    runs_folder: str

    def carry_out(self, actions: Sequence[SessionAction]) -> list[Outcome]:
        """Do one session's actions in order; after one that fails the rest is left undone."""
        outcomes: list[Outcome] = []
        for action in actions:
            outcomes.append(self._do(action))
            if outcomes[-1].failure:
                break
        return outcomes

    def _do(self, action: SessionAction) -> Outcome:
        try:
            match action:
                case Start():
                    return self._start(action)
                case Stop():
                    return self._stop(action)
                case Drain():
                    return self._drain(action)
                case Undrain():
                    return self._undrain(action)
        except GascityError as problem:
            return _failed(action, _sentence(problem))
        except Exception as problem:  # noqa: BLE001  a provider is foreign code: its bug is an outcome
            return _failed(action, f"{type(problem).__name__}: {problem}")

    def _start(self, action: Start) -> Outcome:
        run = new_run_id()
        spec = action.spec
        provider = self.providers[spec.provider]
        words = self._last_words(provider, action) if action.ended_run else ""
        try:
            Agent(spec, provider, self.home).start(
                run,
                datetime.now(),  # noqa: DTZ005  a beacon is read by people: local time
            )
        finally:
            self._keep(action.ended_run, words)  # after the start: an agent is down meanwhile
        event = Event(EventType.SESSION_STARTED, spec.name, spec.session, run, action.why)
        return Outcome(action, event, run=run)

    def _stop(self, action: Stop) -> Outcome:
        provider = self.providers[action.provider]
        provider.stop(action.session, grace=self.grace, timeout=self.grace + TIMEOUT)
        return _done(action, EventType.SESSION_STOPPED)

    def _drain(self, action: Drain) -> Outcome:
        self.providers[action.provider].set_meta(action.session, DRAIN, action.run, timeout=TIMEOUT)
        return _done(action, EventType.SESSION_DRAINING)

    def _undrain(self, action: Undrain) -> Outcome:
        self.providers[action.provider].remove_meta(action.session, DRAIN, timeout=TIMEOUT)
        return _done(action, EventType.SESSION_UNDRAINED)

    def _last_words(self, provider: SessionProvider, action: Start) -> str:
        """Return what an ended session showed last: the next one begins with a clean page."""
        with contextlib.suppress(GascityError):
            return provider.peek(action.session, KEPT_LINES, timeout=TIMEOUT)
        return ""

    def _keep(self, run: str, words: str) -> None:
        if not words:
            return
        with contextlib.suppress(OSError):
            folder = os.path.join(self.runs_folder, run)
            os.makedirs(folder, mode=0o700, exist_ok=True)
            with open(os.path.join(folder, "last-screen.txt"), "w", encoding="utf-8") as file:
                file.write(words)


def _done(action: Stop | Drain | Undrain, kind: EventType) -> Outcome:
    return Outcome(action, Event(kind, action.agent, action.session, "", action.why))


def _failed(action: SessionAction, why: str) -> Outcome:
    agent = action.spec.name if isinstance(action, Start) else action.agent
    kind = EventType.START_FAILED if isinstance(action, Start) else EventType.STOP_FAILED
    return Outcome(action, Event(kind, agent, action.session, "", why), failure=why)


def _sentence(problem: GascityError) -> str:
    """Give the reason and, of a start that failed, the last thing it said."""
    said = problem.output.strip().splitlines() if isinstance(problem, StartFailed) else []
    return f"{problem.message} (its last line: {said[-1].strip()})" if said else problem.message
