"""The right to act for a city when several controllers of it run, each on a machine of its own.

A provider whose sessions can be reached from many machines has one to give. Whether this process
leads is a matter of time: it must be asked right before everything that changes something, and the
answer costs nothing. What happens is told from another thread.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class StandsBy:
    """Another leads, or nobody yet; `trouble` is why even that is not known."""

    leader: str
    trouble: str = ""

    def __str__(self) -> str:
        return self.trouble or (f"{self.leader} leads" if self.leader else "nobody leads yet")


@dataclass(frozen=True, slots=True)
class Leads:
    """This process leads from now on, until it is told otherwise; `why` it was given the lead."""

    name: str
    why: str


@dataclass(frozen=True, slots=True)
class Lost:
    """It does not lead any more, and will not again; `late` says that another may lead already."""

    why: str
    late: bool = False


News = StandsBy | Leads | Lost


class Leadership(ABC):
    """One process's claim to lead. It is made once, and over when it was lost or given back."""

    @abstractmethod
    def begin(self, tell: Callable[[News], None]) -> None:
        """Strive for the lead from now on; `tell` is called from a thread, at each change."""

    @abstractmethod
    def leads(self) -> bool:
        """Tell whether this process may act at this very moment. Asks nobody and never waits."""

    @abstractmethod
    def resign(self, *, give_back: bool) -> None:
        """Lead no more. With `give_back` another may follow at once, else when it is sure.

        Give back only when nothing that was begun may go on. Ends within a few seconds.
        """
