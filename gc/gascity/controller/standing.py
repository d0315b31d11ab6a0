"""Since when each agent stands as it stands, and who is told when one stands otherwise.

A provider knows since when a session lives, not since when its agent works or waits: the loop does,
because it sees every change. What was there before it looked counts from the start of its session.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from gascity.core.views import AgentView, State

Place = tuple[str, str]
"""A session and its provider: while an agent moves, there are two of its name."""


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
        self._met: set[Place] = set()

    @property
    def since(self) -> Mapping[Place, float]:
        """Since when each agent is in its state, in seconds since the epoch."""
        return {place: moment for place, (_, moment) in self._since.items()}

    def take(self, views: Iterable[AgentView], now: float) -> None:
        """Take over how all stand now."""
        seen = tuple(views)
        if seen == self._views:
            return
        first = not self._views
        self._views = seen
        self._since = {place_of(view): self._moment(view, now, first=first) for view in seen}
        self._met = {place for place in self._met if place in self._since}
        self._met |= {place_of(view) for view in seen if view.state is not State.UNKNOWN}
        self.tell()

    def _moment(self, view: AgentView, now: float, *, first: bool) -> tuple[State, float]:
        place = place_of(view)
        before = self._since.get(place)
        if before is not None and before[0] is view.state:
            return before
        is_old = place not in self._met and (first or before is not None)
        began = view.since if is_old and view.since is not None else now
        return view.state, min(began, now)
