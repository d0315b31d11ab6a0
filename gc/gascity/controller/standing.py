"""Since when each agent stands as it stands, and who is told when one stands otherwise.

A provider knows since when a session lives, not since when its agent works or waits: the loop does,
because it sees every change. What was there before it looked counts from the start of its session.
Since when an agent is down after a crash or a failed start, or pending or lost, is remembered, also
by the next loop.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from gascity.core.memory import AgentMemory, Memory
from gascity.core.views import AgentView, State

Place = tuple[str, str]
"""A session and its provider: while an agent moves, there are two of its name."""


NOTHING = Memory()


def place_of(view: AgentView) -> Place:
    """Return what tells an agent's session from all others."""
    return view.session, view.provider


class Standing:
    """The moments of one controller. Used by the loop's thread alone.

    `tell` is called, from that thread, whenever an agent stands otherwise than before.
    """

    def __init__(self) -> None:
        self.tell: Callable[[], None] = lambda: None
        self._views: tuple[AgentView, ...] = ()
        self._since: dict[Place, tuple[State, float]] = {}
        self._lasting: dict[Place, tuple[str, State, float]] = {}
        self._met: set[Place] = set()

    @property
    def since(self) -> Mapping[Place, float]:
        """Since when each agent is in its state, in seconds since the epoch."""
        return {place: moment for place, (_, moment) in self._since.items()}

    def take(self, views: Iterable[AgentView], now: float, memory: Memory = NOTHING) -> None:
        """Take over how all stand now, and what is remembered of them."""
        seen = tuple(views)
        if seen == self._views:
            return
        first = not self._views
        self._views = seen
        self._since = {
            place_of(view): self._moment(view, memory.of(view.session), now, first=first)
            for view in seen
        }
        self._met = {place for place in self._met if place in self._since}
        self._met |= {place_of(view) for view in seen if view.state is not State.UNKNOWN}
        self._lasting = {place_of(view): self._lasts(view) for view in seen}
        self.tell()

    def _moment(
        self, view: AgentView, known: AgentMemory, now: float, *, first: bool
    ) -> tuple[State, float]:
        place = place_of(view)
        before = self._since.get(place)
        if before is not None and before[0] is view.state:
            return before
        if self._lasting.get(place, ())[:2] == (view.run, view.state) and view.run:
            return self._lasting[place][1:]
        is_old = place not in self._met and (first or before is not None)
        began = _down_since(view, known)
        if began is None and is_old:
            began = view.since
        return view.state, now if began is None else min(began, now)

    def _lasts(self, view: AgentView) -> tuple[str, State, float]:
        """Return what an incarnation was last seen to do.

        While it is looked at again, because its entry changed for example, it is called starting:
        the same one that does the same after that did so all the time.
        """
        place = place_of(view)
        before = self._lasting.get(place)
        if view.state is State.STARTING and before is not None and before[0] == view.run:
            return before
        return (view.run, *self._since[place])


def _down_since(view: AgentView, known: AgentMemory) -> float | None:
    """Return when that happened because of which an agent is as it is; None if nothing did."""
    if view.state in (State.PENDING, State.LOST, State.ENDING):
        return known.away_since
    if view.state not in (State.BACKOFF, State.QUARANTINED):
        return None
    ends = [*known.failures[-1:], *([] if known.ended_at is None else [known.ended_at])]
    return max(ends, default=None)
