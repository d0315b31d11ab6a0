"""A city that a real controller keeps, for benches: `gc start --detach` in a folder of its own."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from bench import _tmux

from gascity_tmux import layout

FIRST = 1_000_000  # agent number N is `sleep FIRST+N`
GC = os.path.join(os.path.dirname(sys.executable), "gc")


@dataclass(frozen=True)
class City:
    """A running city in tmux. `words` tell the agents' programs apart."""

    folder: str
    controller: int
    server: int
    words: Sequence[str]


@contextlib.contextmanager
def running(folder: str, count: int) -> Iterator[City]:
    """Yield a city with that many agents, all of them up; nothing of it is left afterwards."""
    os.makedirs(folder)
    words = [str(FIRST + number) for number in range(count)]
    with open(f"{folder}/city.toml", "w", encoding="utf-8") as file:
        file.write(declared(words))
    try:
        gc(folder, "start", "--detach")
        until = time.monotonic() + _tmux.LIMIT
        while not all(agent["state"] == "ready" for agent in status(folder)["agents"]):
            if time.monotonic() > until:
                raise TimeoutError("the city did not come up")
            time.sleep(0.1)  # until it is up
        yield City(folder, status(folder)["controller"]["pid"], _server(folder), words)
    finally:
        gc(folder, "stop")


def declared(words: Sequence[str]) -> str:
    """Return a city whose agents sleep, are restarted as often as they die, and at once."""
    lines = [
        '[workspace]\nname = "bench"\n[session]\nprovider = "tmux"',
        '[daemon]\nmax_restarts = 0\nmass_death_brake = false\nrestart_delay = "1ms"',
        *(f'[[agents]]\nname = "a{word}"\nstart_command = "sleep {word}"' for word in words),
    ]
    return "\n".join(lines) + "\n"


def status(folder: str) -> Any:  # noqa: ANN401  a JSON value
    return json.loads(gc(folder, "status", "--json"))


def gc(folder: str, *words: str) -> str:
    done = subprocess.run(
        [GC, "-C", folder, *words], capture_output=True, text=True, timeout=_tmux.LIMIT, check=False
    )
    if done.returncode:
        raise RuntimeError(f"gc {' '.join(words)}: {done.stderr}")
    return done.stdout


def _server(folder: str) -> int:
    with open(f"{layout.home(f'{folder}/.gc')}/{layout.SERVER}", encoding="utf-8") as file:
        return int(json.load(file)["pid"])
