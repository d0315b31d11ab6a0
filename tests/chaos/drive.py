"""One run: faults in a random order that a seed repeats, and a look at the city after every few.

The order of the faults is the seed's; when exactly each one meets the city is the machine's.
"""

from __future__ import annotations

import collections
import random
import sqlite3
import time
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from tests.chaos.declared import pool_of
from tests.chaos.faults import FAULTS, change_agent
from tests.chaos.sight import living
from tests.chaos.witness import Ledger, Watch, converged, nothing_is_left
from tests.chaos.world import Person, World

from gascity.testing.eventually import eventually

LONGEST_PAUSE = 0.25  # seconds between two faults
FEWEST, MOST = 3, 9  # faults between two looks at the whole city
ATTENTION = 1.5  # seconds for which a session that somebody looks at is watched after an edit


@dataclass(slots=True)
class Report:
    """What was done, and how it went."""

    seed: int
    faults: collections.Counter[str] = field(default_factory=collections.Counter)
    skipped: list[str] = field(default_factory=list)
    convergences: list[float] = field(default_factory=list)
    events: int = 0
    seconds: float = 0.0

    def facts(self) -> dict[str, object]:
        """Return it as a document."""
        times = sorted(self.convergences)
        return {
            "seed": self.seed,
            "faults": sum(self.faults.values()),
            "by_kind": dict(sorted(self.faults.items())),
            "not_possible_here": self.skipped,
            "convergences": len(times),
            "slowest_convergence": round(times[-1], 3) if times else None,
            "median_convergence": round(times[len(times) // 2], 3) if times else None,
            "events": self.events,
            "seconds": round(self.seconds, 1),
        }


class Drive:
    """Does faults to a world, and looks."""

    def __init__(self, world: World, seed: int, patience: float) -> None:
        self._world = world
        self._patience = patience
        self._rng = random.Random(seed)
        self.report = Report(seed)
        self._ledger: Ledger | None = None

    def run(self, faults: int) -> Report:
        """Do so many faults. Raises AssertionError, with all that is known, when one does harm."""
        world = self._world
        watch = None
        try:
            world.open()
            if not world.has_disk:
                self.report.skipped.append("fill_the_disk")
            watch = Watch(world)
            self._settle(watch)
            self._do(faults, watch)
            self._settle(watch)
            self._end(watch)
        except Exception as problem:  # whatever it is: told with the story
            raise AssertionError(f"{problem}\n{self.story()}") from problem
        finally:
            if watch is not None:
                watch.close()
            world.close()
        self.report.seconds = time.monotonic() - world.began
        return self.report

    def _do(self, faults: int, watch: Watch) -> None:
        rng, world = self._rng, self._world
        look_in = rng.randint(FEWEST, MOST)
        while sum(self.report.faults.values()) < faults:
            (fault,) = rng.choices(list(FAULTS), weights=list(FAULTS.values()))
            if (done := fault(world, rng)) is None:
                continue
            world.note(done)
            self.report.faults[fault.__name__] += 1
            watch.hold(rng.choice((0.0, rng.uniform(0.0, LONGEST_PAUSE))))
            world.thaw(due=True)
            if rng.random() < 0.3 and not world.controller_runs():
                self._start("the controller is started again")
            look_in -= 1
            if look_in <= 0:
                self._settle(watch)
                look_in = rng.randint(FEWEST, MOST)
                if rng.random() < 0.2:
                    self._edit_under_somebodys_eyes(watch)

    def _settle(self, watch: Watch) -> None:
        """Take the lasting faults back, and see the city come round."""
        world = self._world
        world.thaw()
        if world.disk_is_full:
            world.empty_disk()
        if not world.controller_runs():
            self._start("settling: the controller is started again")
        world.excused |= world.uncertain
        for name in sorted(world.uncertain & world.expected()):
            eventually(partial(_is_restarted, world, name), within=60.0)
        world.uncertain.clear()
        began = time.monotonic()
        while True:  # ends with the run of the fault, or the patience
            watch.hold(0.02)
            if not world.controller_runs():
                self._start("settling: the controller had left, and is started again")
            try:
                converged(world)
            except (AssertionError, sqlite3.Error, OSError):
                if time.monotonic() - began > self._patience:
                    raise
            else:
                break
        watch.look()  # what was to end has ended: from here on nothing is excused
        watch.hold(0.0)
        world.excused.clear()
        took = time.monotonic() - began
        self.report.convergences.append(took)
        world.note(f"-- converged in {took:.3f} s")
        self._keep_the_ledger()

    def _start(self, why: str) -> None:
        self._world.start()
        self._world.note(why)

    def _keep_the_ledger(self) -> None:
        ledger = Ledger(self._world)
        ledger.follows(self._ledger or ledger)
        self._ledger = ledger
        self.report.events = len(ledger.rows)

    def _edit_under_somebodys_eyes(self, watch: Watch) -> None:
        """A session that somebody looks at is not ended for a changed file, for a while."""
        world = self._world
        for person in world.people:
            person.leave()
        world.people.clear()
        found = sorted(living(world.key), key=lambda one: one.agent)
        if not found:
            return
        one = self._rng.choice(found)
        person = Person(world.socket, one.agent)
        world.people.append(person)
        mine = f"=gc-chaos-{one.agent}"
        eventually(lambda: world.tmux("list-clients", "-t", mine))
        world.note(f"-- somebody looks at {one.agent} ({one.pid})")
        world.note(change_agent(world, pool_of(one.agent), self._rng.choice(("command", "env"))))
        self.report.faults["edit_under_somebodys_eyes"] += 1
        until = time.monotonic() + ATTENTION
        while time.monotonic() < until:
            watch.hold(0.02)
            assert one.process.lives(), f"{one} was ended while somebody looked at it"
        person.leave()
        world.people.remove(person)
        self._settle(watch)

    def _end(self, watch: Watch) -> None:
        world = self._world
        world.excused |= set(world.file.agents)
        done = world.gc("stop")
        world.note(f"gc stop: {done.returncode} {done.stdout.strip()} {done.stderr.strip()}")
        assert done.returncode == 0, f"gc stop ended with {done.returncode}: {done.stderr}"
        watch.hold(0.0)
        assert world.controller is not None
        world.controller.wait(10.0)
        world.check_last_words()
        for person in world.people:
            person.leave()
        world.people.clear()
        eventually(lambda: nothing_is_left(world))
        self._keep_the_ledger()

    def story(self) -> str:
        """Return what was done, what the journal tells last, and what the controller said."""
        world = self._world
        parts = [f"CHAOS_SEED={self.report.seed} CHAOS_FAULTS={sum(self.report.faults.values())}"]
        parts += ["--- faults", *world.faults[-40:], "--- journal", *_last_events(world)]
        if world.lives:
            said = world.output.read_text("utf-8", errors="replace")
            parts += ["--- controller", said[-4000:]]
        return "\n".join(parts)


def _last_events(world: World) -> list[str]:
    try:
        with closing(sqlite3.connect(f"file:{world.database}?mode=ro", uri=True)) as database:
            rows = database.execute("SELECT * FROM event ORDER BY number DESC LIMIT 30").fetchall()
    except sqlite3.Error as problem:
        return [str(problem)]
    return ["  ".join(map(str, row)) for row in reversed(rows)]


def _is_restarted(world: World, agent: str) -> bool:
    return world.gc("restart", agent).returncode == 0


def drive(folder: Path, seed: int, faults: int, *, reloads: bool, patience: float) -> Report:
    """Run a city in a folder through so many faults.

    `patience` is how many seconds there may be from the last of a few faults until all is well.
    """
    return Drive(World(folder.resolve(), reloads=reloads), seed, patience).run(faults)
