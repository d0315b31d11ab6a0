"""A city whose clock is set, and whose machine sleeps: over the fake provider, in this process.

The time of a real process cannot be set without setting everybody's. A controller reads the wall
clock once, so a person who sets it is met by the next controller; time that passes while nobody
looks, as in a machine that is suspended, is met by the one that runs.
"""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from tests.chaos.test_chaos import SEED
from tests.integration.controller.stage import Bench, Running, agent

from gascity.controller.clock import Clock
from gascity.core.model import AgentSpec, RestartPolicy
from gascity.core.observed import Alive
from gascity.testing.eventually import eventually

DAY = 86_400.0
STEPS = 40
NAMES = ("mayor", "smith", "clerk", "miner")
FREELY = RestartPolicy(max_restarts=0, window=3600, first_delay=0.01, longest_delay=0.05)


class SetClock(Clock):
    """A clock that a person set, or that went on while nobody looked."""

    def __init__(self, ahead: float) -> None:
        super().__init__()
        self._offset += ahead

    def advance(self, seconds: float) -> None:
        self._offset += seconds


@dataclass
class Town:
    """A city over a fake world: who should run, and with which process each was last seen."""

    bench: Bench
    rng: random.Random
    clock: SetClock = field(default_factory=lambda: SetClock(0.0))
    held: set[str] = field(default_factory=set)
    versions: dict[str, int] = field(default_factory=lambda: dict.fromkeys(NAMES, 1))
    known: dict[str, int] = field(default_factory=dict)
    done: list[str] = field(default_factory=list)

    def start(self) -> None:
        self.bench.clock = self.clock
        self.running: Running = self.bench.run(*map(self._spec, NAMES))

    def _spec(self, name: str) -> AgentSpec:
        return agent(name, fingerprint=f"f{self.versions[name]}", restarts=FREELY)

    def living(self) -> dict[str, int]:
        """Return the processes that live, by agent; looks straight into the world."""
        with self.bench.world.changed:
            return {
                name.removeprefix("gc-c-"): session.process.pid
                for name, session in self.bench.world.sessions.items()
                if isinstance(session.life, Alive)
            }

    # --- what happens

    def set_the_clock(self) -> str:
        ahead = self.rng.choice((-400 * DAY, -DAY, -60.0, 60.0, DAY, 400 * DAY))
        self.bench.end()
        self.clock = SetClock(ahead)
        self.start()
        return f"the clock was set {ahead:+g} s from the right time"

    def sleep(self) -> str:
        seconds = self.rng.choice((1.0, 120.0, DAY, 30 * DAY))
        self.clock.advance(seconds)
        self.bench.world.wake()
        return f"{seconds:g} s passed while nobody looked"

    def crash(self) -> str:
        name = self.rng.choice(sorted(self.living()) or [""])
        if name:
            self.known.pop(name, None)
            self.bench.world.crash(f"gc-c-{name}", code=1)
        return f"{name} crashed"

    def lose_the_provider(self) -> str:
        self.bench.world.unreachable = "" if self.bench.world.unreachable else "the cable"
        self.bench.world.wake()
        return f"the world is unreachable: {self.bench.world.unreachable!r}"

    def hold(self) -> str:
        self.bench.world.unreachable = ""
        name = self.rng.choice(NAMES)
        self.known.pop(name, None)
        if name in self.held:
            self.running.ask("restart", agents=[name])
            self.held.remove(name)
        else:
            self.running.ask("stop_agents", agents=[name])
            self.held.add(name)
        return f"a person wants down: {sorted(self.held)}"

    def change(self) -> str:
        name = self.rng.choice(NAMES)
        self.versions[name] += 1
        self.known.pop(name, None)
        self.bench.end()
        self.start()
        return f"{name} was changed in the file"

    # --- what must hold

    def settle(self) -> None:
        """All who should run do, and nobody was replaced but for a reason."""
        self.bench.world.unreachable = ""
        self.bench.world.wake()
        wanted = set(NAMES) - self.held

        def is_well() -> bool:
            states = self.running.states()
            assert set(self.living()) == wanted, self.living()
            assert {name for name, state in states.items() if state == "ready"} == wanted, states
            return True

        eventually(is_well)
        living = self.living()
        assert {name: living[name] for name in self.known} == self.known, "somebody was replaced"
        self.known = living


@pytest.mark.parametrize("number", range(2))
def test_a_clock_that_jumps_ends_nobody_and_delays_nothing(tmp_path: Path, number: int) -> None:
    seed = SEED + number
    town = Town(Bench(tmp_path), random.Random(seed))
    steps: list[Callable[[], str]] = [
        *(town.set_the_clock, town.sleep, town.sleep, town.crash, town.crash),
        *(town.lose_the_provider, town.hold, town.change),
    ]
    town.start()
    try:
        town.settle()
        for step in range(STEPS):
            town.done.append(town.rng.choice(steps)())
            if step % 3 == 0:
                town.settle()
        town.settle()
    except AssertionError as problem:
        raise AssertionError(f"{problem}\nCHAOS_SEED={seed}\n" + "\n".join(town.done)) from problem
    finally:
        town.bench.end()

    with closing(sqlite3.connect(tmp_path / "city.db")) as database:
        numbers = [row[0] for row in database.execute("SELECT number FROM event ORDER BY number")]
    # A clock far ahead makes old events too old to keep; what is kept has no gap.
    assert numbers == list(range(numbers[0], numbers[0] + len(numbers)))
