"""What a plan asks for. Each action says why; nothing here does anything.

Actions on one session are carried out in the order of the plan, and the rest of them is dropped
when one fails.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from gascity.core.model import AgentSpec
from gascity.core.nudges import QueuedNudge
from gascity.screens.reading import Policy


@dataclass(frozen=True, slots=True)
class Start:
    """Bring a new incarnation of the agent up, in the place of one that ended.

    `ended_run` names the incarnation that ended, whose last words are worth keeping; the provider
    replaces what is left of it. `run` is one whose start had to wait, and goes on.
    """

    spec: AgentSpec
    why: str
    ended_run: str = ""
    run: str = ""

    @property
    def session(self) -> str:
        """The session this is about."""
        return self.spec.session

    @property
    def provider(self) -> str:
        """The provider this is about."""
        return self.spec.provider


@dataclass(frozen=True, slots=True)
class Stop:
    """End the session and all its processes; also clears away one that has ended.

    `run` is the incarnation that ends. One that can wait is `gentle`: it is decided on again when
    its turn comes.
    """

    session: str
    provider: str
    agent: str
    why: str
    gentle: bool = False
    run: str = ""


@dataclass(frozen=True, slots=True)
class Drain:
    """Ask the incarnation `run` to finish its work and acknowledge."""

    session: str
    provider: str
    agent: str
    run: str
    why: str


@dataclass(frozen=True, slots=True)
class Undrain:
    """Take the request to drain back."""

    session: str
    provider: str
    agent: str
    why: str


@dataclass(frozen=True, slots=True)
class Dismiss:
    """Answer the dialog that the screen rule `rule` knows, as `policy` says."""

    session: str
    provider: str
    agent: str
    backend: str
    rule: str
    policy: Policy
    why: str


@dataclass(frozen=True, slots=True)
class Nudge:
    """Deliver a message that has been waiting."""

    session: str
    provider: str
    agent: str
    nudge: QueuedNudge
    why: str


@dataclass(frozen=True, slots=True)
class Remind:
    """Put a message for the agent into the queue, from where it is delivered like any other."""

    session: str
    agent: str
    text: str
    why: str


SessionAction = Start | Stop | Drain | Undrain | Dismiss | Nudge
Action = SessionAction | Remind


class EventType(StrEnum):
    """What the journal can hold."""

    CONTROLLER_STARTED = "controller.started"
    CONTROLLER_STOPPED = "controller.stopped"
    CONTROLLER_SLOW = "controller.slow"
    CONTROLLER_LEADING = "controller.leading"
    CITY_RELOADED = "city.reloaded"
    CITY_REJECTED = "city.rejected"
    CITY_BRAKED = "city.braked"
    SESSION_STARTED = "session.started"
    SESSION_ADOPTED = "session.adopted"
    SESSION_CRASHED = "session.crashed"
    SESSION_STOPPED = "session.stopped"
    SESSION_DRAINING = "session.draining"
    SESSION_UNDRAINED = "session.undrained"
    SESSION_FOREIGN = "session.foreign"
    SESSION_PENDING = "session.pending"
    START_FAILED = "session.start_failed"
    STOP_FAILED = "session.stop_failed"
    DRAIN_FAILED = "session.drain_failed"
    AGENT_QUARANTINED = "agent.quarantined"
    AGENT_RELEASED = "agent.released"
    AGENT_HELD = "agent.held"
    AGENT_DRIFTED = "agent.drifted"
    AGENT_IDLE = "agent.idle"
    HOOKS_FAILED = "agent.hooks_failed"
    PROVIDER_LOST = "provider.lost"
    PROVIDER_BACK = "provider.back"
    JOURNAL_LOST = "journal.lost"
    RUNS_LOST = "runs.lost"
    ALERT_RAISED = "alert.raised"
    ALERT_RESOLVED = "alert.resolved"
    ALERT_UNDELIVERED = "alert.undelivered"
    ALERT_DELIVERED = "alert.delivered"
    AGENT_MUTED = "agent.muted"
    AGENT_UNMUTED = "agent.unmuted"
    DIALOG_ANSWERED = "dialog.answered"
    DIALOG_FAILED = "dialog.failed"
    NUDGE_QUEUED = "nudge.queued"
    NUDGE_SUBMITTED = "nudge.submitted"
    NUDGE_REFUSED = "nudge.refused"
    NUDGE_UNVERIFIED = "nudge.unverified"
    NUDGE_EXPIRED = "nudge.expired"
    NUDGE_CANCELLED = "nudge.cancelled"


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened, for the journal. `detail` is what does not fit into a line."""

    type: EventType
    agent: str = ""
    session: str = ""
    run: str = ""
    message: str = ""
    detail: str = ""
