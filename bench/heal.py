"""How long an agent in tmux is down: from `kill -9` to the process that takes its place.

    python bench/heal.py

A real controller keeps a hundred agents. Fifty of them are killed one after the other, then all at
once. The floor of one death is a bare tmux server with as many sessions, in turn with the others:
whoever waits for the process with a pidfd runs `tmux`, which removes the session and makes it
again. The floor of all at once is making that many sessions with `tmux new-session`. The lean
floors do the same over a control connection that is open already. The end is read off the kernel's
list of the server's children in all of them.

Prints one JSON line each, and ends with 1 when a limit is broken.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from bench import _city, _tmux

AGENTS = 100
DEATHS = 50
REST = 0.1  # seconds between two deaths
RATIO, MOST_MS = 3.0, 150.0  # for the 95th percentile of one death
ALL_RATIO = 4.0


def main() -> int:
    heals: list[float] = []
    floors: list[float] = []
    leans: list[float] = []
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
        city = stack.enter_context(_city.running(f"{folder}/city", AGENTS))
        bare = stack.enter_context(bare_city(f"{folder}"))
        for number in range(DEATHS):
            floors.append(bare.heal(number, bare.run))
            leans.append(bare.heal(number, bare.ask))
            heals.append(heal(city, number))
            time.sleep(REST)  # between two measurements
        one = single(heals, floors, leans)
        print(json.dumps(one), flush=True)
        waits = waited(city.server)
        taken = heal_all(city)
        waits = waited(city.server) - waits
        many = together(taken, bare.make_all(bare.run), bare.make_all(bare.ask), waits)
        print(json.dumps(many), flush=True)
    return int(not (one["kept"] and many["kept"]))


def single(heals: list[float], floors: list[float], leans: list[float]) -> dict[str, object]:
    heal_p95, floor_p95 = percentile(heals), percentile(floors)
    ratio = heal_p95 / floor_p95
    return {
        "bench": "heal",
        "agents": AGENTS,
        "deaths": DEATHS,
        "heal_p50_ms": _tmux.milliseconds(statistics.median(heals)),
        "heal_p95_ms": _tmux.milliseconds(heal_p95),
        "heal_max_ms": _tmux.milliseconds(max(heals)),
        "floor_p50_ms": _tmux.milliseconds(statistics.median(floors)),
        "floor_p95_ms": _tmux.milliseconds(floor_p95),
        "lean_floor_p95_ms": _tmux.milliseconds(percentile(leans)),
        "lean_ratio_p95": round(heal_p95 / percentile(leans), 2),
        "ratio_p50": round(statistics.median(heals) / statistics.median(floors), 2),
        "ratio_p95": round(ratio, 2),
        "ratio_limit": RATIO,
        "limit_p95_ms": MOST_MS,
        "kept": ratio <= RATIO and heal_p95 * 1000 < MOST_MS,
    }


def together(taken: float, floor: float, lean: float, waits: float) -> dict[str, object]:
    """Return the line to print; a busy machine is told by how long tmux waited for a processor."""
    return {
        "bench": "heal_all",
        "agents": AGENTS,
        "heal_ms": _tmux.milliseconds(taken),
        "tmux_waited_ms": _tmux.milliseconds(waits),
        "floor_ms": _tmux.milliseconds(floor),
        "ratio": round(taken / floor, 2),
        "ratio_limit": ALL_RATIO,
        "lean_floor_ms": _tmux.milliseconds(lean),
        "lean_ratio": round(taken / lean, 2),
        "kept": taken <= ALL_RATIO * floor,
    }


def percentile(taken: list[float]) -> float:
    return sorted(taken)[-(-len(taken) * 95 // 100) - 1]


def heal(city: _city.City, number: int) -> float:
    """Kill one agent; return the seconds until another process runs its program."""
    word, programs = city.words[number], Programs(city.server)
    began = time.perf_counter()
    os.kill(programs.pids[word], signal.SIGKILL)
    programs.await_new([word])
    return time.perf_counter() - began


def heal_all(city: _city.City) -> float:
    """Kill all agents; return the seconds until all of them run again."""
    programs = Programs(city.server)
    pids = [programs.pids[word] for word in city.words]
    began = time.perf_counter()
    for pid in pids:
        os.kill(pid, signal.SIGKILL)
    programs.await_new(city.words, every=0.005)
    return time.perf_counter() - began


class Programs:
    """What a tmux server runs: `pids` has that of `sleep WORD` by its word.

    Watching must cost little, or it is what is measured: only processes that are new are read.
    """

    def __init__(self, server: int) -> None:
        self._server = server
        self._known: set[str] = set()
        self.pids: dict[str, int] = {}
        self._look()

    def await_new(self, words: Sequence[str], every: float = 0.0005) -> None:
        """Return when each of these words has another process than it had."""
        deadline = time.perf_counter() + _tmux.LIMIT
        missing = set(words)
        while missing:
            if time.perf_counter() > deadline:
                raise TimeoutError(f"nothing came in the place of sleep {min(missing)}")
            time.sleep(every)  # the pace of the load
            missing -= self._look()

    def _look(self) -> set[str]:
        """Take note of what is new; return its words."""
        with open(f"/proc/{self._server}/task/{self._server}/children", "rb") as file:
            fresh = set(file.read().decode().split()) - self._known
        new: set[str] = set()
        for pid in fresh:
            with contextlib.suppress(OSError), open(f"/proc/{pid}/cmdline", "rb") as file:
                name, *words = file.read().split(b"\0")
                if name.endswith((b"sleep", b"cat")):  # else it is not yet what it will be
                    self._known.add(pid)
                if name.endswith(b"sleep") and words:
                    self.pids[words[0].decode()] = int(pid)
                    new.add(words[0].decode())
        return new


def waited(pid: int) -> float:
    """Return the seconds for which a process could have run and had no processor."""
    with open(f"/proc/{pid}/schedstat", encoding="utf-8") as file:
        return int(file.read().split()[1]) / 1e9


class BareCity:
    """A tmux server with sessions that are made again when their processes end."""

    def __init__(self, client: _tmux.Bare, socket: str) -> None:
        self._client = client
        self._words = ["tmux", "-f", os.devnull, "-S", socket]
        self.server = int(client.ask("display-message -p '#{pid}'").splitlines()[-1])
        client.ask("set-option -gw remain-on-exit on")
        for number in range(AGENTS):
            self.ask(new_session(number))

    def ask(self, *commands: Sequence[str]) -> None:
        """Have commands done over a connection that is open already."""
        self._client.ask(*(" ".join(words) for words in commands))

    def run(self, *commands: Sequence[str]) -> None:
        """Have commands done by running `tmux`."""
        words = [word for one in commands for word in (*one, ";")]
        subprocess.run([*self._words, *words[:-1]], env=_tmux.ENV, check=True)

    def heal(self, number: int, do: Callable[..., None]) -> float:
        """Kill one and make it again as soon as the kernel tells; return the seconds it took."""
        word, programs = f"{_city.FIRST + AGENTS + number}", Programs(self.server)
        old = programs.pids[word]
        descriptor = os.pidfd_open(old)
        try:
            began = time.perf_counter()
            os.kill(old, signal.SIGKILL)
            select.select([descriptor], [], [], _tmux.LIMIT)
            do(["kill-session", "-t", f"=b{number}"], new_session(number))
            programs.await_new([word])
            return time.perf_counter() - began
        finally:
            os.close(descriptor)

    def make_all(self, do: Callable[..., None]) -> float:
        """Return the seconds it takes to make all sessions again after they are gone."""
        for number in range(AGENTS):
            self.ask(["kill-session", "-t", f"=b{number}"])
        began = time.perf_counter()
        for number in range(AGENTS):
            do(new_session(number))
        return time.perf_counter() - began


@contextlib.contextmanager
def bare_city(folder: str) -> Iterator[BareCity]:
    with _tmux.bare_server(folder) as client:
        made = BareCity(client, f"{folder}/bare")
        try:
            yield made
        finally:
            _tmux.end(Programs(made.server).pids.values())


def new_session(number: int) -> list[str]:
    word = str(_city.FIRST + AGENTS + number)
    return ["new-session", "-d", "-s", f"b{number}", "sleep", word]


if __name__ == "__main__":
    sys.exit(main())
