"""The runs that are open, and what each note makes of their records. Writes nothing.

Level-based where events do not reach: a session that is seen without a record gets one, and a run
that is seen to be over, or is not seen any more, is closed after a moment if nobody has said how it
ended. A look that began before a record was closed does not open it again. Used by one thread.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace

from gascity.controller.noting import (
    Began,
    Ended,
    LastWords,
    Note,
    NotUp,
    Nudged,
    Pends,
    Sight,
    Up,
)
from gascity.core.actions import EventType
from gascity.core.decision import is_up, lives
from gascity.core.observed import (
    AGENT,
    BACKEND,
    CITY_ID,
    CONFIG_HASH,
    READY,
    STARTING,
    Alive,
    Exited,
    SessionState,
)
from gascity.runs.ids import is_run_id
from gascity.runs.info import SIGNALLED, LastNudge, RunInfo, Status, running_again, seconds_of, utc

MOMENT = 2.0  # seconds in which somebody should have said how a run ended that is over
WAITED = 30.0  # seconds in which a start that has to wait is tried again, with or without a session
UNSEEN = "nobody saw how it ended"
NOT_STARTED = "the start failed"
NEVER_UP = f"{NOT_STARTED}: it was gone before it came up"
STARTED_BEFORE = "it was running already"


@dataclass(slots=True)
class OpenRun:
    """A run that is not over, as far as it is known.

    `rises` says that its start is under way, `pends` that this had to wait and goes on later,
    `was_seen` that it was seen alive. `known_at` is the monotonic moment from which on it must be
    seen, `over_since` that at which it no longer was.
    """

    info: RunInfo
    rises: bool = False
    pends: bool = False
    was_seen: bool = False
    known_at: float = 0.0
    over_since: float | None = None
    life: Exited | None = None


class Ledger:
    """The open runs of one city.

    `changed` holds the records that are to be written, `prompts` and `words` the texts that go with
    them, each with the agent whose secrets may be in it. Of the runs in `wordless` nobody has taken
    the last screen.
    """

    def __init__(
        self,
        city: str,
        city_id: str,
        recall: Callable[[str], RunInfo | None],
        restarts: Callable[[str], int],
    ) -> None:
        """Keep the ledger of a city; `recall` returns the record of a run that was kept."""
        self._city = city
        self._city_id = city_id
        self._recall = recall
        self._restarts = restarts
        self._before: dict[str, str] = {}
        self._closed: dict[str, tuple[str, float]] = {}  # where, and since which monotonic moment
        self.open: dict[str, OpenRun] = {}
        self.changed: dict[str, RunInfo] = {}
        self.wordless: dict[str, RunInfo] = {}
        self.words: dict[str, tuple[str, str]] = {}
        self.prompts: dict[str, tuple[str, str]] = {}

    def take_up(self, info: RunInfo) -> None:
        """Take up a run that an earlier controller left open."""
        self.open[info.run_id] = OpenRun(info)

    def follow(self, session: str, run: str) -> None:
        """Take note that a run was the last one of a session."""
        self._before[session] = run

    def take(self, note: Note) -> None:
        """Change the records as a note says."""
        match note:
            case Began():
                self._begin(note)
            case Up(run, doubtful):
                self._up(run, doubtful=doubtful)
            case Pends(run):
                self._pend(run)
            case NotUp():
                self._not_up(note)
            case LastWords(run, agent, text):
                self.wordless.pop(run, None)
                if text.strip() and is_run_id(run):
                    self.words[run] = (agent, text)
            case Nudged():
                self._nudged(note)
            case Ended():
                self._end(note)
            case Sight():
                self._see(note)

    def has_doubts(self) -> bool:
        """Tell whether something is over of which nobody has said how it ended."""
        return any(one.over_since is not None for one in self.open.values())

    def forget(self, most: int = 0) -> None:
        """Give up what is unwritten but for the newest `most` of it."""
        for unwritten in (self.changed, self.words, self.prompts):
            for run in list(unwritten)[: len(unwritten) - most]:
                del unwritten[run]

    def settle(self, now: float) -> None:
        """Close what has been over for a moment; `now` is monotonic."""
        for run, one in list(self.open.items()):
            patience = WAITED if one.pends and one.life is None else MOMENT
            if one.over_since is None or now < one.over_since + patience:
                continue
            end = str(one.life) if one.life else NEVER_UP if one.pends else UNSEEN
            well = one.life is not None and one.life.code == 0
            status = Status.COMPLETED if well else Status.FAILED
            self.wordless[run] = one.info
            self._close(run, time.time() if one.was_seen else None, status, end)

    def _begin(self, note: Began) -> None:
        spec = note.spec
        if self._goes_on(note.run):
            return
        self._change(
            OpenRun(
                RunInfo(
                    run_id=note.run,
                    agent=spec.name,
                    session=spec.session,
                    city=self._city,
                    provider=spec.provider,
                    backend=spec.backend,
                    work_dir=spec.work_dir,
                    fingerprint=spec.fingerprint,
                    previous_run_id=self._before.get(spec.session, ""),
                    restarts=self._restarts(spec.session),
                    why=note.why,
                    start_time=utc(note.at),
                ),
                rises=True,
            )
        )
        self.follow(spec.session, note.run)
        if note.prompt:
            self.prompts[note.run] = (spec.name, note.prompt)

    def _goes_on(self, run: str) -> bool:
        """Go on with the record of a start that had to wait; tell whether there is one."""
        one = self.open.get(run)
        if one is None and (info := self._recall(run)) is not None:
            one = self._change(OpenRun(running_again(info)))
        if one is not None:
            one.rises, one.over_since = True, None
        return one is not None

    def _up(self, run: str, *, doubtful: bool) -> None:
        one = self.open.get(run)
        if one is not None:
            one.rises, one.was_seen, one.known_at = False, not doubtful, time.monotonic()
            one.pends = one.pends and doubtful

    def _pend(self, run: str) -> None:
        one = self.open.get(run)
        if one is not None:
            one.rises, one.pends, one.known_at = False, True, time.monotonic()

    def _not_up(self, note: NotUp) -> None:
        one = self.open.get(note.run)
        if one is not None:
            if note.output.strip():
                self.words[note.run] = (one.info.agent, note.output)
            self._close(note.run, note.at, Status.FAILED, f"{NOT_STARTED}: {note.why}")

    def _nudged(self, note: Nudged) -> None:
        one = self.open.get(self._before.get(note.session, ""))
        if one is not None:
            nudge = LastNudge(note.number, utc(note.at), note.outcome)
            one.info = replace(one.info, last_nudge=nudge)
            self._change(one)

    def _end(self, note: Ended) -> None:
        if note.run not in self.open and not self._reopen(note):
            return
        one = self.open[note.run]
        self._learn(one, note.state)
        crashed = note.kind is EventType.SESSION_CRASHED
        well = note.asked or (not crashed and one.life is not None and one.life.code == 0)
        end = f"crashed: {note.message}" if crashed else note.message
        if note.asked and not end.startswith("stopped"):
            end = f"stopped: {end}"
        status = Status.COMPLETED if well else Status.FAILED
        at = note.at if one.was_seen or note.asked else None
        if not note.asked:  # else whoever ended it has looked first
            self.wordless[note.run] = one.info
        self._close(note.run, at, status, end, crash=crashed, asked=note.asked)

    def _reopen(self, note: Ended) -> bool:
        """Open a record again that has no better end than that it was over; tell whether it is."""
        if not is_run_id(note.run):
            return False
        info = self._recall(note.run)
        if info is None:
            info = RunInfo(note.run, agent=note.agent, session=note.session, city=self._city)
        elif info.is_over and (info.crash or info.asked or info.end.startswith(NOT_STARTED)):
            return False
        life = Exited(None if info.signal else info.exit_code, info.signal)
        alive = replace(info, status=Status.RUNNING)
        self.open[note.run] = OpenRun(alive, was_seen=bool(info.end_time), life=life)
        return True

    def _see(self, sight: Sight) -> None:
        mine = {
            state.run: state
            for state in sight.sessions.values()
            if state.run and state.meta.get(CITY_ID) == self._city_id
        }
        self._closed = {
            run: (provider, at)
            for run, (provider, at) in self._closed.items()
            if provider != sight.provider or at >= sight.began
        }
        for run, state in mine.items():
            one = self.open.get(run)
            if one is None and is_up(state) and run not in self._closed:
                one = self._adopt(sight.provider, state)
            if one is not None and not one.rises:
                self._learn(one, state)
                one.was_seen = one.was_seen or is_up(state)
                over = sight.began > one.known_at and not lives(state)
                one.over_since = (one.over_since or time.monotonic()) if over else None
        for run, one in self.open.items():
            gone = run not in mine and one.info.provider == sight.provider and not one.rises
            if gone and sight.began > one.known_at and one.over_since is None:
                one.over_since = time.monotonic()

    def _adopt(self, provider: str, state: SessionState) -> OpenRun | None:
        """Return the run of a session that lives without a record, or whose record was closed."""
        if not is_run_id(state.run):
            return None
        info = self._recall(state.run) or RunInfo(
            run_id=state.run,
            agent=state.meta.get(AGENT, state.name),
            session=state.name,
            city=self._city,
            backend=state.meta.get(BACKEND, ""),
            fingerprint=state.meta.get(CONFIG_HASH, ""),
            restarts=self._restarts(state.name),
            why=STARTED_BEFORE,
            start_time=utc(state.created) if state.created is not None else "",
        )
        alive = replace(running_again(info), provider=provider)
        self.follow(state.name, state.run)
        return self._change(OpenRun(alive, was_seen=True))

    def _learn(self, one: OpenRun, state: SessionState | None) -> None:
        """Take what a session says of itself into the record of its run."""
        if state is None or state.run != one.info.run_id:
            return
        info = one.info
        if state.process is not None and not info.pid_started:
            info = replace(info, pid=state.process.pid, pid_started=state.process.started)
        if STARTING not in state.meta and state.meta.get(READY, "") != info.ready:
            info = replace(info, ready=state.meta.get(READY, ""))
        if isinstance(state.life, Exited) and _says_more(state.life, one.life):
            one.life = state.life
        elif isinstance(state.life, Alive):
            one.life = None
        if info is not one.info:
            one.info = info
            self._change(one)

    def _close(
        self,
        run: str,
        at: float | None,
        status: Status,
        end: str,
        *,
        crash: bool = False,
        asked: bool = False,
    ) -> None:
        one = self.open.pop(run, None)
        if one is None:
            return
        self._closed[run] = (one.info.provider, time.monotonic())
        life = one.life or Exited()
        code = life.code if life.signal is None else SIGNALLED + life.signal
        began = seconds_of(one.info.start_time)
        lasted = max(at - began, 0.0) if at is not None and began is not None else None
        self.changed[run] = replace(
            one.info,
            status=status,
            end_time=utc(at) if at is not None else "",
            duration=None if lasted is None else round(lasted, 3),
            exit_code=code,
            signal=life.signal,
            end=end,
            crash=crash,
            asked=asked,
        )

    def _change(self, one: OpenRun) -> OpenRun:
        self.open[one.info.run_id] = one
        self.changed[one.info.run_id] = one.info
        return one


def _says_more(end: Exited, known: Exited | None) -> bool:
    """Tell whether an end is better known than before: how, or at least why."""
    return known is None or known == Exited() or bool(end.reason and not known.reason)
