"""What must hold, whatever happens to the city.

`Watch` looks all the time at what must never be; `converged` and `nothing_is_left` look at what
must be when the faults are over. None of them believes `gc`: what it says is compared with what
the kernel, tmux and SQLite say.
"""

from __future__ import annotations

import json
import re
import sqlite3
import threading
import time
from contextlib import closing
from dataclasses import dataclass

from tests.chaos.declared import POOL, pool_of
from tests.chaos.sight import Foreign, Process, Sleeper, doubles, living
from tests.chaos.world import World

PREFIX = "gc-chaos-"
HUB = "gc-control"
GLANCE = 0.03
_TOLD = re.compile(r"^\d\d:\d\d:\d\d  (?!.*journal lost)", re.MULTILINE)
_PANES = "#{session_id} #{session_name} #{pane_pid} #{pane_dead}"


class Watch:
    """Looks for what must never be, on a thread of its own."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._trouble = threading.Event()
        self._over = threading.Event()
        self._looking = threading.Lock()
        self._known: dict[Process, Sleeper] = {}
        self.found: list[str] = []
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def hold(self, seconds: float) -> None:
        """Let the world be for a while; raises AssertionError on trouble, at once."""
        if self._trouble.wait(seconds):
            raise AssertionError("; ".join(self.found))

    def close(self) -> None:
        self._over.set()
        self._thread.join(10.0)

    def _run(self) -> None:
        while not self._over.wait(GLANCE):
            self.look()

    def look(self) -> None:
        """Look once."""
        with self._looking:
            seen = living(self._world.key)
            for first, second in doubles(seen):
                self._tell(f"two of {first.agent} live: {first} and {second}")
            for foreign in list(self._world.foreign.values()):
                if is_hurt(foreign) and self._world.foreign.get(foreign.name) is foreign:
                    self._tell(f"a foreign session was ended: {foreign}")
            for one in self._known.values():
                if not one.process.lives() and not self._world.may_have_ended(one):
                    self._tell(f"a living agent was ended, for no reason: {one}")
            self._known = {one.process: self._known.get(one.process, one) for one in seen}

    def _tell(self, text: str) -> None:
        at = time.monotonic() - self._world.began
        self.found.append(f"at {at:.3f} s {text}")
        self._trouble.set()


def is_hurt(foreign: Foreign) -> bool:
    """Tell whether a person's session ended, although its server lives."""
    # In this order: the server takes its sessions along when it ends.
    return not foreign.process.lives() and foreign.server.lives()


def converged(world: World) -> bool:
    """Assert that all is as the last good file and the last wishes say; cheap looks first."""
    running = _programs_are_right(world)
    _sessions_are_right(world, running)
    _status_is_right(world, running)
    Ledger(world).agrees_with(world, running)
    return True


def _programs_are_right(world: World) -> dict[str, Sleeper]:
    found = living(world.key)
    running = {one.agent: one for one in found}
    assert len(running) == len(found), f"somebody runs twice: {found}"
    crew = {name for name in running if pool_of(name) == POOL}
    wanted = world.wanted if POOL in world.file.agents else 0
    assert len(crew) == wanted, f"{wanted} of the pool should run: {sorted(crew)}"
    others = set(running) - crew
    assert others == world.expected(), f"should run: {sorted(world.expected())}, do: {others}"
    for name, one in running.items():
        program = world.file.agents[pool_of(name)]
        assert one.argument == program.argument(world.key), f"{one} should be {program}"
        assert one.env == str(program.env), f"{one} should have {program}"
    return running


def _sessions_are_right(world: World, running: dict[str, Sleeper]) -> None:
    said = world.tmux("list-panes", "-a", "-F", _PANES)
    rows = [line.split() for line in (said or "").splitlines()]
    sessions = {name: (number, int(pid), dead) for number, name, pid, dead in rows}
    for one in world.foreign.values():
        there = sessions.pop(one.name, None)
        assert there == (one.id, one.process.pid, "0"), f"{one} became {there}"
    sessions.pop(HUB, None)
    alive = {f"{PREFIX}{name}": one.pid for name, one in running.items()}
    assert {name: pid for name, (_, pid, _) in sessions.items()} == alive, f"sessions: {rows}"


def _status_is_right(world: World, running: dict[str, Sleeper]) -> None:
    done = world.gc("status", "--json")
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    assert world.controller is not None
    held = said["controller"]["running"], said["controller"]["pid"]
    assert held == (True, world.controller.pid), said["controller"]
    agents = {agent["name"]: agent for agent in said["agents"]}
    for name, one in running.items():
        state = agents[name]["state"], agents[name]["pid"], agents[name]["run"]
        assert state == ("ready", one.pid, one.run), f"{one} is said to be {agents[name]}"
    up = {name for name, agent in agents.items() if agent["pid"]}
    assert up == set(running), f"said to be up: {sorted(up)}"


@dataclass(slots=True)
class Ledger:
    """The journal, read by SQLite alone."""

    rows: list[tuple[int, str, str, str]]

    def __init__(self, world: World) -> None:
        with closing(sqlite3.connect(f"file:{world.database}?mode=ro", uri=True)) as database:
            asked = "SELECT number, type, agent, run FROM event ORDER BY number"
            self.rows = database.execute(asked).fetchall()

    def agrees_with(self, world: World, running: dict[str, Sleeper]) -> None:
        """Assert that it tells of everything that runs, and of all that was told to people."""
        self.is_whole()
        begun = {run for _, kind, _, run in self.rows if kind.startswith("session.")}
        for name, one in running.items():
            assert one.run in begun, f"the journal does not know {name}'s run {one.run}"
        since = max(number for number, kind, _, _ in self.rows if kind == "controller.started")
        told = len(_TOLD.findall(world.output.read_text("utf-8")))
        written = sum(number > since for number, *_ in self.rows)
        assert written >= told, f"{told} events were told, {written} written"

    def is_whole(self) -> None:
        """Assert that no number is missing or there twice."""
        numbers = [number for number, *_ in self.rows]
        assert numbers == list(range(1, len(numbers) + 1)), "the numbers of events have a gap"

    def follows(self, earlier: Ledger) -> None:
        """Assert that nothing that was written before is gone or different, and it is whole."""
        self.is_whole()
        assert self.rows[: len(earlier.rows)] == earlier.rows, "an event that was written is gone"


def nothing_is_left(world: World) -> bool:
    """Assert that `gc stop` left no process, session or server of ours, and every foreign one."""
    sleepers = living(world.key)
    assert not sleepers, f"left after gc stop: {sleepers}"
    hurt = [one for one in world.foreign.values() if not one.process.lives()]
    assert not hurt, f"gc stop ended what is not ours: {hurt}"
    said = world.tmux("list-panes", "-a", "-F", "#{session_name}")
    left = set((said or "").split()) - set(world.foreign) - {HUB}
    assert not left, f"sessions left after gc stop: {left}"
    if not world.foreign and not world.people:
        left_processes = world.leftovers()
        assert not left_processes, f"left after gc stop: {left_processes}"
    return True
