"""One event as a line for people, the same in `gc start` and `gc events`."""

from __future__ import annotations

from gascity.cli import render
from gascity.cli.cells import padded
from gascity.config.problems import visible
from gascity.journal.message import is_type

WORDS = {
    "controller.started": ("controller started", "32"),
    "controller.stopped": ("controller stopped", "33"),
    "controller.slow": ("controller slow", "31"),
    "controller.leading": ("took the lead", "32"),
    "city.reloaded": ("city file read", "32"),
    "city.rejected": ("city file refused", "31"),
    "city.braked": ("mass death", "31"),
    "session.foreign": ("foreign session", "33"),
    "agent.drifted": ("drifted", "33"),
    "agent.idle": ("idle", "33"),
    "agent.hooks_failed": ("no hooks", "33"),
    "session.started": ("started", "32"),
    "session.adopted": ("taken up", "32"),
    "session.crashed": ("crashed", "31"),
    "session.stopped": ("stopped", "33"),
    "session.draining": ("draining", "36"),
    "session.undrained": ("undrained", "36"),
    "session.pending": ("waits", "33"),
    "session.start_failed": ("failed to start", "31"),
    "session.stop_failed": ("failed to stop", "31"),
    "session.drain_failed": ("failed to drain", "31"),
    "agent.quarantined": ("quarantined", "31"),
    "agent.released": ("released", "32"),
    "agent.held": ("held", "33"),
    "provider.lost": ("provider lost", "31"),
    "provider.back": ("provider back", "32"),
    "journal.lost": ("journal lost", "31"),
    "runs.lost": ("records lost", "31"),
    "alert.raised": ("alert", "31"),
    "alert.resolved": ("alert over", "32"),
    "alert.undelivered": ("alert lost", "31"),
    "alert.delivered": ("alerts get through", "32"),
    "agent.muted": ("muted", "33"),
    "agent.unmuted": ("unmuted", "32"),
    "dialog.answered": ("dialog", "36"),
    "dialog.failed": ("dialog", "31"),
    "nudge.queued": ("nudge queued", "36"),
    "nudge.submitted": ("nudged", "32"),
    "nudge.refused": ("nudge refused", "33"),
    "nudge.unverified": ("nudge unproven", "31"),
    "nudge.expired": ("nudge expired", "31"),
    "nudge.cancelled": ("nudge taken back", "33"),
}
"""What each type of event is called, and its colour."""


LONGEST = 300  # characters of a message of the bus that stand in a line; `gc bus` has all of it
_BECAUSE = ("it crashed", "the start failed")


def told(
    moment: str,
    kind: str,
    agent: str,
    message: str,
    *,
    session: str = "",
    detail: str = "",
    room: int = 0,
) -> str:
    """Return the line: when, who, what, and why. Names take `room` cells.

    A type that this gc does not know is told by its name.
    """
    word, code = WORDS.get(kind, (kind, ""))
    said = visible(" ".join(_beginning(message, kind).split()))
    if kind == "session.crashed" and detail:  # what follows
        joint = " " if detail.startswith("(") else "; "
        said += joint + visible(" ".join(detail.split()))
    joint = ": "
    if kind == "session.started" and said.startswith(_BECAUSE):
        word, joint = "started again", ", because "
    what = render.colour(word, code) if code else visible(word)
    who = visible(agent or (session if kind == "session.foreign" else ""))
    parts = (moment, padded(who, room) if who else "", f"{what}{joint}{said}" if said else what)
    return "  ".join(part for part in parts if part)


def _beginning(text: str, kind: str) -> str:
    """Return as much of a message as one line can have; events are as long as they are."""
    return text if len(text) <= LONGEST or not is_type(kind) else f"{text[:LONGEST]} ..."
