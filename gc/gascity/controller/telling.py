"""What happened to a session's screen, as events: dialogs answered, messages delivered."""

from __future__ import annotations

import contextlib
import json

from gascity.agent import TIMEOUT
from gascity.core.actions import Event, EventType
from gascity.core.model import AgentSpec
from gascity.core.observed import DIALOGS
from gascity.errors import GascityError
from gascity.session.provider import SessionProvider
from gascity.session.receipts import Delivery

_NUDGED = {
    Delivery.SUBMITTED: EventType.NUDGE_SUBMITTED,
    Delivery.UNVERIFIED: EventType.NUDGE_UNVERIFIED,
    Delivery.QUEUED: EventType.NUDGE_QUEUED,
    Delivery.REFUSED: EventType.NUDGE_REFUSED,
    Delivery.ABSENT: EventType.NUDGE_REFUSED,
}


def dialogs_at_start(spec: AgentSpec, run: str, provider: SessionProvider) -> tuple[Event, ...]:
    """Return the dialogs that were answered while a session started."""
    if not (spec.hints.ready_prompt_prefix or spec.hints.ready_delay_ms):
        return ()
    with contextlib.suppress(GascityError):  # the session may be gone again
        dialogs = provider.get_meta(spec.session, DIALOGS, timeout=TIMEOUT) or ""
        return tuple(
            dialog_event(spec.name, spec.session, line, run)
            for line in dialogs.split("\n")  # other ends of lines can be on a screen
            if line
        )
    return ()


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
