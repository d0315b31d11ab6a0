"""What the subprocess provider costs for a hundred sessions, against bare processes.

Prints one JSON line. Every ratio is to a floor measured in the same run: a hundred
`subprocess.Popen` in a loop, and SIGTERM and wait for all of them. The start includes bringing the
keeper up. `death_to_wake_ms` is from the signal to the callback, as the median of several deaths.
"""

from __future__ import annotations

import json
import os
import signal
import statistics
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from gascity.core.model import SessionConfig
from gascity.session.provider import CityContext
from gascity_subprocess import layout
from gascity_subprocess.provider import Provider

SESSIONS = 100
THREADS = 16
DEATHS = 9
COMMAND = "sleep 1000"
LIMIT = 60.0


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        start_floor, stop_floor = floor(folder)
        print(json.dumps(measure(folder, start_floor, stop_floor)))


def floor(folder: str) -> tuple[float, float]:
    """Return the seconds to start and to end that many processes with nothing around them."""
    env = {"PATH": os.environ["PATH"]}
    began = time.perf_counter()
    made = [
        subprocess.Popen(
            ["/bin/sh", "-c", f"exec {COMMAND}"],
            cwd=folder,
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            start_new_session=True,
        )
        for _ in range(SESSIONS)
    ]
    started = time.perf_counter()
    for process in made:
        process.send_signal(signal.SIGTERM)
    for process in made:
        process.wait()
    return started - began, time.perf_counter() - started


def measure(folder: str, start_floor: float, stop_floor: float) -> dict[str, object]:
    provider = Provider(CityContext("bench", "bench", f"{folder}/.gc", {}))
    config = SessionConfig(COMMAND, folder, {"PATH": os.environ["PATH"]})
    names = [f"s{number}" for number in range(SESSIONS)]
    with ThreadPoolExecutor(THREADS) as threads:
        list(threads.map(int, range(THREADS)))  # the threads themselves are not measured
        start = _seconds(
            lambda: list(threads.map(lambda n: provider.start(n, config, timeout=LIMIT), names))
        )
        observe = min(_seconds(lambda: provider.observe(timeout=LIMIT)) for _ in range(5))
        deaths = [_death_to_wake(provider, name) for name in names[:DEATHS]]
        keeper = _keeper_memory(folder)
        stop = _seconds(
            lambda: list(
                threads.map(lambda n: provider.stop(n, grace=5, timeout=LIMIT), names[DEATHS:])
            )
        )
    for name in names[:DEATHS]:
        provider.stop(name, grace=5, timeout=LIMIT)
    provider.close()
    return {
        "bench": "subprocess_provider",
        "sessions": SESSIONS,
        "threads": THREADS,
        "start_s": round(start, 4),
        "start_ratio": round(start / start_floor, 2),
        "observe_ms": round(observe * 1000, 2),
        "death_to_wake_ms": round(statistics.median(deaths) * 1000, 2),
        "stop_s": round(stop, 4),
        "stop_ratio": round(stop / stop_floor, 2),
        "keeper_rss_mb": round(keeper, 1),
        "floor": {"start_s": round(start_floor, 4), "stop_s": round(stop_floor, 4)},
    }


def _seconds(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def _death_to_wake(provider: Provider, name: str) -> float:
    process = provider.observe(timeout=LIMIT)[name].process
    if process is None:
        raise RuntimeError(f"{name} does not run")
    woken = threading.Event()
    watch = provider.watch(woken.set)
    woken.wait(LIMIT)  # that it listens
    woken.clear()
    began = time.perf_counter()
    os.kill(process.pid, signal.SIGKILL)
    woken.wait(LIMIT)
    took = time.perf_counter() - began
    watch.close()
    return took


def _keeper_memory(folder: str) -> float:
    """Return the megabytes of memory the keeper holds; 0 where nobody tells."""
    pid = Path(layout.home(f"{folder}/.gc"), layout.LOCK).read_text().strip()
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0.0
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmRSS"))


if __name__ == "__main__":
    main()
