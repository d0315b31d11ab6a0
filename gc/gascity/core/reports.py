"""What an agent's own hook says of it, laid over what its screen was read as.

A hook knows at once and without doubt what happened, and nothing of what came after: a turn that
is interrupted ends without a word. So its word counts while it is fresh, and never hides what a
newer screen shows beyond doubt. Whether something can be typed is the screen's alone to say.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from gascity.core.observed import Shown
from gascity.screens.reading import Kind, Reading

HOOK = "hook"  # stands where else the name of a screen rule does
FRESH = 15.0  # seconds for which a report counts
FRESH_BLIND = 600.0  # ... where no screen can say otherwise
UNANSWERED = 86_400.0  # ... of a question that the screen has no rule for, while it stands there
SETTLED = 3.0  # seconds after which every screen was read again: it would show what was reported
_SURE = frozenset({Kind.DIALOG, Kind.AUTH, Kind.LIMITED, Kind.WAITING})
_REFUTES = {
    Kind.WORKING: _SURE,
    Kind.WAITING: _SURE,
    Kind.READY: _SURE | {Kind.WORKING, Kind.ERROR},
    Kind.ERROR: _SURE | {Kind.WORKING, Kind.ERROR},
}


@dataclass(frozen=True, slots=True)
class Report:
    """What the hook of the incarnation `run` said last; `owner` is the tool's own session id.

    `kind` is what the agent does since then, None when the event does not tell. `since` is when
    the first of several reports in a row said so.
    """

    run: str
    kind: Kind | None
    at: float
    event: str
    evidence: str = ""
    owner: str = ""
    since: float = 0.0


def after(before: Report | None, report: Report) -> Report:
    """Return a report that follows another: what it says may be so for longer.

    An event that tells nothing leaves standing what was told before.
    """
    if before is None or before.run != report.run:
        return replace(report, since=report.at)
    if report.kind is None:
        return replace(before, owner=report.owner)
    return replace(report, since=before.since if before.kind is report.kind else report.at)


def heard(shown: Shown | None, report: Report, now: float, *, blind: bool) -> Shown | None:
    """Return what an agent does by its screen and by its hook.

    `shown` is None while its screen is not read; `blind` says that it has none.
    """
    if shown is not None and shown.run != report.run:
        shown = None  # of its former self
    kind = report.kind
    ends = report.at + _freshness(shown, kind, blind=blind)
    if kind is None or now >= ends or (shown is not None and _refuted(shown, kind, report, now)):
        return shown
    box = Reading(has_box=blind) if shown is None else shown.reading
    reading = Reading(
        kind, HOOK, "", report.evidence, has_box=box.has_box, draft=box.draft, is_blank=box.is_blank
    )
    if shown is None:
        return Shown(report.run, reading, report.since, report.at, until=ends)
    if shown.reading.kind in _REFUTES[kind]:
        ends = min(ends, report.at + SETTLED)
    still = max(shown.still, report.at)
    return replace(shown, reading=reading, since=report.since, still=still, until=ends)


def _freshness(shown: Shown | None, kind: Kind | None, *, blind: bool) -> float:
    if kind is Kind.WAITING and shown is not None and shown.reading.is_unknown:
        return UNANSWERED
    return FRESH_BLIND if blind else FRESH


def _refuted(shown: Shown, kind: Kind, report: Report, now: float) -> bool:
    """Tell whether the screen shows that what was reported is over."""
    found = shown.reading.kind
    is_newer = shown.since >= report.at
    if kind is Kind.WAITING and (found in _SURE or (found is not None and is_newer)):
        return True  # the screen tells what is asked, or shows that it was answered
    if found not in _REFUTES[kind]:
        return False
    drawn_late = found is Kind.WORKING  # the last picture of a turn may be read after its end
    return (is_newer and not drawn_late) or now >= report.at + SETTLED
