"""The messages that wait for their agents, from the queue to the outcome.

A message is marked as on its way before it is typed. What the mark is still on when a controller
begins may have arrived: a person is told, and it is not sent again.
"""

from __future__ import annotations

import contextlib
from collections.abc import Container, Iterable, Mapping
from dataclasses import replace

from gascity.controller.act import Outcome
from gascity.core.actions import Event, EventType, Nudge, Remind, SessionAction
from gascity.core.alerts import Alert, Severity
from gascity.core.model import Desired, declared
from gascity.core.nudges import NudgeState, QueuedNudge
from gascity.core.observed import NUDGED, STARTING, SessionState
from gascity.errors import GascityError
from gascity.journal.nudges import NudgeQueue
from gascity.session.receipts import Delivery

LEFT_OVER = "the controller ended while it was being delivered"
TOO_LATE = "its agent could not take it in time"
DAY = 86_400.0
UNPROVEN = "nudge:"  # how the key of an alert begins that tells of a message


class Postbox:
    """The open messages of one controller. Used by the loop's thread alone."""

    def __init__(self, queue: NudgeQueue, first_words: Mapping[str, tuple[str, str]]) -> None:
        """Work with a queue; `first_words` has agent and first message of each session."""
        self._queue = queue
        self._first_words = first_words
        self._greeted: set[str] | None = None
        self._open: dict[int, QueuedNudge] = {}
        self._refused: dict[int, str] = {}

    def expect(self, first_words: Mapping[str, tuple[str, str]]) -> None:
        """Take other first messages from now on."""
        self._first_words = first_words

    def open(self) -> tuple[list[Event], list[Alert]]:
        """Take up what an earlier controller left; return what has to be said of it."""
        events, alerts = [], []
        for nudge in self._queue.open():
            if nudge.state is NudgeState.SENDING:
                self._end(nudge, NudgeState.UNVERIFIED, LEFT_OVER)
                events.append(_event(EventType.NUDGE_UNVERIFIED, nudge, LEFT_OVER))
                alerts.append(_unproven(nudge, LEFT_OVER))
            else:
                self._open[nudge.number] = nudge
        return events, alerts

    def look(self) -> list[Event]:
        """Take what a command put into the queue that found no controller a moment ago."""
        with contextlib.suppress(GascityError):  # the next patrol looks again
            if not self._open.keys() >= set(self._queue.waiting()):
                found = [one for one in self._queue.open() if one.state is NudgeState.PENDING]
                return [self.add(nudge) for nudge in found if nudge.number not in self._open]
        return []

    def add(self, nudge: QueuedNudge) -> Event:
        """Take a message that is in the queue now; return the event."""
        self._open[nudge.number] = nudge
        return _event(EventType.NUDGE_QUEUED, nudge, "it waits for its agent")

    def remind(self, action: Remind, now: float) -> list[Event]:
        """Put a message into the queue that nobody but the plan asked for."""
        with contextlib.suppress(GascityError):  # a full queue holds enough for it to do
            nudge = self._queue.add(
                action.agent, action.session, action.text, at=now, expires_at=now + DAY
            )
            return [self.add(nudge)]
        return []

    def forget(self, number: int) -> None:
        """Leave a message that is over, or was taken back."""
        self._open.pop(number, None)
        self._refused.pop(number, None)

    def greet(
        self, sessions: Mapping[str, SessionState], busy: Container[str], now: float
    ) -> tuple[list[Event], list[Alert]]:
        """Keep the first messages that could not be delivered while their sessions started.

        What became of one is in the metadata of its session, so that no end of a controller can
        lose it. One that may have arrived is told, and not sent again.
        """
        events: list[Event] = []
        alerts: list[Alert] = []
        for name, state in sessions.items():
            said = state.meta.get(NUDGED, "")
            if not said or STARTING in state.meta or name in busy or name not in self._first_words:
                continue
            try:
                nudge = self._greeting(name, state.run, now)
            except GascityError:
                continue  # the next tick tries again
            if nudge is None:
                continue
            delivery, _, why = said.partition(": ")
            if delivery in (Delivery.REFUSED, Delivery.ABSENT):
                events.append(self.add(nudge))
            else:
                self._end(nudge, NudgeState.UNVERIFIED, why)
                events.append(_event(EventType.NUDGE_UNVERIFIED, nudge, why))
                alerts.append(_unproven(nudge, why))
        return events, alerts

    def _greeting(self, session: str, run: str, now: float) -> QueuedNudge | None:
        """Put the first message of an incarnation into the queue, unless it was there before."""
        if self._greeted is None:
            self._greeted = self._queue.runs()
        if run in self._greeted:
            return None
        agent, text = self._first_words[session]
        nudge = self._queue.add(agent, session, text, at=now, expires_at=now + DAY, run=run)
        self._greeted.add(run)
        return nudge

    def first(
        self, sessions: Mapping[str, SessionState], busy: Container[str] = ()
    ) -> dict[str, QueuedNudge]:
        """Return the oldest message for each session that can be sent.

        One that was for an incarnation which is gone is given up. Not so where a session is `busy`:
        it may be another by now than was last seen.
        """
        found: dict[str, QueuedNudge] = {}
        for number in sorted(self._open):
            nudge = self._open[number]
            session = sessions.get(nudge.session)
            known = session is not None and nudge.session not in busy
            if session is not None and known and nudge.run not in ("", session.run):
                self._end(nudge, NudgeState.CANCELLED, "the incarnation it was for is gone")
            else:
                found.setdefault(nudge.session, nudge)
        return {
            session: nudge for session, nudge in found.items() if nudge.state is NudgeState.PENDING
        }

    def expire(self, now: float) -> list[Event]:
        """Give up what has waited too long; return what has to be said of it."""
        events = []
        for nudge in list(self._open.values()):
            if nudge.expires_at <= now and nudge.state is NudgeState.PENDING:
                self._end(nudge, NudgeState.EXPIRED, TOO_LATE)
                events.append(_event(EventType.NUDGE_EXPIRED, nudge, TOO_LATE))
        return events

    def next_end(self) -> list[float]:
        """Return when messages expire; one that is on its way does not."""
        return [
            nudge.expires_at for nudge in self._open.values() if nudge.state is NudgeState.PENDING
        ]

    def send(self, actions: Iterable[SessionAction]) -> list[SessionAction]:
        """Mark the messages among these actions as on their way; leave out what cannot be."""
        return [action for action in actions if not isinstance(action, Nudge) or self._mark(action)]

    def _mark(self, action: Nudge) -> bool:
        nudge = self._open.get(action.nudge.number)
        if nudge is None:
            return False
        try:
            taken = self._queue.take(nudge.number)
        except GascityError:
            return False  # sent without a mark, it could be sent twice
        if taken:
            self._open[nudge.number] = replace(nudge, state=NudgeState.SENDING)
        else:
            self.forget(nudge.number)  # a command took it back that found no controller
        return taken

    def done(self, outcome: Outcome) -> tuple[list[Event], list[Alert]]:
        """Take the outcome of an action; return what has to be said of it."""
        if not isinstance(outcome.action, Nudge):
            return [outcome.event, *outcome.also], []
        nudge = self._open.get(outcome.action.nudge.number)
        if nudge is None:
            return [], []
        receipt = outcome.receipt
        if receipt is not None and receipt.delivery is Delivery.SUBMITTED:
            self._end(nudge, NudgeState.SUBMITTED, receipt.evidence)
            return [outcome.event], []
        doubtful = receipt is None and not outcome.outage  # what raises an outage has typed nothing
        if doubtful or (receipt is not None and receipt.delivery is Delivery.UNVERIFIED):
            why = receipt.evidence if receipt is not None else outcome.failure
            self._end(nudge, NudgeState.UNVERIFIED, why)
            return [_event(EventType.NUDGE_UNVERIFIED, nudge, why)], [_unproven(nudge, why)]
        self._note(nudge, NudgeState.PENDING, outcome.failure)
        self._open[nudge.number] = replace(nudge, state=NudgeState.PENDING)
        known = self._refused.get(nudge.number) == outcome.failure
        self._refused[nudge.number] = outcome.failure
        return ([] if known else [outcome.event]), []

    def _note(self, nudge: QueuedNudge, state: NudgeState, evidence: str) -> None:
        # What cannot be noted stays "on its way", and is not sent again by the next controller.
        with contextlib.suppress(GascityError):
            tried = nudge.state is NudgeState.SENDING
            self._queue.mark(nudge.number, state, evidence, attempts=int(tried))

    def _end(self, nudge: QueuedNudge, state: NudgeState, evidence: str) -> None:
        self._note(nudge, state, evidence)
        self.forget(nudge.number)


def first_words(desired: Desired) -> dict[str, tuple[str, str]]:
    """Return the agent and the first message of each session that has one."""
    return {
        spec.session: (spec.name, spec.hints.nudge)
        for spec in declared(desired)
        if spec.hints.nudge
    }


def _event(kind: EventType, nudge: QueuedNudge, why: str) -> Event:
    return Event(kind, nudge.agent, nudge.session, message=f"message {nudge.number}: {why}")


def _unproven(nudge: QueuedNudge, why: str) -> Alert:
    text = f"message {nudge.number} for {nudge.agent} may not have arrived: {why}"
    return Alert(f"{UNPROVEN}{nudge.number}", nudge.agent, text, severity=Severity.WARNING)
