"""What it costs to stop fifty agents in tmux at once, against how long they take by themselves.

    python bench/stop.py

Prints one JSON line per way to stop them, and ends with 1 when a limit is broken. An agent takes a
fixed time to tidy up after SIGTERM. The floor is the same programs as bare children, sent SIGTERM
at once, until all are gone; and what tmux takes for as many `kill-session` on one control-mode
client. All are measured in turn, and the medians are compared. Stopping includes the end of the
server. `left` counts the processes that still carry this run's token.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import signal
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor

from gascity.core.model import SessionConfig
from gascity.testing.eventually import eventually

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from bench import _tmux

AGENTS = 50
TIDY = 0.3  # seconds
ROUNDS = 3
GRACE = 10.0
RATIO = 1.5  # times the floor of the programs; that of tmux is added
TOKEN = "GC_BENCH_TOKEN"
# One process, so that a bare signal to it is all there is to do. The file says that it listens.
AGENT = f"""
import os, signal, sys, time
def end(*_):
    time.sleep({TIDY})  # the tidying up that is waited for
    os._exit(0)
signal.signal(signal.SIGTERM, end)
open(sys.argv[1], "w").close()
while True:
    signal.pause()
"""


def main() -> int:
    token = secrets.token_hex(8)
    try:
        return measure(token)
    finally:
        _tmux.end(carriers(token))  # an interrupt may come before a child's pid is known


def measure(token: str) -> int:
    exits: list[float] = []
    kills: list[float] = []
    taken: dict[str, list[float]] = {"stop_all": [], "threads": []}
    for _ in range(ROUNDS):
        exits.append(bare_exit(token))
        kills.append(bare_kills())
        taken["stop_all"].append(stop(token, stop_all))
        taken["threads"].append(stop(token, stop_each))
    floor, tmux = statistics.median(exits), statistics.median(kills)
    left = carriers(token)
    limits = {"stop_all": RATIO * floor + tmux, "threads": None}
    broken = False
    for way, limit in limits.items():
        stopped = statistics.median(taken[way])
        kept = not left and (limit is None or stopped <= limit)
        broken = broken or not kept
        result = {
            "bench": "stop",
            "way": way,
            "agents": AGENTS,
            "tidy_s": TIDY,
            "rounds": ROUNDS,
            "stop_s": round(stopped, 4),
            "worst_s": round(max(taken[way]), 4),
            "floor_exit_s": round(floor, 4),
            "floor_tmux_s": round(tmux, 4),
            "ratio": round(stopped / (floor + tmux), 2),
            "limit_s": None if limit is None else round(limit, 4),
            "left": len(left),
            "kept": kept,
        }
        print(json.dumps(result), flush=True)
    return int(broken)


def bare_exit(token: str) -> float:
    """Return the seconds until bare children, all sent SIGTERM, are gone."""
    with tempfile.TemporaryDirectory() as folder:
        env = {**_tmux.ENV, TOKEN: token}
        agents: list[subprocess.Popen[bytes]] = []
        try:
            for number in range(AGENTS):
                words = [sys.executable, "-ISc", AGENT, f"{folder}/{number}"]
                agents.append(subprocess.Popen(words, env=env, start_new_session=True))
            listening(folder)
            return _tmux.seconds(lambda: terminate(agents))
        finally:
            for agent in agents:
                agent.kill()
                agent.wait()


def terminate(agents: list[subprocess.Popen[bytes]]) -> None:
    for agent in agents:
        agent.send_signal(signal.SIGTERM)
    for agent in agents:
        agent.wait()


def bare_kills() -> float:
    """Return the seconds tmux takes to remove as many sessions."""
    with tempfile.TemporaryDirectory() as folder, _tmux.bare_server(folder) as client:
        client.ask(*(f"new-session -d -s s{number} sleep 1000" for number in range(AGENTS)))
        lines = [f"kill-session -t =s{number}" for number in range(AGENTS)]
        return _tmux.seconds(lambda: client.ask(*lines))


def stop(token: str, way: Callable[[_tmux.City], Mapping[str, object]]) -> float:
    """Return the seconds a way takes to stop a city; nothing may be left of it."""
    with tempfile.TemporaryDirectory() as folder:

        def config(name: str) -> SessionConfig:
            words = [sys.executable, "-I", "-S", f"{folder}/agent.py", f"{folder}/{name}.ready"]
            return SessionConfig(" ".join(words), folder, {**_tmux.ENV, TOKEN: token})

        with open(f"{folder}/agent.py", "w", encoding="utf-8") as file:
            file.write(AGENT)
        with _tmux.city(AGENTS, config) as city:
            listening(folder)
            failures: list[Mapping[str, object]] = []
            took = _tmux.seconds(lambda: failures.append(way(city)))
            if failures[0]:
                raise RuntimeError(str(failures[0]))
            if left := carriers(token):
                raise RuntimeError(f"processes {left} were left")
            return took


def stop_all(city: _tmux.City) -> Mapping[str, object]:
    return city.provider.stop_all(city.names, grace=GRACE, timeout=_tmux.LIMIT)


def stop_each(city: _tmux.City) -> Mapping[str, object]:
    with ThreadPoolExecutor(AGENTS) as threads:
        list(
            threads.map(
                lambda name: city.provider.stop(name, grace=GRACE, timeout=_tmux.LIMIT), city.names
            )
        )
    return {}


def listening(folder: str) -> None:
    """Wait until every agent has said that it hears signals."""
    eventually(lambda: sum(name != "agent.py" for name in os.listdir(folder)) >= AGENTS, within=60)


def carriers(token: str) -> list[int]:
    """Return the processes with the token in their environment; zombies have none any more."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError), open(f"/proc/{pid}/environ", "rb") as file:
            if f"{TOKEN}={token}".encode() in file.read().split(b"\0"):
                found.append(int(pid))
    return found


if __name__ == "__main__":
    sys.exit(main())
