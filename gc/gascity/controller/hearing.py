"""What agents' hooks said last, and whose words count.

A tool may start another one of its kind inside its session, with the same environment: the first
that speaks in an incarnation is the agent, until it says that its own session ends, and all others
are not listened to. Reports are kept in memory alone: they are old before they could be read again.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from gascity.core.decision import is_away
from gascity.core.observed import Alive, SessionState, Shown
from gascity.core.reports import Report, after, heard
from gascity.runs.ids import age_of, is_run_id


class Hearing:
    """The reports of one controller. Used by the loop's thread alone."""

    def __init__(self) -> None:
        self._last: dict[str, Report] = {}
        self._laid: dict[str, tuple[Shown | None, Report, bool, Shown | None]] = {}

    def take(self, session: str, report: Report, living_run: str, *, ends: bool = False) -> bool:
        """Take a report, and tell whether it comes from the agent itself.

        `living_run` is the incarnation that lives, as last seen; `ends` says that the tool's own
        session is over: who speaks next is the agent.
        """
        before = self._last.get(session)
        if before is not None and before.run == living_run and _is_former(report.run, before.run):
            return False  # its last words
        if before is not None and before.run == report.run and before.owner:
            if before.owner != report.owner:
                return False
            if ends:
                del self._last[session]
                return True
        if not ends:
            self._last[session] = after(before, report)
        return True

    def last(self, session: str, run: str) -> Report | None:
        """Return what the incarnation `run` said last."""
        report = self._last.get(session)
        return report if report is not None and report.run == run else None

    def over(
        self,
        shown: Mapping[str, Shown],
        sessions: Mapping[str, SessionState],
        with_screens: Collection[str],
        now: float,
    ) -> Mapping[str, Shown]:
        """Lay what was said over what the screens were read as.

        The same comes out as the same object, so that a plan sees that nothing changed.
        """
        if not self._last:
            return shown
        told = dict(shown)
        for session in self._last.keys() & sessions.keys():
            report = self.last(session, sessions[session].run)
            state = sessions[session]
            if report is None or not isinstance(state.life, Alive) or is_away(state):
                continue
            blind = session not in with_screens
            found = self._one(session, shown.get(session), report, now, blind=blind)
            if found is not None:
                told[session] = found
        return told

    def _one(
        self, session: str, shown: Shown | None, report: Report, now: float, *, blind: bool
    ) -> Shown | None:
        known = self._laid.get(session)
        if known is not None and known[0] is shown and known[1] is report and known[2] is blind:
            laid = known[3]
            if laid is shown or (laid is not None and laid.until is not None and now < laid.until):
                return laid
        found = heard(shown, report, now, blind=blind)
        self._laid[session] = (shown, report, blind, found)
        return found


def _is_former(run: str, than: str) -> bool:
    """Tell whether an incarnation came before another: a look may be older than the newest one."""
    if run == than or not (is_run_id(run) and is_run_id(than)):
        return run != than
    return age_of(run) < age_of(than)
