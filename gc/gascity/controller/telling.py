"""What happened to a session's screen, as events: dialogs answered, messages delivered."""

from __future__ import annotations

import contextlib
import json
from dataclasses import dataclass

from gascity.agent import TIMEOUT
from gascity.core.actions import Event, EventType
from gascity.core.model import AgentSpec
from gascity.core.observed import DIALOGS, NUDGED
from gascity.errors import GascityError
from gascity.session.provider import Delivery, SessionProvider

_NUDGED = {
    Delivery.SUBMITTED: EventType.NUDGE_SUBMITTED,
    Delivery.UNVERIFIED: EventType.NUDGE_UNVERIFIED,
    Delivery.QUEUED: EventType.NUDGE_QUEUED,
    Delivery.REFUSED: EventType.NUDGE_REFUSED,
    Delivery.ABSENT: EventType.NUDGE_REFUSED,
}


@dataclass(frozen=True, slots=True)
class Told:
    """What a start has to tell. `unsaid` is a first message that is still to be delivered."""

    events: tuple[Event, ...] = ()
    unsaid: str = ""


def told_by_start(spec: AgentSpec, run: str, provider: SessionProvider) -> Told:
    """Return the dialogs answered while a session started, and what became of its first message."""
    hints = spec.hints
    if not (hints.ready_prompt_prefix or hints.ready_delay_ms or hints.nudge):
        return Told()
    events: list[Event] = []
    unsaid = ""
    with contextlib.suppress(GascityError):  # the session may be gone again
        dialogs = provider.get_meta(spec.session, DIALOGS, timeout=TIMEOUT) or ""
        events += [
            dialog_event(spec.name, spec.session, line, run)
            for line in dialogs.split("\n")  # other ends of lines can be on a screen
            if line
        ]
        if hints.nudge:
            nudged = provider.get_meta(spec.session, NUDGED, timeout=TIMEOUT) or ""
            delivery, _, evidence = nudged.partition(": ")
            if delivery in (Delivery.REFUSED, Delivery.ABSENT):
                unsaid = hints.nudge
            elif delivery:
                text = f"the first message: {evidence}"
                kind = EventType.NUDGE_UNVERIFIED
                events.append(Event(kind, spec.name, spec.session, run, text))
    return Told(tuple(events), unsaid)


def dialog_event(agent: str, session: str, record: str, run: str = "") -> Event:
    """Return the event of an answered dialog; `record` has the screens before and after."""
    said = json.loads(record)
    done = said["done"]
    kind = EventType.DIALOG_ANSWERED if done else EventType.DIALOG_FAILED
    chosen = f' with "{said["chosen"]}"' if said["chosen"] else ""
    how = "" if done else f": {said['evidence']}"
    verb = "was answered" if done else "could not be answered"
    return Event(kind, agent, session, run, f"{said['dialog']} {verb}{chosen}{how}", record)


def nudge_event(agent: str, session: str, delivery: Delivery, message: str) -> Event:
    """Return the event of a message; its words are not in it."""
    return Event(_NUDGED[delivery], agent, session, message=message)
