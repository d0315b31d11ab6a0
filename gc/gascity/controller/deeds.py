"""What is being done, and to which session.

A session is occupied while something is done to it, when something was done to it after the look
at it began (that look is older than the deed), and for a while after a deed failed. A deed that
does not come back within its time is given up; what it reports later is not listened to. On each
provider only so many are under way at once (`lanes`): one that waits for its turn occupies its
session too, and its time begins with its turn.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from gascity import awake
from gascity.agent import START_TIMEOUT
from gascity.controller.act import Hands, Outcome, failed
from gascity.controller.lanes import Lanes
from gascity.controller.messages import Acted, Message
from gascity.controller.workers import Workers
from gascity.core.actions import Dismiss, Drain, Nudge, SessionAction, Start, Stop, Undrain
from gascity.core.memory import (
    Memory,
    after_failed_dialog,
    after_failed_start,
    after_pending,
    after_start,
    after_stop,
)

RETRY = 5.0  # how long a session is left alone after a deed that failed
DOING = {
    Start: "starting",
    Stop: "stopping",
    Drain: "draining",
    Undrain: "taking the drain back",
    Dismiss: "answering a dialog",
    Nudge: "delivering a message",
}


@dataclass(frozen=True, slots=True)
class Deed:
    """One session's actions, on their way; their time has no `deadline` before their turn.

    Standstills of the machine are no part of it.
    """

    number: int
    actions: tuple[SessionAction, ...]
    deadline: float = float("inf")

    @property
    def only_types(self) -> bool:
        """Whether it leaves the session itself alone: its agent is what it was."""
        return all(isinstance(action, Dismiss | Nudge) for action in self.actions)

    @property
    def starts(self) -> bool:
        """Whether it brings a session up in the end."""
        return any(isinstance(action, Start) for action in self.actions)

    @property
    def gentle(self) -> bool:
        """Whether it is decided on again for as long as it has not begun."""
        return isinstance(self.actions[0], Stop) and self.actions[0].gentle

    @property
    def has_begun(self) -> bool:
        """Whether its turn has come."""
        return self.deadline != float("inf")

    @property
    def yields(self) -> bool:
        """Whether it does nothing but bring a session up, and may be given up for its end."""
        return all(isinstance(action, Start) for action in self.actions)

    def __str__(self) -> str:
        last = self.actions[-1]
        doing = f"{DOING[type(last)]}: {last.why}"
        return doing if self.has_begun else f"waits for its turn; {doing}"


class Deeds:
    """The deeds of one controller. Used by the loop's thread alone."""

    def __init__(self, hands: Hands, workers: Workers, post: Callable[[Message], None]) -> None:
        self._hands = hands
        self._workers = workers
        self._post = post
        self._under_way: dict[str, list[Deed]] = {}
        self._touched: dict[str, tuple[float, str]] = {}
        self._resting: dict[str, float] = {}
        self._pending: set[str] = set()
        self._count = 0
        self._lanes: Lanes[tuple[str, Deed]] = Lanes(lambda name: hands.providers[name].parallel)
        self._no_more_starts = threading.Event()

    @property
    def hands(self) -> Hands:
        """What they are done with."""
        return self._hands

    def use(self, hands: Hands) -> None:
        """Do what begins from now on with other hands."""
        self._hands = hands

    def concern(self, provider: str) -> bool:
        """Tell whether something is being done on a provider, or was after the last look at it."""
        under_way = (deed for deeds in self._under_way.values() for deed in deeds)
        return any(
            action.provider == provider for deed in under_way for action in deed.actions
        ) or any(provider == where for _, where in self._touched.values())

    def begin(self, actions: Iterable[SessionAction]) -> None:
        """Have the actions carried out, those on one session in their order."""
        chains: dict[str, list[SessionAction]] = {}
        for action in actions:
            chains.setdefault(action.session, []).append(action)
        for session, chain in chains.items():
            self._give_up(session)
            deed = self._note(session, chain)
            self._lanes.join((chain[-1].provider, deed.starts), deed.number, (session, deed))
        self._give_turns()

    def _give_up(self, session: str) -> None:
        """Listen no more to a start that another deed comes before, and end its rest."""
        if session in self._under_way:
            self._lanes.withdraw(lambda waiting: waiting[0] == session)
        for deed in self._under_way.pop(session, []):
            self._lanes.leave(deed.number)
        self._resting.pop(session, None)

    def _give_turns(self) -> None:
        for session, deed in self._lanes.turns():
            begun = self._timed(session, deed)
            self._workers.submit(partial(self._carry_out, session, begun))

    def begin_the_end(self, actions: Iterable[SessionAction]) -> None:
        """Have sessions ended, all of one provider in one go: nobody waits for one of them."""
        together: dict[str, list[tuple[Deed, Stop]]] = {}
        for action in actions:
            if isinstance(action, Stop):
                deed = self._timed(action.session, self._note(action.session, [action]))
                together.setdefault(action.provider, []).append((deed, action))
        for stops in together.values():
            self._workers.submit(partial(self._stop_together, stops))

    def _note(self, session: str, chain: Sequence[SessionAction]) -> Deed:
        self._count += 1
        deed = Deed(self._count, tuple(chain))
        self._under_way.setdefault(session, []).append(deed)
        return deed

    def _timed(self, session: str, deed: Deed) -> Deed:
        """Let the time of a deed begin."""
        longest = max(self._hands.providers[one.provider].ending for one in deed.actions)
        allowed = len(deed.actions) * (self._hands.grace + longest) + START_TIMEOUT
        timed = replace(deed, deadline=awake.seconds() + allowed)
        self._under_way[session] = [
            timed if one.number == deed.number else one for one in self._under_way[session]
        ]
        return timed

    def end(self, acted: Acted, memory: Memory, now: float) -> Memory | None:
        """Take note that a deed is done; return the memory after it, or None if it was given up."""
        if not self._forget(acted.session, acted.number):
            return None
        self._lanes.leave(acted.number)
        self._give_turns()
        for outcome in acted.outcomes:
            self._touched[acted.session] = (time.monotonic(), outcome.action.provider)
            no_blame = outcome.outage or outcome.pending or not isinstance(outcome.action, Start)
            if outcome.failure and no_blame:
                self._resting[acted.session] = now + RETRY
            self._pending -= {acted.session}
            self._pending |= {acted.session} if outcome.pending else set()
            memory = after(memory, outcome, now)
        return memory

    def _forget(self, session: str, number: int) -> bool:
        """Forget a deed; tell whether it was known."""
        deeds = self._under_way.get(session, [])
        left = [deed for deed in deeds if deed.number != number]
        if left:
            self._under_way[session] = left
        else:
            self._under_way.pop(session, None)
        return len(left) < len(deeds)

    def reconsider(self) -> None:
        """Withdraw what waits for its turn and may not be right any more: it is planned anew."""
        for session, deed in self._lanes.withdraw(lambda waiting: waiting[1].gentle):
            self._forget(session, deed.number)

    def touch(self, sessions: Mapping[str, str]) -> None:
        """Leave sessions alone, given with their providers, until they were looked at again."""
        now = time.monotonic()
        self._touched |= {name: (now, provider) for name, provider in sessions.items()}

    def overdue(self) -> list[Acted]:
        """Return what has to be said for deeds that did not come back in time."""
        now = awake.seconds()
        why = "the provider did not come back from it"
        return [
            Acted(session, deed.number, (failed(deed.actions[-1], why),))
            for session, deeds in self._under_way.items()
            for deed in deeds
            if now >= deed.deadline
        ]

    def occupied(self, look_began: Callable[[str], float], now: float) -> dict[str, str]:
        """Return the sessions that a plan has to leave alone, and why."""
        self.end_rests(now)
        self._touched = {
            name: (at, provider)
            for name, (at, provider) in self._touched.items()
            if at >= look_began(provider)
        }
        busy = dict.fromkeys(self._touched, "something was done to it a moment ago")
        busy |= dict.fromkeys(self._resting, "the last try failed; it is tried again soon")
        return busy | {name: str(deeds[-1]) for name, deeds in self._under_way.items()}

    def typing(self) -> frozenset[str]:
        """Return the sessions that are only typed at."""
        return frozenset(
            name
            for name, deeds in self._under_way.items()
            if all(deed.only_types for deed in deeds)
        )

    def occupied_at_the_end(self) -> dict[str, str]:
        """Return what is occupied while the city ends: a start must not delay its own stop."""
        stopping = {
            name: str(deeds[-1])
            for name, deeds in self._under_way.items()
            if any(not deed.starts for deed in deeds)
        }
        busy = dict.fromkeys(self._touched, "something was done to it a moment ago")
        return busy | dict.fromkeys(self._resting, "the last try failed") | stopping

    def end_rests(self, now: float) -> None:
        """Forget rests that are over."""
        self._resting = {name: until for name, until in self._resting.items() if until > now}

    def refuse_starts(self) -> None:
        """From now on bring nothing up any more, not even what was already planned."""
        self._no_more_starts.set()
        for session, deed in self._lanes.send_home(starts=True):
            self._forget(session, deed.number)

    def in_hand(self, session: str = "") -> bool:
        """Tell whether something is being done, to this session or at all."""
        return session in self._under_way if session else bool(self._under_way)

    def under_way(self) -> Iterator[tuple[SessionAction, bool]]:
        """Yield what is being done, each with whether its turn has come."""
        for deeds in self._under_way.values():
            for deed in deeds:
                yield from ((action, deed.has_begun) for action in deed.actions)

    def starting(self) -> frozenset[str]:
        """Return the sessions that are being brought up."""
        return frozenset(
            name for name, deeds in self._under_way.items() if any(deed.starts for deed in deeds)
        )

    def yielding(self) -> frozenset[str]:
        """Return the sessions of which nothing is done but a start that may be given up.

        Not those that were done something to since the last look: they may be up by now.
        """
        starts = {n for n, deeds in self._under_way.items() if all(deed.yields for deed in deeds)}
        waits = self._pending & self._resting.keys() - self._under_way.keys()
        return frozenset((starts | waits) - self._touched.keys())

    def outran_a_look(self, session: str = "") -> bool:
        """Tell whether the last look is older than a deed, at this session or at any."""
        return session in self._touched if session else bool(self._touched)

    def timers(self) -> Iterable[float]:
        """Return when sessions may be tried again."""
        return self._resting.values()

    def patience(self) -> float:
        """Return how long until a deed is overdue."""
        deadlines = [deed.deadline for deeds in self._under_way.values() for deed in deeds]
        return max(min(deadlines, default=float("inf")) - awake.seconds(), 0.0)

    def _carry_out(self, session: str, deed: Deed) -> None:
        try:
            outcomes = self._hands.carry_out(deed.actions, self._no_more_starts.is_set)
        except Exception as problem:  # noqa: BLE001  a deed always ends, or its session is lost
            outcomes = [failed(deed.actions[-1], f"{type(problem).__name__}: {problem}")]
        self._post(Acted(session, deed.number, tuple(outcomes)))

    def _stop_together(self, stops: Sequence[tuple[Deed, Stop]]) -> None:
        try:
            outcomes = self._hands.stop_together([stop for _, stop in stops])
        except Exception as problem:  # noqa: BLE001  a deed always ends, or its session is lost
            why = f"{type(problem).__name__}: {problem}"
            outcomes = [failed(stop, why) for _, stop in stops]
        for (deed, stop), outcome in zip(stops, outcomes, strict=True):
            self._post(Acted(stop.session, deed.number, (outcome,)))


def news(outcomes: Iterable[Outcome], memory: Memory) -> list[Outcome]:
    """Return the outcomes that are new to a memory: not what was known to be waited for."""
    return [
        one
        for one in outcomes
        if not one.pending or memory.of(one.action.session).waits != one.failure
    ]


def after(memory: Memory, outcome: Outcome, now: float) -> Memory:
    """Return what is remembered after an outcome. An outage is nobody's failure."""
    session = outcome.action.session
    match outcome.action:
        case Start() if outcome.outage:
            return memory
        case Start(spec) if outcome.pending:
            who = {"run": outcome.run, "provider": spec.provider}
            return after_pending(memory, session, **who, why=outcome.failure, now=now)
        case Start() if outcome.failure:
            return after_failed_start(memory, session, now=now, why=outcome.failure)
        case Start(spec):
            return after_start(memory, session, run=outcome.run, provider=spec.provider)
        case Dismiss() if outcome.failure and not outcome.outage:
            return after_failed_dialog(memory, session)
        case Stop() if not outcome.failure:
            return after_stop(memory, session)
        case _:
            return memory
