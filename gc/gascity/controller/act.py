"""Carrying actions out: each ends in an outcome, whatever happens."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from gascity.agent import TIMEOUT, Agent, Home
from gascity.controller.hooking import set_up_hooks, with_hooks
from gascity.controller.noting import Began, LastWords, Note, NotUp, Pends, Up, unheard
from gascity.controller.parting import KEPT_LINES, PATIENCE, last_words
from gascity.controller.telling import dialog_event, dialogs_at_start, nudge_event
from gascity.core.actions import (
    Dismiss,
    Drain,
    Event,
    EventType,
    Nudge,
    SessionAction,
    Start,
    Stop,
    Undrain,
)
from gascity.core.fingerprint import conceal, secret_values
from gascity.core.observed import DRAIN, DRAINED, STARTING
from gascity.errors import GascityError, ProviderUnavailable, StartFailed, StartPending
from gascity.runs.ids import new_run_id
from gascity.screens.rules import RuleBook
from gascity.session.answering import answer_dialog
from gascity.session.provider import SessionProvider
from gascity.session.readiness import record
from gascity.session.receipts import Delivery, Receipt

DELIVERY_TIMEOUT = 30.0


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one action. `failure` is empty when it went well; `run` is what started.

    `outage` says that the provider did not answer, `pending` that the session waits for a machine
    or the like: the agent is not to blame. `receipt` is that of a message, `also` what else
    happened on the way.
    """

    action: SessionAction
    event: Event
    run: str = ""
    failure: str = ""
    outage: bool = False
    pending: bool = False
    receipt: Receipt | None = None
    also: tuple[Event, ...] = ()


@dataclass(frozen=True, slots=True)
class Hands:
    """What acting needs: the providers, the agents' home, patience, and who notes what happens.

    `runs_folder` is where that is kept.
    """

    providers: Mapping[str, SessionProvider]
    home: Home
    grace: float
    runs_folder: str
    screens: RuleBook = field(default_factory=RuleBook)
    note: Callable[[Note], None] = unheard

    def carry_out(
        self, actions: Sequence[SessionAction], no_more_starts: Callable[[], bool]
    ) -> list[Outcome]:
        """Do one session's actions in order; after one that fails the rest is left undone."""
        first, ended = actions[0], _ended_run(actions[0])
        words = "" if not ended or self._kept_by_provider(first) else self._last_words(first)
        outcomes: list[Outcome] = []
        for action in actions:
            if isinstance(action, Start) and no_more_starts():
                break
            outcomes.append(self._do(action))
            if outcomes[-1].failure:
                break
        if ended and outcomes:  # in the end: an agent is down meanwhile
            if not words and self._kept_by_provider(first):
                words = self.providers[first.provider].previous_output(first.session, KEPT_LINES)
            self.note(LastWords(ended, _agent_of(first), words))
        return outcomes

    def stop_together(self, stops: Sequence[Stop]) -> list[Outcome]:
        """End several sessions of one provider at once; each has its outcome, in their order."""
        provider = self.providers[stops[0].provider]
        names = [stop.session for stop in stops]
        words = last_words(provider, names)
        for stop in stops:
            self.note(LastWords(stop.run, stop.agent, words.get(stop.session, "")))
        try:
            left = provider.stop_all(names, grace=self.grace, timeout=self.grace + provider.ending)
        except ProviderUnavailable as problem:
            return [failed(stop, problem.message, outage=True) for stop in stops]
        except GascityError as problem:
            return [failed(stop, problem.message) for stop in stops]
        return [
            failed(
                stop,
                left[stop.session].message,
                outage=isinstance(left[stop.session], ProviderUnavailable),
            )
            if stop.session in left
            else _done(stop, EventType.SESSION_STOPPED)
            for stop in stops
        ]

    def _kept_by_provider(self, first: SessionAction) -> bool:
        """Tell whether the provider keeps last words itself: not where a Stop goes first."""
        return self.providers[first.provider].keeps_previous_output and isinstance(first, Start)

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
                case Dismiss():
                    return self._dismiss(action)
                case Nudge():
                    return self._nudge(action)
        except ProviderUnavailable as problem:
            return failed(action, problem.message, outage=True)
        except GascityError as problem:
            return failed(action, self._sentence(action, problem))
        except Exception as problem:  # noqa: BLE001  a provider is foreign code: its bug is an outcome
            return failed(action, f"{type(problem).__name__}: {problem}")

    def _start(self, action: Start) -> Outcome:
        run = action.run or new_run_id()
        now = datetime.now()  # noqa: DTZ005  a beacon is read by people: local time
        spec = action.spec
        provider = self.providers[spec.provider]
        agent = Agent(spec, provider, self.home)
        unhooked: tuple[Event, ...] = ()
        if spec.hooks and spec.hints.pre_start:
            agent = with_hooks(agent)
        elif spec.hooks:
            unhooked = set_up_hooks(agent, run)
        self.note(Began(run, spec, action.why, agent.first_prompt(now), now.timestamp()))
        try:
            agent.start(run, now)
        except ProviderUnavailable:
            self.note(Up(run, doubtful=True))
            raise
        except StartPending as problem:
            self.note(Pends(run))
            why = self._sentence(action, problem)
            waits = Event(EventType.SESSION_PENDING, spec.name, spec.session, run, why)
            return Outcome(action, waits, run=run, failure=why, pending=True)
        except Exception as problem:  # whatever it is: noted, and raised again
            said = problem.output if isinstance(problem, StartFailed) else ""
            self.note(NotUp(run, str(problem), said, time.time()))
            raise
        self.note(Up(run))
        if spec.hooks and spec.hints.pre_start:
            unhooked = set_up_hooks(agent, run)  # they are there, or why not is told
        if agent.has_steps_after_creation:
            provider.remove_meta(spec.session, STARTING, timeout=TIMEOUT)
        event = Event(EventType.SESSION_STARTED, spec.name, spec.session, run, action.why)
        also = (*unhooked, *dialogs_at_start(spec, run, provider))
        return Outcome(action, event, run=run, also=also)

    def _stop(self, action: Stop) -> Outcome:
        provider = self.providers[action.provider]
        provider.stop(action.session, grace=self.grace, timeout=self.grace + provider.ending)
        return _done(action, EventType.SESSION_STOPPED)

    def _drain(self, action: Drain) -> Outcome:
        self.providers[action.provider].set_meta(action.session, DRAIN, action.run, timeout=TIMEOUT)
        return _done(action, EventType.SESSION_DRAINING)

    def _undrain(self, action: Undrain) -> Outcome:
        provider = self.providers[action.provider]
        provider.remove_meta(action.session, DRAIN, timeout=TIMEOUT)
        provider.remove_meta(action.session, DRAINED, timeout=TIMEOUT)
        return _done(action, EventType.SESSION_UNDRAINED)

    def _dismiss(self, action: Dismiss) -> Outcome:
        provider = self.providers[action.provider]
        rules = self.screens.of(action.backend)
        given = answer_dialog(
            provider, action.session, rules, action.rule, action.policy, timeout=TIMEOUT
        )
        event = dialog_event(action.agent, action.session, record(action.rule, given))
        return Outcome(action, event, failure="" if given.done else event.message)

    def _nudge(self, action: Nudge) -> Outcome:
        nudge = action.nudge
        provider = self.providers[action.provider]
        receipt = provider.nudge(
            action.session, nudge.text, timeout=DELIVERY_TIMEOUT, raw=nudge.raw
        )
        text = f"message {nudge.number}: {receipt.evidence}"
        event = nudge_event(action.agent, action.session, receipt.delivery, text)
        refused = receipt.delivery in (Delivery.REFUSED, Delivery.ABSENT)
        return Outcome(action, event, failure=text if refused else "", receipt=receipt)

    def _sentence(self, action: SessionAction, problem: GascityError) -> str:
        """Give the reason and, of a start that failed, the last thing it said, without secrets."""
        if not isinstance(action, Start):
            return problem.message
        text = problem.message
        output = problem.output if isinstance(problem, StartFailed) else ""
        last = output.strip().rpartition("\n")[2].strip()
        if last and not text.rstrip().endswith(last):
            text = f"{text} (its last line: {last})"
        passed = {key: self.home.ambient.get(key, "") for key in action.spec.pass_env}
        return conceal(text, secret_values({**passed, **action.spec.env}))

    def _last_words(self, action: SessionAction) -> str:
        """Return what a session showed last: the page is cleared next."""
        with contextlib.suppress(GascityError):
            provider = self.providers[action.provider]
            return provider.peek(action.session, KEPT_LINES, timeout=PATIENCE)
        return ""


def _ended_run(first: SessionAction) -> str:
    """Return the incarnation whose end a chain of actions begins with, or the empty string."""
    match first:
        case Start(ended_run=run) | Stop(run=run):
            return run
        case _:
            return ""


def _agent_of(action: SessionAction) -> str:
    return action.spec.name if isinstance(action, Start) else action.agent


def failed(action: SessionAction, why: str, *, outage: bool = False) -> Outcome:
    """Return the outcome of an action that failed."""
    event = Event(_FAILED[type(action)], _agent_of(action), action.session, "", why)
    return Outcome(action, event, failure=why, outage=outage)


_FAILED = {
    Start: EventType.START_FAILED,
    Stop: EventType.STOP_FAILED,
    Drain: EventType.DRAIN_FAILED,
    Undrain: EventType.DRAIN_FAILED,
    Dismiss: EventType.DIALOG_FAILED,
    Nudge: EventType.NUDGE_REFUSED,
}


def _done(action: Stop | Drain | Undrain, kind: EventType) -> Outcome:
    run = action.run if isinstance(action, Stop | Drain) else ""
    return Outcome(action, Event(kind, action.agent, action.session, run, action.why))
