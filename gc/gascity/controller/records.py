"""The records of runs, written beside the work: nobody who heals an agent waits for a file.

One thread takes the notes in their order, waits for a moment in which nothing is being done to any
session, and writes what came together. What cannot be written is told once and tried again. Old
runs are let go here too, a few at a time; the living ones stay.
"""

from __future__ import annotations

import contextlib
import queue
import re
import threading
import time
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from gascity.controller.ledger import MOMENT, Ledger
from gascity.controller.noting import Ended, LastWords, Note, Nudged, Sight
from gascity.controller.parting import KEPT_LINES, PATIENCE, harmless
from gascity.core.actions import Event, EventType
from gascity.core.ends import NO_CRASH, how
from gascity.core.fingerprint import conceal
from gascity.core.model import City
from gascity.core.observed import RUN, Observation, Seen
from gascity.errors import GascityError
from gascity.runs.folder import INFO, LAST_SCREEN, PROMPT, Runs
from gascity.runs.info import SESSION, RunInfo, Status, concealed
from gascity.session.provider import SessionProvider

GATHER = 0.2  # seconds in which more notes are waited for
CALM = 0.1  # between two looks whether something is still being done
LONGEST = 5.0  # seconds for which that is waited for
BREATH = 0.002  # between two files
AGAIN = 5.0  # between two tries to write where that failed
AT_THE_END = 2.0  # for which the controller's exit waits
A_FEW = 20  # old runs that go at a time
MOST_UNWRITTEN = 1000
ENDS = (EventType.SESSION_CRASHED, EventType.SESSION_STOPPED)
NUDGES = (EventType.NUDGE_SUBMITTED, EventType.NUDGE_REFUSED, EventType.NUDGE_UNVERIFIED)
_NUMBER = re.compile(r"message ([0-9]+): ")


@dataclass(frozen=True, slots=True)
class World:
    """What records ask others for; each may be called from any thread."""

    providers: Mapping[str, SessionProvider]
    secrets: Callable[[str], tuple[str, ...]]
    restarts: Callable[[str], int]
    is_busy: Callable[[], bool]
    keep: Callable[[], int]
    tell: Callable[[Event], None]


class Records:
    """Keeps the run folders of one city. `hear`, `look` and `note` never wait."""

    def __init__(self, city: City, folder: str, world: World) -> None:
        self._runs = Runs(folder)
        self._world = world
        self._notes: queue.SimpleQueue[Note | None] = queue.SimpleQueue()
        self._sights: dict[str, Sight] = {}
        self._ledger = Ledger(city.name, city.desired.city_id, self._recall, world.restarts)
        self._kept: dict[str, list[str]] = {}
        self._lost = False
        self._again_at = 0.0
        self._waits_until = 0.0
        self._leaving = threading.Event()
        self._done = threading.Event()
        threading.Thread(target=self._run, name="records", daemon=True).start()

    # --- from other threads

    def note(self, note: Note) -> None:
        """Take a note; safe from any thread."""
        self._notes.put(note)

    def hear(self, event: Event, looks: Mapping[str, Observation]) -> None:
        """Take note of an event if it is about a run; `looks` is what was seen last."""
        if event.type in NUDGES:
            number = _NUMBER.match(event.message)
            outcome = event.type.partition(".")[2]
            told = Nudged(event.session, int(number[1]) if number else None, outcome, time.time())
            self._notes.put(told)
        elif event.type in ENDS and event.run:
            self._notes.put(_end_of(event, looks))

    def look(self, provider: str, seen: Observation, began: float) -> None:
        """Take note of what a provider was seen to have; only the last look counts."""
        if isinstance(seen, Seen):
            self._sights[provider] = sight = Sight(provider, seen.sessions, began)
            self._notes.put(sight)

    def close(self) -> None:
        """Write what there is, and wait a moment for it."""
        self._leaving.set()
        self._notes.put(None)
        self._done.wait(AT_THE_END)

    # --- the thread

    def _run(self) -> None:
        self._take_up()
        leaving = False
        while not leaving:
            leaving = self._leaving.is_set()
            try:
                self._gather(0.0 if leaving else self._patience())
                if not leaving:
                    self._rest()
                    self._gather(0.0)
                self._work()
            except Exception:  # noqa: BLE001  what cannot be recorded must not end all recording
                traceback.print_exc()
                self._ledger.forget()
        self._done.set()

    def _take_up(self) -> None:
        """Learn which runs there are, and which of them were left open."""
        with contextlib.suppress(OSError):
            for run in reversed(self._runs.ids()):
                head = self._runs.of(run).glance()
                if head is not None and head.kind != SESSION:
                    continue
                session = head.session if head is not None else ""
                self._kept.setdefault(session, []).append(run)
                if head is None:
                    continue
                self._ledger.follow(session, run)
                if head.status == Status.RUNNING and (info := self._recall(run)) is not None:
                    self._ledger.take_up(info)

    def _gather(self, patience: float | None) -> None:
        """Take the notes there are; wait for the first of them as long as there is patience."""
        with contextlib.suppress(queue.Empty):
            self._take(self._notes.get(timeout=patience))
            while True:
                self._take(self._notes.get_nowait())

    def _patience(self) -> float | None:
        if self._lost:
            return AGAIN
        return MOMENT if self._ledger.has_doubts() else None

    def _take(self, note: Note | None) -> None:
        outdated = isinstance(note, Sight) and self._sights.get(note.provider) is not note
        if note is not None and not outdated:
            self._ledger.take(note)

    def _rest(self) -> None:
        """Let deeds come first, for as long as that is no long time."""
        self._waits_until = time.monotonic() + GATHER + LONGEST
        self._leaving.wait(GATHER)
        self._let_deeds_pass()

    def _let_deeds_pass(self) -> None:
        """Wait while something is done, and a moment longer: one deed often follows another."""
        while self._world.is_busy() and time.monotonic() < self._waits_until:
            if self._leaving.wait(CALM):
                return

    def _work(self) -> None:
        self._ledger.settle(time.monotonic())
        if not self._leaving.is_set():
            for run, info in list(self._ledger.wordless.items()):
                self._ask_words(run, info)
        self._ledger.wordless.clear()
        if time.monotonic() < self._again_at and not self._leaving.is_set():
            return
        try:
            self._write()
        except OSError as problem:
            self._lose(problem)
        else:
            self._lost = False
            self._prune()

    def _ask_words(self, run: str, info: RunInfo) -> None:
        """Take the last screen of a run, unless another lives in its session by now."""
        provider = self._world.providers.get(info.provider)
        if provider is None or run in self._ledger.words:
            return
        try:
            words = provider.peek(info.session, KEPT_LINES, timeout=PATIENCE)
            if provider.get_meta(info.session, RUN, timeout=PATIENCE) == run:
                self._ledger.take(LastWords(run, info.agent, words))
        except GascityError:
            return  # it is gone, or nobody answers
        except Exception:  # noqa: BLE001  a provider is foreign code: its bug must not cost records
            traceback.print_exc()

    def _write(self) -> None:
        """Write what changed. Raises OSError; what is unwritten stays so."""
        ledger, secrets = self._ledger, self._world.secrets
        for run, (agent, text) in list(ledger.prompts.items()):
            self._runs.of(run).write(PROMPT, conceal(text, secrets(agent)))
            del ledger.prompts[run]
        for run, (agent, text) in list(ledger.words.items()):
            self._runs.of(run).write(LAST_SCREEN, harmless(text, secrets(agent)))
            del ledger.words[run]
            self._breathe()
        for run, info in list(ledger.changed.items()):  # after what it tells of
            self._runs.of(run).write_info(concealed(info, secrets(info.agent)))
            del ledger.changed[run]
            self._note_kept(info)
            self._breathe()

    def _breathe(self) -> None:
        """Let others go first after each file: a hundred of them may have died at once."""
        self._leaving.wait(BREATH)
        self._let_deeds_pass()

    def _note_kept(self, info: RunInfo) -> None:
        kept = self._kept.setdefault(info.session, [])
        if info.run_id not in kept:
            kept.append(info.run_id)

    def _lose(self, problem: OSError) -> None:
        """Say once that records cannot be written, and keep what there is room for."""
        if not self._lost:
            text = f"records of runs cannot be written for now: {problem.strerror or problem}"
            self._world.tell(Event(EventType.RUNS_LOST, message=text))
        self._lost = True
        self._again_at = time.monotonic() + AGAIN
        self._ledger.forget(MOST_UNWRITTEN)

    def _prune(self) -> None:
        """Let a few of the oldest runs go that are more than an agent keeps."""
        left, keep = A_FEW, self._world.keep()
        for kept in self._kept.values():
            spare = [run for run in kept[:-keep] if run not in self._ledger.open]
            for run in spare[:left]:
                self._runs.of(run).remove()
                kept.remove(run)
                left -= 1
            if left <= 0:
                return

    def _recall(self, run: str) -> RunInfo | None:
        if run in self._ledger.changed:
            return self._ledger.changed[run]
        folder = self._runs.of(run)
        info = folder.read_info() if folder.has(INFO) else None
        return info if isinstance(info, RunInfo) else None


def _end_of(event: Event, looks: Mapping[str, Observation]) -> Ended:
    state = None
    for seen in looks.values():
        found = seen.sessions.get(event.session) if isinstance(seen, Seen) else None
        if found is not None and found.run == event.run:
            state = found
    asked = event.type is EventType.SESSION_STOPPED and not event.message.endswith(NO_CRASH)
    crashed = event.type is EventType.SESSION_CRASHED
    said = how(state) if crashed and state is not None else event.message  # not what follows it
    agent, session = event.agent, event.session
    return Ended(event.run, agent, session, event.type, said, asked, state, time.time())
