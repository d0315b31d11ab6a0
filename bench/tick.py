"""What a tick costs: look at all agents, plan, write down; and what a controller costs that idles.

    python bench/tick.py

Prints one JSON line per size and provider, one for an idle city, and one for ten thousand ticks of
a real loop; ends with 1 when a limit is broken. The floor of a tick is the provider's look alone;
in tmux it is tmux's own answer to a bare client. With the fake provider all of a tick happens in
this process, and what is counted is the time it used; else it is the time that passed. All agents
are healthy: that is what a tick is about most of the time. The rounds are taken in turn over all
sizes, so that none of them has the machine on a better day.
"""

from __future__ import annotations

import contextlib
import json
import os
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from bench import _city, _tmux

from gascity.agent import Agent, Home
from gascity.controller import looks, loop, pace
from gascity.controller.act import Hands
from gascity.controller.messages import Leave
from gascity.controller.observe import look
from gascity.core.memory import Memory
from gascity.core.model import (
    AgentSpec,
    City,
    DaemonSettings,
    Desired,
    RestartPolicy,
    SessionConfig,
)
from gascity.core.observed import Observed, SessionState
from gascity.core.plan import Plan, plan
from gascity.journal.store import Journal
from gascity.session.provider import CityContext, SessionProvider
from gascity.testing.fake import FakeProvider, FakeWorld

FAKES, TMUXES = (10, 100, 500, 1000), (10, 100, 500)
ROUNDS = 30
GROWTH = 1.5  # how much dearer an agent may be than at the next smaller size
TICK_MS = 60.0  # at 500 agents in tmux
IDLE, IDLE_SECONDS = 100, 20.0
IDLE_PERCENT, IDLE_MB = 1.0, 60.0
WARM, TICKS, CRASH_EVERY = 2_000, 10_000, 100
GROWN_MB = 2.0
ID = "0123456789abcdef"
HOME = Home("bench", ID, "/", _tmux.ENV)
QUESTION = "list-panes -a -F '#{pane_id}|#{session_id}|#{pane_pid}|#{pane_dead}|#{window_activity}'"


def main() -> int:
    kept = True
    with tempfile.TemporaryDirectory() as folder:
        for result in (*ticks(folder), idle(f"{folder}/idle"), flat(folder)):
            print(json.dumps(result), flush=True)
            kept = kept and bool(result["kept"])
    return int(not kept)


# --- one tick


def ticks(folder: str) -> Iterator[dict[str, object]]:
    """Measure ticks at every size; yield the lines to print."""
    with contextlib.ExitStack() as stack:
        fakes = [fake_subject(count, folder) for count in FAKES]
        tmuxes = [tmux_subject(count, folder, stack) for count in TMUXES]
        for _ in range(ROUNDS):
            for subject in (*fakes, *tmuxes):
                subject.measure()
        for family in (fakes, tmuxes):
            for before, subject in zip([None, *family], family, strict=False):
                yield subject.result(before)


class Subject:
    """A city of healthy agents that is ticked without a loop."""

    def __init__(
        self,
        provider: SessionProvider,
        specs: Sequence[AgentSpec],
        journal: str,
        floor: Callable[[], object],
    ) -> None:
        self._provider = provider
        self._specs = specs
        self._journal = Journal(journal)
        self._floor = floor
        self._desired = Desired("bench", ID, tuple(specs))
        self._memory = Memory()
        self._before: Plan | None = None
        self._floors: list[float] = []
        self._taken: list[float] = []
        for _ in range(3):  # the first ones take the agents up
            self._tick()

    def measure(self) -> None:
        self._floors.append(self._seconds(self._floor))
        self._taken.append(self._seconds(self._tick))

    def _seconds(self, work: Callable[[], object]) -> float:
        """Time a real provider by the clock; what is done in this process alone by what it used."""
        if self._provider.name == "tmux":
            return _tmux.seconds(work)
        began = time.process_time()
        work()
        return time.process_time() - began

    @property
    def each(self) -> float:
        """The seconds one agent costs."""
        return statistics.median(self._taken) / len(self._specs)

    def result(self, before: Subject | None) -> dict[str, object]:
        tick, floor = statistics.median(self._taken), statistics.median(self._floors)
        growth = self.each / before.each if before is not None else None
        limit = (
            TICK_MS if self._provider.name == "tmux" and len(self._specs) == max(TMUXES) else None
        )
        return {
            "bench": "tick",
            "provider": self._provider.name,
            "agents": len(self._specs),
            "tick_ms": _tmux.milliseconds(tick),
            "limit_ms": limit,
            "floor_ms": _tmux.milliseconds(floor),
            "ratio": round(tick / floor, 2),
            "per_agent_us": round(self.each * 1e6, 1),
            "growth": None if growth is None else round(growth, 2),
            "growth_limit": GROWTH,
            "kept": (growth is None or growth <= GROWTH) and (limit is None or tick * 1000 < limit),
        }

    def _tick(self) -> None:
        now = time.time()
        observed = Observed({self._provider.name: look(self._provider, self._specs)})
        made = plan(self._desired, observed, self._memory, now, self._before)
        if made.actions:
            raise RuntimeError(f"a healthy city is left alone, and not: {made.actions[0]}")
        self._before, self._memory = made, made.memory
        self._journal.record(now, made.events, made.memory)


def fake_subject(count: int, folder: str) -> Subject:
    provider = FakeWorld().provider()
    specs = specs_of("fake", count)
    for spec in specs:
        provider.start(spec.session, config(spec, provider), timeout=_tmux.LIMIT)
    floor = partial(provider.observe, timeout=_tmux.LIMIT)
    return Subject(provider, specs, f"{folder}/fake-{count}.db", floor)


def tmux_subject(count: int, folder: str, stack: contextlib.ExitStack) -> Subject:
    specs = {spec.session: spec for spec in specs_of("tmux", count)}
    anyone = FakeWorld().provider()  # what an agent is started with is not its provider's to say
    made = stack.enter_context(_tmux.city(count, lambda name: config(specs[name], anyone)))
    bare = _tmux.Bare(made.socket, "attach-session", "-t", "=gc-control")
    stack.callback(bare.close)
    journal = f"{folder}/tmux-{count}.db"
    return Subject(made.provider, list(specs.values()), journal, partial(bare.ask, QUESTION))


def specs_of(provider: str, count: int) -> list[AgentSpec]:
    policy = RestartPolicy(max_restarts=0, window=60.0, first_delay=0.0, longest_delay=0.0)
    return [
        AgentSpec(
            f"a{n}", f"s{n}", provider, "", "sleep 1000", "/", fingerprint="f" * 64, restarts=policy
        )
        for n in range(count)
    ]


def config(spec: AgentSpec, provider: SessionProvider) -> SessionConfig:
    """Return what a controller starts the agent with."""
    when = datetime(2026, 1, 1, tzinfo=UTC)
    return Agent(spec, provider, HOME).session_config(f"{spec.session}-1", when)


# --- a controller that has nothing to do


def idle(folder: str) -> dict[str, object]:
    with _city.running(folder, IDLE) as city:
        time.sleep(2.0)  # the last of the start
        before, began = cpu(city.controller), time.monotonic()
        time.sleep(IDLE_SECONDS)  # what is counted is what happens while nothing does
        percent = (cpu(city.controller) - before) / (time.monotonic() - began) * 100
        megabytes = rss(city.controller)
    return {
        "bench": "idle",
        "agents": IDLE,
        "seconds": IDLE_SECONDS,
        "cpu_percent": round(percent, 2),
        "limit_percent": IDLE_PERCENT,
        "rss_mb": round(megabytes, 1),
        "limit_mb": IDLE_MB,
        "kept": percent < IDLE_PERCENT and megabytes < IDLE_MB,
    }


def cpu(pid: int) -> float:
    """Return the seconds a process has used, also in threads that ended."""
    with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
        used = file.read().rpartition(")")[2].split()[11:13]
    return sum(map(int, used)) / os.sysconf("SC_CLK_TCK")


def rss(pid: int) -> float:
    """Return the megabytes a process holds in memory."""
    with open(f"/proc/{pid}/statm", encoding="utf-8") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6


# --- many ticks of a real loop


class Counting(FakeProvider):
    """Counts the looks at it, each of which makes a tick."""

    looks = 0

    def observe(self, *, timeout: float) -> Mapping[str, SessionState]:
        self.looks += 1
        return super().observe(timeout=timeout)


def flat(folder: str) -> dict[str, object]:
    """Run a real loop for many ticks, with a crash now and then; tell how much it grew."""
    pace.COST = looks.PACE = 0.0  # it would rest between ticks
    world = FakeWorld()
    provider = Counting(CityContext("bench", ID, folder, {}), world)
    specs = specs_of("fake", IDLE)
    made: list[loop.Controller] = []
    thread = threading.Thread(target=run_loop, args=[folder, provider, specs, made])
    thread.start()
    try:
        begin = time.perf_counter()
        wake_until(WARM, provider, world, specs)
        before, cpu_before = rss(os.getpid()), time.process_time()
        wake_until(WARM + TICKS, provider, world, specs)
        after, used = rss(os.getpid()), time.process_time() - cpu_before
        took = time.perf_counter() - begin
    finally:
        made[0].post(Leave("the bench is over"))
        thread.join()
    return {
        "bench": "flat",
        "agents": IDLE,
        "ticks": TICKS,
        "starts": len(world.starts),
        "seconds": round(took, 1),
        "cpu_ms_per_tick": _tmux.milliseconds(used / TICKS),
        "rss_before_mb": round(before, 1),
        "rss_after_mb": round(after, 1),
        "limit_growth_mb": GROWN_MB,
        "kept": after - before <= GROWN_MB,
    }


def run_loop(
    folder: str,
    provider: FakeProvider,
    specs: Sequence[AgentSpec],
    made: list[loop.Controller],
) -> None:
    journal = Journal(f"{folder}/flat.db")
    city = City("bench", folder, Desired("bench", ID, tuple(specs)), DaemonSettings())
    hands = Hands({"fake": provider}, HOME, 1.0, f"{folder}/runs")
    made.append(
        loop.Controller(city, {"fake": provider}, journal, hands, report=lambda _event: None)
    )
    made[0].run()
    journal.close()


def wake_until(
    count: int, provider: Counting, world: FakeWorld, specs: Sequence[AgentSpec]
) -> None:
    """Wake the loop, one look at a time, until that many were taken."""
    deadline = time.monotonic() + 5 * _tmux.LIMIT
    while provider.looks < count:
        seen = provider.looks
        victim = specs[seen // CRASH_EVERY % IDLE].session
        if seen % CRASH_EVERY == 0 and victim in world.sessions:
            world.crash(victim, signal=9)
        world.wake()
        while provider.looks == seen:
            if time.monotonic() > deadline:
                raise TimeoutError("the loop stopped looking")
            time.sleep(0.0002)  # the pace of a look


if __name__ == "__main__":
    sys.exit(main())
