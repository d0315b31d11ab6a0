"""How many deeds may be under way on each provider, and who waits for a turn.

Starts have places of their own: they may take a minute, and nobody who is to be stopped or written
to waits behind them. Within a lane the order is kept.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Generic, TypeVar

Item = TypeVar("Item")
Lane = tuple[str, bool]  # a provider, and whether it is for starts


@dataclass(slots=True)
class _Places(Generic[Item]):
    limit: int
    taken: set[int] = field(default_factory=set)
    waiting: deque[tuple[int, Item]] = field(default_factory=deque)


class Lanes(Generic[Item]):
    """Gives each item a turn by its number. Used by the loop's thread alone."""

    def __init__(self, limit: Callable[[str], int]) -> None:
        self._limit = limit
        self._lanes: dict[Lane, _Places[Item]] = {}

    def join(self, lane: Lane, number: int, item: Item) -> None:
        """Have an item wait for its turn, behind those that came before."""
        if lane not in self._lanes:
            self._lanes[lane] = _Places(self._limit(lane[0]))
        self._lanes[lane].waiting.append((number, item))

    def turns(self) -> Iterator[Item]:
        """Yield those whose turn it is now; each has a place from then on, until it leaves."""
        for lane in self._lanes.values():
            while lane.waiting and len(lane.taken) < lane.limit:
                number, item = lane.waiting.popleft()
                lane.taken.add(number)
                yield item

    def leave(self, number: int) -> None:
        """Free the place of a number; nothing happens when it has none."""
        for lane in self._lanes.values():
            lane.taken.discard(number)

    def withdraw(self, fits: Callable[[Item], bool]) -> list[Item]:
        """Return those that wait and fit: they wait no more."""
        home = []
        for lane in self._lanes.values():
            home += [item for _, item in lane.waiting if fits(item)]
            lane.waiting = deque(one for one in lane.waiting if not fits(one[1]))
        return home

    def send_home(self, *, starts: bool) -> list[Item]:
        """Return all that wait in the lanes for starts, or in the others: they wait no more."""
        home = []
        for (_, is_for_starts), lane in self._lanes.items():
            if is_for_starts is starts:
                home += [item for _, item in lane.waiting]
                lane.waiting.clear()
        return home
