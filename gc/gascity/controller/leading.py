"""Standing by until this process leads, and ending when it does not any more.

While it stands by, nothing of the city is touched. While it leads, `check` is the fence before each
change. One who lost the lead stops nothing and starts nothing: it writes down that it lost it, and
ends.
"""

from __future__ import annotations

import contextlib
import queue
import signal
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

from gascity import signals
from gascity.errors import NotLeading
from gascity.session.leadership import Leadership, Leads, Lost, News, StandsBy

LAST_MOMENT = 1.0  # seconds that one who lost the lead has to write that down


@dataclass(frozen=True, slots=True)
class Election:
    """Who is told while a process stands by, and how it `end`s where it must not live on."""

    standing_by: Callable[[StandsBy], None]
    end: Callable[[NotLeading], None]


class Lead:
    """One process's lead over a city.

    `busy` says that what this process began may still go on; then nobody follows at once.
    """

    def __init__(self, leadership: Leadership, election: Election) -> None:
        self._leadership = leadership
        self._election = election
        self._news: queue.SimpleQueue[News | None] = queue.SimpleQueue()
        self._leave: Callable[[str], None] | None = None
        self._told = ""
        self.busy = False
        self.lost: NotLeading | None = None

    @contextlib.contextmanager
    def hearing(self) -> Iterator[None]:
        """Take note of signals that end a process, wherever the controller does not do so itself.

        The first process of a container would not even die of one that nobody takes.
        """
        endings = (signal.SIGINT, signal.SIGTERM)
        with signals.heard({one: partial(self._note, one) for one in endings}):
            yield

    def stand_by(self) -> Leads | None:
        """Wait until this process leads; return None when a signal has it end instead."""
        self._leadership.begin(self._hear)
        while True:
            match self._news.get():
                case StandsBy() as news:
                    self._election.standing_by(news)
                case Leads() as news:
                    return news
                case Lost(why):
                    raise self.lost or _lost(why)
                case None:
                    self._leadership.resign(give_back=True)
                    return None

    def check(self) -> None:
        """Raise NotLeading where this process must not change anything at this moment."""
        if not self._leadership.leads():
            raise self.lost or _lost("its time to act is over")

    def follow(self, leave: Callable[[str], None]) -> None:
        """From now on have `leave` called, with the reason, when the lead is lost.

        Also when a signal came that the controller did not hear: whoever notes one looks for
        `leave` afterwards, so one of both sees the other.
        """
        self._leave = leave
        if self.lost is not None:
            leave(self.lost.message)
        elif self._told:
            leave(self._told)

    def give_up(self) -> None:
        """Lead no more; another may follow at once where nothing goes on that was begun."""
        self._leadership.resign(give_back=not self.busy)

    def _note(self, number: signal.Signals) -> None:
        self._told = got(number)
        self._news.put(None)
        if self._leave is not None:
            self._leave(self._told)

    def _hear(self, news: News) -> None:
        if isinstance(news, Lost):
            self.lost = _lost(news.why)
            if news.late and self.busy:
                self._election.end(self.lost)
            elif self._leave is not None:
                self._leave(self.lost.message)
            timer = threading.Timer(LAST_MOMENT, self._election.end, [self.lost])
            timer.daemon = True
            timer.start()
        self._news.put(news)


def got(number: signal.Signals) -> str:
    """Return why a process ends that gets this signal."""
    return f"it got {number.name}"


def _lost(why: str) -> NotLeading:
    return NotLeading(
        f"this controller does not lead any more: {why}",
        hint="the agents were left alone; whoever leads now keeps them",
    )
