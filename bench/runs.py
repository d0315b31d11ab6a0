"""What a one-shot run costs, beside the program that it runs.

Prints one JSON line each. The floor of a run of `true` is `subprocess.run` of it, and a hundred at
once are compared with a hundred bare ones. A run that waits costs its runner nothing, and one that
prints a gigabyte no memory.
"""

from __future__ import annotations

import json
import os
import resource
import statistics
import subprocess
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor

from gascity.config.oneshots import built_in
from gascity.core.oneshot import OneShot, PromptBy, RunCommand
from gascity.runs import job
from gascity.runs.context import Cancel
from gascity.runs.places import Home

ROUNDS = 50
AT_ONCE = 100
WATCHED = 2.0  # seconds
LIMITS = {"ms": 100.0, "ticks": 1, "megabytes": 80.0}
GIGABYTE = "head -c 1000000000 /dev/zero"


def main() -> int:
    with tempfile.TemporaryDirectory() as folder:
        home = Home(folder)
        kept = [one(home), many(home), idle(home), loud(home)]
    return 0 if all(kept) else 1


def run(home: Home, *argv: str, cancel: Cancel | None = None) -> None:
    backend = OneShot("bench", RunCommand(argv, prompt=PromptBy.STDIN))
    made = job.Job(home, home.task("p", "t"), backend, built_in(), "x", "/", os.environ)
    outcome = job.run(made, cancel or Cancel())
    assert outcome.is_done or cancel is not None, outcome


def one(home: Home) -> bool:
    """Tell whether a run of `true` adds no more than its limit."""
    run(home, "true")
    ours, floor = [], []
    for _ in range(ROUNDS):
        floor.append(_timed(lambda: subprocess.run(["true"], check=True)))
        ours.append(_timed(lambda: run(home, "true")))
    more = 1000 * (statistics.median(ours) - statistics.median(floor))
    _print("one", ours, floor, more_ms=round(more, 1), limit_ms=LIMITS["ms"])
    return more <= LIMITS["ms"]


def many(home: Home) -> bool:
    """Tell what a hundred at once cost."""
    with ThreadPoolExecutor(AT_ONCE) as threads:
        floor = _timed(
            lambda: list(
                threads.map(lambda _: subprocess.run(["true"], check=True), range(AT_ONCE))
            )
        )
        ours = _timed(lambda: list(threads.map(lambda _: run(home, "true"), range(AT_ONCE))))
    _print("hundred", [ours], [floor])
    return True


def idle(home: Home) -> bool:
    """Tell whether a runner does nothing while its run does nothing."""
    cancel = Cancel()
    thread = threading.Thread(target=lambda: run(home, "sleep", "1000", cancel=cancel))
    thread.start()
    time.sleep(1.0)  # until it waits
    before = _ticks()
    time.sleep(WATCHED)  # what is counted is what happens while nothing does
    ticks = _ticks() - before
    cancel.set("enough")
    thread.join()
    print(json.dumps({"bench": "runs: idle", "ticks": ticks, "limit": LIMITS["ticks"]}))
    return ticks <= LIMITS["ticks"]


def loud(home: Home) -> bool:
    """Tell whether the runner stays small while its agent prints a gigabyte."""
    took = _timed(lambda: run(home, "sh", "-c", f"{GIGABYTE}; echo >$RUN_FOLDER/output.md"))
    largest = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    told = {"bench": "runs: 1 GB", "seconds": round(took, 2), "rss_megabytes": round(largest, 1)}
    print(json.dumps({**told, "limit": LIMITS["megabytes"]}))
    return largest <= LIMITS["megabytes"]


def _ticks() -> int:
    with open(f"/proc/{os.getpid()}/stat", encoding="utf-8") as file:
        fields = file.read().rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])


def _timed(work: object) -> float:
    began = time.perf_counter()
    assert callable(work)
    work()
    return time.perf_counter() - began


def _print(name: str, ours: list[float], floor: list[float], **more: float) -> None:
    mine, bare = statistics.median(ours), statistics.median(floor)
    told = {"bench": f"runs: {name}", "ms": round(1000 * mine, 1), "floor": round(1000 * bare, 1)}
    print(json.dumps({**told, "ratio": round(mine / bare, 1), **more}))


if __name__ == "__main__":
    raise SystemExit(main())
