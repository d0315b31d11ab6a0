"""Carrying notices to sinks without anybody waiting for it.

Each sink has a queue and a thread of its own, so one that hangs delays neither the city nor the
other sinks. A sink that fails is a trouble itself: that it begins to fail and that it works again
is reported, once each. What it certainly did not take waits, and is tried again until it does.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable

from gascity.patrol.notice import Notice, NotTaken, Sink, SinkFailed

MOST = 100  # notices that wait for one sink
AGAIN, LONGEST = 5.0, 60.0  # seconds until what was not taken is tried again, doubling
PATIENCE = 3600.0  # ... at most, where the other side wants more of them to pass

Report = Callable[[str, str | None], None]
"""Called with a sink's name and why it fails, or None when it works again.

It is called from a courier's thread, and must neither wait nor raise.
"""


def _unheard(_notice: Notice) -> None:
    """Take no notice of what was taken."""


class Couriers:
    """The couriers of one city. All methods are for the thread that made it."""

    def __init__(
        self,
        sinks: Iterable[Sink],
        report: Report,
        taken: Callable[[Notice], None] = _unheard,
        *,
        most: int = MOST,
        again: float = AGAIN,
    ) -> None:
        """`taken` is called, by a courier's thread, with each notice that a sink took."""
        self._report = report
        self._taken = taken
        self._most = most
        self._again = again
        self._couriers = [self._courier(sink) for sink in sinks]

    def send(self, notice: Notice) -> None:
        """Have every sink told; returns at once. After `close` nothing is sent."""
        for courier in self._couriers:
            courier.take(notice)

    def waiting(self) -> frozenset[str]:
        """Return the keys of all troubles of which something is still on its way."""
        on_their_way = [notice for courier in self._couriers for notice in courier.waiting()]
        return frozenset(key for notice in on_their_way for key in notice.about)

    def change(self, sinks: Iterable[Sink]) -> frozenset[str]:
        """Use these sinks from now on; return the names of those that are others now, or gone.

        One that is equal to one before keeps its courier. Another of the same name takes over what
        waits, and is not known to fail. What waits for a sink that is gone is not sent.
        """
        before, self._couriers = self._couriers, []
        others: set[str] = set()
        for sink in sinks:
            same = next((courier for courier in before if courier.sink == sink), None)
            former = same or next((c for c in before if c.sink.name == sink.name), None)
            if former is not None:
                before.remove(former)
            if same is not None:
                self._couriers.append(same)
                continue
            others.add(sink.name)
            self._couriers.append(self._courier(sink, former.retire() if former else ()))
            if former is not None:
                former.heir = self._couriers[-1]
        for courier in before:
            courier.retire()
        return frozenset(others | {courier.sink.name for courier in before})

    def close(self, within: float) -> None:
        """Send what waits, for at most so many seconds; what is left then is lost."""
        deadline = time.monotonic() + within
        couriers, self._couriers = self._couriers, []
        for courier in couriers:
            courier.finish()
        for courier in couriers:
            courier.join(max(deadline - time.monotonic(), 0.0))
            courier.sink.close()

    def _courier(self, sink: Sink, waiting: Iterable[Notice] = ()) -> _Courier:
        return _Courier(sink, self._report, self._taken, self._most, self._again, waiting)


class _Courier:
    """One sink, its queue and its thread."""

    def __init__(
        self,
        sink: Sink,
        report: Report,
        taken: Callable[[Notice], None],
        most: int,
        again: float,
        waiting: Iterable[Notice],
    ) -> None:
        self.sink = sink
        self.heir: _Courier | None = None
        self._report = report
        self._taken = taken
        self._most = most
        self._queue = deque(waiting)
        self._under_way: Notice | None = None
        self._changed = threading.Condition()
        self._dropped = 0
        self._again = self._pause = again
        self._rests_until = 0.0
        self._failing = False
        self._finishing = False
        self._retired = False
        self._thread = threading.Thread(target=self._run, name=f"gc-{sink.name}", daemon=True)
        self._thread.start()

    def take(self, notice: Notice) -> None:
        """Queue a notice; the oldest goes when there are too many."""
        with self._changed:
            if len(self._queue) >= self._most:
                self._queue.popleft()
                self._dropped += 1
            self._queue.append(notice)
            self._changed.notify()

    def waiting(self) -> tuple[Notice, ...]:
        """Return what is not handed over yet."""
        with self._changed:
            now = () if self._under_way is None else (self._under_way,)
            return (*now, *self._queue)

    def finish(self) -> None:
        """End when nothing waits any more."""
        with self._changed:
            self._finishing = True
            self._changed.notify()

    def retire(self) -> tuple[Notice, ...]:
        """End after what is on its way now, and say nothing more; return what waits."""
        with self._changed:
            self._retired = True
            waiting = tuple(self._queue)
            self._queue.clear()
            self._changed.notify()
            return waiting

    def join(self, within: float) -> None:
        """Wait for its end."""
        self._thread.join(within)

    def _run(self) -> None:
        while (notice := self._next()) is not None:
            problem: str | None = None
            self._pause, before = self._again, self._pause
            try:
                self.sink.send(notice)
            except NotTaken as failed:
                problem = failed.message
                self.put_back(notice, before, min(failed.wait, PATIENCE))
            except SinkFailed as failed:
                problem = failed.message
            except Exception as failed:  # noqa: BLE001  a fault in one must not end the telling
                problem = f"failed with {type(failed).__name__}"
            if problem is None:
                with contextlib.suppress(RuntimeError):  # a loop that has ended hears nothing more
                    self._taken(notice)
            with self._changed:
                self._under_way = None
            self._judge(problem)

    def _next(self) -> Notice | None:
        """Return what to send next, or None when this is the end."""
        with self._changed:
            while (rest := self._rest()) != 0.0:
                if not self._queue and (self._finishing or self._retired):
                    return None
                self._changed.wait(rest)
            self._under_way = self._queue.popleft()
            return self._under_way

    def _rest(self) -> float | None:
        """Return how long nothing is to be sent; None while nothing waits."""
        if not self._queue:
            return None
        rest = max(self._rests_until - time.monotonic(), 0.0)
        return 0.0 if self._finishing else rest

    def put_back(self, notice: Notice, pause: float = 0.0, wait: float = 0.0) -> None:
        """Have a notice wait for a while that nobody took, for another sink if that came."""
        with self._changed:
            if self._retired and self.heir is not None:
                self.heir.put_back(notice)
            if self._finishing or self._retired:
                return
            if len(self._queue) >= self._most:
                self._dropped += 1
                return
            self._queue.appendleft(notice)
            self._rests_until = time.monotonic() + max(pause, wait)
            self._pause = min(pause * 2, LONGEST) or self._again
            self._changed.notify()

    def _judge(self, problem: str | None) -> None:
        """Report what changed with the last notice."""
        with self._changed:
            if problem is None and self._dropped:
                problem = f"is too slow: {_count(self._dropped)} dropped"
            self._dropped = 0
            changed = self._failing is not (problem is not None)
            if self._retired or not changed:
                return
            self._failing = problem is not None
        self._say(problem)

    def _say(self, problem: str | None) -> None:
        with contextlib.suppress(RuntimeError):  # a loop that has ended hears nothing more
            self._report(self.sink.name, problem)


def _count(dropped: int) -> str:
    return "1 alert was" if dropped == 1 else f"{dropped} alerts were"
