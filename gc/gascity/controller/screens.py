"""Reading the screens of the living agents, on a thread of its own.

Only what was drawn since the last time is asked for, only what changed is read again, and the loop
hears only of what is read as something else than before; and now and then that an agent at work
still draws, so that it is not taken for one that has stalled.
"""

from __future__ import annotations

import contextlib
import queue
import threading
import time
import traceback
from collections.abc import Callable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace

from gascity.controller.hearing import Hearing
from gascity.controller.messages import Heard, Message, Read
from gascity.core.decision import is_away
from gascity.core.model import City, declared
from gascity.core.observed import Alive, SessionState, Shown
from gascity.errors import GascityError
from gascity.screens.classify import classify
from gascity.screens.reading import Kind, Reading
from gascity.screens.rules import Rules
from gascity.screens.screen import Screen
from gascity.session.provider import SessionProvider

INTERVAL = 1.0
TIMEOUT = 5.0
ROUSED = 5.0  # seconds after which a screen that no rule knows is made to be drawn again
KEPT_ROWS = 15  # at the bottom of a screen, for an alert
FRESH = 2.0  # seconds, at least, between two words to the loop that screens only went on changing


@dataclass(frozen=True, slots=True)
class Expected:
    """A session whose screen is to be read: its incarnation, its provider and its rules.

    `stall_timeout` is how long its screen may stand still at work; 0 means for ever.
    """

    run: str
    provider: str
    rules: Rules
    stall_timeout: float = 0.0


def expected_screens(city: City, sessions: Mapping[str, SessionState]) -> dict[str, Expected]:
    """Return the living sessions whose backend has rules for its screen."""
    found = {}
    for spec in declared(city.desired):
        state = sessions.get(spec.session)
        rules = city.screens.by_backend.get(spec.backend)
        if rules is not None and state is not None and _has_screen(state):
            found[spec.session] = Expected(state.run, spec.provider, rules, spec.stall_timeout)
    return found


def _has_screen(state: SessionState) -> bool:
    return isinstance(state.life, Alive) and not is_away(state)


class Screens:
    """What the screens of one controller's agents are read as. Used by the loop's thread alone.

    `shown` is what the screens say, `heard` what they and the agents' own hooks say together.
    """

    def __init__(self, city: City, reader: ScreenReader) -> None:
        self.shown: Mapping[str, Shown] = {}
        self._city = city
        self._reader = reader
        self._touched: dict[str, float] = {}
        self._without: frozenset[str] = frozenset()
        self._expected: AbstractSet[str] = frozenset()
        self.hearing = Hearing()

    def expect(self, sessions: Mapping[str, SessionState]) -> set[str]:
        """Say which sessions there are; return those whose screen is still to be read."""
        expected = expected_screens(self._city, sessions)
        self._reader.expect(expected)
        self._expected = expected.keys()
        return expected.keys() - self.shown.keys() - self._without

    def change(self, city: City) -> None:
        """Read by the rules of another city; by other rules, every screen is read anew."""
        is_other = city.screens is not self._city.screens
        self._city = city
        for session in list(self.shown) if is_other else ():
            self.touch(session)

    def touch(self, session: str) -> None:
        """Forget a screen that was typed at, or is new: it is read again."""
        self._touched[session] = time.monotonic()
        self.shown = {name: one for name, one in self.shown.items() if name != session}
        self._reader.again(session)

    def heard(self, sessions: Mapping[str, SessionState], now: float) -> Mapping[str, Shown]:
        """Return what agents do by their screens and by their hooks."""
        with_screens = self._expected - self._without
        return self.hearing.over(self.shown, sessions, with_screens, now)

    def take(self, read: Read | Heard) -> None:
        """Take what was said, or read; but for what was asked before its session was touched."""
        if isinstance(read, Heard):
            hearing = self.hearing
            read.answer(hearing.take(read.session, read.report, read.living_run, ends=read.ends))
            return
        self.shown = {
            name: one
            for name, one in read.shown.items()
            if one.asked_at >= self._touched.get(name, 0.0)
        }
        self._without = read.without
        self._touched = {name: at for name, at in self._touched.items() if name not in self.shown}

    def close(self) -> None:
        """Stop reading."""
        self._reader.close()


class ScreenReader:
    """Reads until closed. `expect` says which screens there are."""

    def __init__(
        self,
        providers: Mapping[str, SessionProvider],
        post: Callable[[Message], None],
        now: Callable[[], float],
        interval: float = INTERVAL,
    ) -> None:
        self._providers = providers
        self._post = post
        self._now = now
        self._interval = interval
        self._expected: Mapping[str, Expected] = {}
        self._screens: dict[str, Screen] = {}
        self._rules: dict[str, Rules] = {}
        self._shown: dict[str, Shown] = {}
        self._read_at: dict[str, float] = {}
        self._again: queue.SimpleQueue[str] = queue.SimpleQueue()
        self._untold: set[str] = set()
        self._posted: Mapping[str, Shown] = {}
        self._posted_at = now()
        self._without: AbstractSet[str] = frozenset()
        self._roused: dict[str, tuple[str, ...]] = {}
        self._wanted = threading.Event()
        self._ended = False
        self._thread: threading.Thread | None = None

    def expect(self, expected: Mapping[str, Expected]) -> None:
        """Say which sessions live now; a new one is read at once."""
        news = any(
            name not in self._expected or self._expected[name].run != one.run
            for name, one in expected.items()
        )
        self._expected = expected
        if expected and self._thread is None:
            self._thread = threading.Thread(target=self._run, name="screens", daemon=True)
            self._thread.start()
        if news:
            self._wanted.set()

    def again(self, session: str) -> None:
        """Have a screen read anew, and told even if it is as before."""
        self._again.put(session)
        self._wanted.set()

    def close(self) -> None:
        """Stop reading."""
        self._ended = True
        self._wanted.set()

    def _run(self) -> None:
        was_well = True
        while not self._ended:
            self._wanted.clear()
            expected = self._expected
            try:
                changed, is_well = self._read(expected) or self._is_behind(expected), True
            except Exception:  # noqa: BLE001  without this thread no screen would be read any more
                changed, is_well = True, False
                if was_well:
                    traceback.print_exc()
            was_well = is_well
            if changed:
                self._posted, self._posted_at = dict(self._shown), self._now()
                self._post(Read(self._posted, frozenset(self._without)))
            self._wanted.wait(self._interval)

    def _read(self, expected: Mapping[str, Expected]) -> bool:
        """Read what may have changed; tell whether something is read as something else."""
        changed = self._forget(expected)
        for provider in sorted({one.provider for one in expected.values()}):
            mine = {name: one for name, one in expected.items() if one.provider == provider}
            began, asked_at = time.time(), time.monotonic()
            try:
                screens = self._providers[provider].screens(
                    list(mine), since=self._since(provider, mine), timeout=TIMEOUT
                )
            except GascityError:
                continue  # the looks of the loop say so
            except Exception:  # noqa: BLE001, S112  a provider is foreign code: its bug is an outage
                continue
            self._read_at[provider] = began
            for name in mine.keys() & screens.keys():
                changed = self._take(name, mine[name], screens[name], asked_at) or changed
            changed = self._miss(mine.keys(), mine.keys() - screens.keys()) or changed
        self._rouse(expected)
        return changed

    def _is_behind(self, expected: Mapping[str, Expected]) -> bool:
        """Tell whether the loop would soon take a screen that changes for one that stands still.

        A quarter of the time after which it would is early enough; until then it is left in peace.
        """
        limits = [
            expected[name].stall_timeout
            for name, shown in self._shown.items()
            if shown.reading.kind is Kind.WORKING
            and name in self._posted
            and shown.still > self._posted[name].still
            and expected[name].stall_timeout > 0
        ]
        since = self._now() - self._posted_at
        return bool(limits) and since >= max(min(limits) / 4, FRESH)

    def _rouse(self, expected: Mapping[str, Expected]) -> None:
        """Have screens drawn again, once, that show nothing known: they may be in disorder."""
        for name, shown in self._shown.items():
            if not shown.reading.is_unknown or self._screens[name].attached:
                continue
            if self._now() - shown.still < ROUSED or self._roused.get(name) == shown.bottom:
                continue
            self._roused[name] = shown.bottom
            with contextlib.suppress(GascityError):
                terminal = self._providers[expected[name].provider].terminal(name)
                if terminal is not None:
                    terminal.wake(timeout=TIMEOUT)

    def _miss(self, mine: AbstractSet[str], missing: AbstractSet[str]) -> bool:
        """Note which sessions have no screen; tell whether they are others than before."""
        before = self._without
        self._without = (before - mine) | (missing - self._shown.keys())
        return self._without != before

    def _since(self, provider: str, mine: Mapping[str, Expected]) -> float | None:
        if self._untold or any(name not in self._shown for name in mine):
            return None
        return self._read_at.get(provider)

    def _forget(self, expected: Mapping[str, Expected]) -> bool:
        while not self._again.empty():
            self._untold.add(self._again.get())
        self._untold &= self._shown.keys()
        gone = [
            name
            for name, shown in self._shown.items()
            if name not in expected
            or expected[name].run != shown.run
            or expected[name].rules is not self._rules[name]
        ]
        for name in gone:
            del self._shown[name], self._screens[name], self._rules[name]
            self._roused.pop(name, None)
        self._without = self._without & expected.keys()
        return bool(gone)

    def _take(self, name: str, one: Expected, screen: Screen, asked_at: float) -> bool:
        before, last = self._shown.get(name), self._screens.get(name)
        if not screen.alive:
            return False
        untold = name in self._untold
        self._untold.discard(name)
        if before is not None and last is not None and _same(screen, last):
            self._shown[name] = replace(before, asked_at=asked_at)
            return untold
        now = self._now()
        reading = classify(screen, one.rules, screen.drawn_at or now)
        if reading.draft and not screen.typed:
            reading = self._closely(name, one, screen, now) or reading
        self._screens[name] = screen
        self._rules[name] = one.rules
        since = now
        if same := before is not None and before.reading.matters == reading.matters:
            since, reading = before.since, before.reading  # a limit ends when it first said so
        bottom = screen.bottom(KEPT_ROWS)
        self._shown[name] = Shown(one.run, reading, since, now, bottom, asked_at)
        return untold or not same or reading.kind is None

    def _closely(self, name: str, one: Expected, screen: Screen, now: float) -> Reading | None:
        """Look whether a draft is one: a hint in an empty input box is written faint."""
        with contextlib.suppress(GascityError):  # then it counts as a draft
            terminal = self._providers[one.provider].terminal(name)
            seen = None if terminal is None else terminal.look(timeout=TIMEOUT)
            if seen is not None and seen.rows == screen.rows:
                return classify(seen, one.rules, now)
        return None


def _same(screen: Screen, other: Screen) -> bool:
    return screen.rows == other.rows and screen.title == other.title
