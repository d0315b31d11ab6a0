"""What a client can ask of the keeper.

Each method answers its call at once, but for `stop`, and `start` over what an ended session left,
which answer when all is gone. Whatever changes is written to disk before it is answered.
"""

from __future__ import annotations

import contextlib
import os
import sys
import time
from collections.abc import Callable
from functools import partial

from gascity.awake import Pulse
from gascity.session import pids
from gascity_subprocess import layout, spawn, stopping
from gascity_subprocess.connections import Call, Connection, Refused
from gascity_subprocess.family import Family
from gascity_subprocess.records import Record, Records

LEFTOVERS = 5.0  # seconds for the killed processes of an ended session to vanish


class Methods:
    """The sessions and what may be done with them. `changed` is called after every change."""

    def __init__(self, records: Records, family: Family, changed: Callable[[], None]) -> None:
        self.records = records
        self.family = family
        self.stops: dict[str, stopping.Stop] = {}
        self.pulse = Pulse()  # looked at often enough only while something is stopped
        self.roots: dict[int, Record] = {}  # the children of this keeper that are sessions
        self._id = f"{os.getpid()}-{time.time_ns()}"  # numbers mean nothing to another keeper
        self._changed = changed
        self._ends: list[Record] = []
        self._known: dict[str, Callable[[Call], None]] = {
            "start": self._start,
            "stop": self._stop,
            "stop_all": self._stop_all,
            "interrupt": self._interrupt,
            "get": self._get,
            "observe": self._observe,
            "set_meta": self._set_meta,
            "remove_meta": self._remove_meta,
            "subscribe": self._subscribe,
        }

    def handle(self, call: Call) -> None:
        """Answer a call, whatever it is."""
        method = self._known.get(call.method)
        if method is None:
            call.no_such_method()
        elif not call.is_given_up:
            _guarded(call, method)

    def go_on(self, now: float) -> None:
        """Carry every stop that is under way a step further."""
        for name, stop in list(self.stops.items()):
            if stop.go_on(self.family, now):
                self.stops.pop(name, None)

    def end(self, record: Record, code: int | None, signum: int | None) -> None:
        """Note that a session's program ended."""
        self.roots.pop(record.pid, None)
        record.end(code, signum)
        self.records.touch(record)
        self._ends.append(record)
        self._changed()

    def write_ends(self) -> None:
        """Write down who ended. Apart, because those who wait to be told come first."""
        ends, self._ends = self._ends, []
        for record in ends:
            is_known = self.records.get(record.name) is record
            if is_known and record.name not in self.stops:  # else its folder goes, or is another's
                self._keep(record)

    # --- what can be asked

    def _start(self, call: Call) -> None:
        name, mark = call.text("name"), call.text("mark")
        if not layout.is_name(name):
            raise Refused(layout.NOT_STARTED, f"{name!r} cannot be the name of a session")
        old = self.records.get(name)
        if old is None:
            self.records.drop_previous(name)
            self._create(call)
        elif old.mark == mark:
            call.answer(self._state(old))  # asked again because the first answer got lost
        elif old.alive:
            raise Refused(layout.EXISTS, f"session {name} exists already")
        else:
            self._replace(call, old)

    def _replace(self, call: Call, old: Record) -> None:
        def done(survivors: list[int]) -> None:
            if survivors:
                call.refuse(
                    Refused(
                        layout.NOT_STARTED,
                        f"processes of the last session {old.name} do not end: {_list(survivors)}",
                    )
                )
                return
            if self.records.get(old.name) is old:
                self.records.put_aside(old)
            _guarded(call, self._create)

        self._begin(old, grace=0.0, timeout=LEFTOVERS, done=done)

    def _create(self, call: Call) -> None:
        record = Record(
            call.text("name"), call.text("mark"), call.text("work_dir"), call.texts("meta")
        )
        if self.records.get(record.name) is not None:
            raise Refused(layout.EXISTS, f"session {record.name} exists already")
        command, env = call.text("command"), call.texts("env")
        try:
            folder = self.records.make_folder(record)
            record.pid = spawn.spawn(folder, command, record.work_dir, env, record.mark)
        except (OSError, ValueError) as problem:
            self.records.forget(record)
            raise Refused(
                layout.NOT_STARTED, f"session {record.name} could not be started: {problem}"
            ) from problem
        record.started = pids.table.started(record.pid) or ""
        self.roots[record.pid] = record
        self.records.add(record)
        self._keep(record, first=True)
        self._changed()
        call.answer(self._state(record))

    def _stop(self, call: Call) -> None:
        name = call.text("name")
        record = self.records.get(name)
        if record is None:
            call.answer(None)
            return

        def done(survivors: list[int]) -> None:
            if survivors:
                call.refuse(Refused(layout.SURVIVED, _survived(name, survivors), pids=survivors))
                return
            self._forget(record)
            call.answer(None)

        self._begin(record, grace=call.number("grace"), timeout=call.number("timeout"), done=done)

    def _stop_all(self, call: Call) -> None:
        """Answer once, when all are gone, with a sentence for each that is not."""
        grace, timeout = call.number("grace"), call.number("timeout")
        found = [self.records.get(name) for name in call.names("names")]
        left = {record.name: record for record in found if record is not None}
        failed: dict[str, str] = {}

        def done(record: Record, survivors: list[int]) -> None:
            if survivors:
                failed[record.name] = _survived(record.name, survivors)
            else:
                self._forget(record)
            del left[record.name]
            if not left:
                call.answer(failed)

        if not left:
            call.answer(failed)
        for record in tuple(left.values()):
            self._begin(record, grace=grace, timeout=timeout, done=partial(done, record))

    def _interrupt(self, call: Call) -> None:
        record = self.records.get(call.text("name"))
        if record is not None:
            stopping.interrupt(record, self.family)
        call.answer(None)

    def _get(self, call: Call) -> None:
        record = self.records.get(call.text("name"))
        call.answer(None if record is None else self._state(record))

    def _observe(self, call: Call) -> None:
        """Answer what changed since the client last asked this keeper, or everything."""
        keeper, number = call.text("keeper"), int(call.number("number"))
        news = self._news(number) if keeper == self._id else None
        call.answer(news or self._everything())

    def _set_meta(self, call: Call) -> None:
        name = call.text("name")
        record = self.records.get(name)
        if record is None:
            raise Refused(layout.NOT_FOUND, f"there is no session {name}")
        record.meta[call.text("key")] = call.text("value")
        self.records.save(record)
        self._changed()
        call.answer(None)

    def _remove_meta(self, call: Call) -> None:
        record = self.records.get(call.text("name"))
        if record is not None and record.meta.pop(call.text("key"), None) is not None:
            self.records.save(record)
            self._changed()
        call.answer(None)

    def tell_news(self, connection: Connection) -> None:
        """Tell a subscriber what changed since it was told last, with the moment it is true of."""
        news = self._news(connection.told) or {}
        connection.told = self.records.number
        connection.notify("changed", {**news, "at": time.monotonic()})

    def _news(self, number: int) -> dict[str, object] | None:
        news = self.records.since(number)
        if news is None:
            return None
        changed, gone = news
        return self._look(number, changed, gone)

    def _everything(self) -> dict[str, object]:
        return self._look(-1, list(self.records), [])

    def _look(self, since: int, changed: list[Record], gone: list[str]) -> dict[str, object]:
        """Return what clients mirror: all that changed after `since`; -1 stands for everything."""
        return {
            "keeper": self._id,
            "since": since,
            "number": self.records.number,
            "sessions": [self._state(record) for record in changed],
            "gone": gone,
        }

    def _subscribe(self, call: Call) -> None:
        call.connection.subscribed = True
        call.connection.told = self.records.number
        call.answer(None)

    # --- how

    def _begin(
        self, record: Record, *, grace: float, timeout: float, done: Callable[[list[int]], None]
    ) -> None:
        now = self.pulse.beat()
        before = self.stops.get(record.name)
        stop = before or stopping.Stop(record)
        stop.join(kill_at=now + grace, deadline=now + timeout, done=done)
        self.stops[record.name] = stop
        # Who was asked already is not asked again: to many programs that means force.
        over = stop.begin(self.family, now) if before is None else stop.go_on(self.family, now)
        if over:
            self.stops.pop(record.name, None)

    def _forget(self, record: Record) -> None:
        if self.records.get(record.name) is record:
            self.records.forget(record)
            self._changed()

    def _keep(self, record: Record, *, first: bool = False) -> None:
        """Write a change that happened whether or not the disk takes it."""
        try:
            self.records.save(record, first=first)
        except OSError as problem:
            complain(f"the record of {record.name} was not written: {problem}")

    def _state(self, record: Record) -> dict[str, object]:
        return {
            **record.as_dict(),
            "alive": self.family.root_lives(record),
            "last_activity": self.records.last_activity(record),
        }


def complain(text: str) -> None:
    """Write to the keeper's log, if that can be: a full disk must not end the keeper."""
    with contextlib.suppress(OSError):
        sys.stderr.write(f"{text}\n")
        sys.stderr.flush()


def _guarded(call: Call, method: Callable[[Call], None]) -> None:
    try:
        method(call)
    except Refused as problem:
        call.refuse(problem)
    except Exception as problem:  # noqa: BLE001  one bad call must not end the keeper
        import traceback  # noqa: PLC0415  never needed in a normal life

        complain(traceback.format_exc())
        call.broke(problem)


def _survived(name: str, survivors: list[int]) -> str:
    return f"session {name} could not be stopped: {_list(survivors)} still there"


def _list(numbers: list[int]) -> str:
    return "process " + ", ".join(str(number) for number in sorted(numbers))
